from __future__ import annotations

import numpy as np

from experiments.harness.report import markdown_tables
from experiments.transfer.lines import AUTO, NO_SOURCE
from experiments.transfer.orders import FINER, FINER_NO_SOURCE, ORDER_COLUMNS, order_rows, order_texts
from experiments.transfer.page import TransferReport


def test_a_row_is_the_means_of_its_runs(results):
    rows = order_rows(results, "source")
    assert [row.set for row in rows] == list(results.sets("source"))
    for row in rows:
        runs = [results.runs(row.set, "source", key, of=FINER) for key in (NO_SOURCE, FINER_NO_SOURCE, AUTO, FINER)]
        np.testing.assert_allclose(row.values, [values.mean() for values in runs])
        np.testing.assert_allclose(row.gain.mean, (runs[3] - runs[1]).mean())
        assert row.gain.low <= row.gain.mean <= row.gain.high


def test_both_orders_are_of_the_same_codes(results):
    """What was chosen does not hang on the order."""
    for name in results.sets("source"):
        both = [results.choices(name, "source", line) for line in (AUTO, FINER)]
        assert both[0] == both[1]


def test_the_tables_stand_by_themselves(results):
    text = "\n".join(markdown_tables(TransferReport(), results))
    assert text.count("The same codes in asymmetric order") == len(results.settings.relevances)
    assert text.count(" | ".join(ORDER_COLUMNS)) == len(results.settings.relevances)
    assert "ITQ, asymmetric order" not in text  # no column of the tables by Hamming distance


def test_the_mean_is_over_sets(results):
    rows = order_rows(results, "target")
    name, *texts = order_texts(rows)[-1]
    assert name == "mean over sets"
    assert texts[0] == f"{np.mean([row.values[0] for row in rows]):.1f}"
