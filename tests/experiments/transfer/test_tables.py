"""The tables are what the runs say."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

from experiments.harness.writers import to_csv
from experiments.transfer.results import TransferResults
from experiments.transfer.settings import quick_settings
from experiments.transfer.tables import run_records, setting_values, summary_values

LINES = ("itq", "itq_plus", "lap_itq_plus", "transfer_itq", "auto_no_source", "auto", "auto_shuffled", "itq_all")


class _Made(TransferResults):
    """Results with given values, by (alpha, bits) and line: one list of splits each."""

    def __init__(self, values, splits, **changes):
        self.settings = quick_settings(sets=("digits-fac-pix",), splits=splits, relevances=("target",), **changes)
        self.left_out, self.sizes, self._about = {}, {}, {}
        self._values = {
            ("digits-fac-pix", "target", at, line): dict(enumerate(found))
            for at, lines in values.items()
            for line, found in lines.items()
        }


def _made():
    from experiments.transfer.results import Setting

    base = {line: [30.0, 40.0, 50.0] for line in LINES}
    a = base | {"auto": [32.0, 41.0, 53.0], "itq_all": [34.0, 44.0, 54.0], "auto_shuffled": [30.0, 38.5, 50.0]}
    b = base | {"auto": [30.0, 37.0, 51.0], "itq_all": [38.0, 48.0, 58.0]}
    del b["auto_shuffled"]
    return _Made(
        {Setting(0.1, 16): a, Setting(0.1, 32): b}, 3, alphas=(0.1,), bits=(16, 32), control_bits=(16,), lines=LINES
    )


def test_gain_interval_efficiency_and_losses_by_hand():
    cell = {c.line: c for c in summary_values(_made(), "target")}["auto"]
    # Differences 2, 1, 3 and 0, -3, 1; averaged over the two settings of a split: 1, -1, 2.
    assert cell.gain == pytest.approx(2 / 3)
    reach = stats.t.ppf(0.975, 2) * np.std([1, -1, 2], ddof=1) / np.sqrt(3)
    assert (cell.gain_low, cell.gain_high) == pytest.approx((2 / 3 - reach, 2 / 3 + reach))
    # The gap to all target rows is 4 in one setting and 8 in the other.
    assert cell.efficiency == pytest.approx((2 / 3) / 6)
    assert cell.losses == pytest.approx(1 / 6)
    assert (cell.n_settings, cell.n_splits) == (2, 3)


def test_the_control_is_compared_in_its_own_settings():
    cell = {c.line: c for c in summary_values(_made(), "target")}["auto_shuffled"]
    assert cell.n_settings == 1
    assert cell.gain == pytest.approx(-0.5)
    assert cell.efficiency == pytest.approx(-0.5 / 4)


def test_a_setting_without_a_value_is_left_out_for_all_lines():
    made = _made()
    at = next(key for key in made._values if key[2].bits == 32 and key[3] == "itq_plus")
    del made._values[at]
    cells = {c.line: c for c in summary_values(made, "target")}
    assert cells["auto"].gain == pytest.approx(2.0)
    assert {c.n_settings for c in cells.values()} == {1}


def test_summary_of_a_real_run_follows_from_its_runs(results):
    rows = list(csv.DictReader(io.StringIO(to_csv(run_records(results)))))
    assert len(rows) == 3 * 2
    for cell in summary_values(results, "source"):
        mine = [float(r[cell.line]) for r in rows if r["relevance"] == "source"]
        base = [float(r["itq"]) for r in rows if r["relevance"] == "source"]
        assert cell.value == pytest.approx(np.mean(mine), abs=1e-3)
        assert cell.gain == pytest.approx(np.mean(mine) - np.mean(base), abs=1e-3)
    assert {c.bits for c in setting_values(results, "labels")} == {16}
    assert all(r["auto_no_source"] for r in rows)
    for line in ("auto_unlabelled", "auto_unlabelled_no_source", "auto_told_source_no_source"):
        assert all((r[line] == "") == (r["relevance"] != "labels") for r in rows)
