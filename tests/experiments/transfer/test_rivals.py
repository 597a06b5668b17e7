from __future__ import annotations

import numpy as np
import pytest

from experiments.harness.report import markdown_tables
from experiments.harness.tables import Section
from experiments.transfer.lines import AUTO, LINES, UNLABELLED
from experiments.transfer.orders import FINER
from experiments.transfer.page import TransferReport
from experiments.transfer.rivals import best_rivals, every_rival_grids, rival_records, rivals_of
from experiments.transfer.tables import summary_values


@pytest.mark.parametrize(
    ("relevance", "judged"), [("target", AUTO), ("labels", AUTO), ("labels", UNLABELLED), ("source", FINER)]
)
def test_the_best_rival_is_the_highest_of_those_that_were_told_the_same(results, relevance, judged):
    (row,) = best_rivals(results, relevance, judged)
    known = {value.line: value.value for value in summary_values(results, relevance)}
    told = {key: known[key] for key in rivals_of(results, relevance, judged)}
    assert row.rival == max(told, key=lambda key: told[key])
    np.testing.assert_allclose((row.value, row.rival_value), (known[judged], max(told.values())))
    np.testing.assert_allclose(row.lead.mean, known[judged] - max(told.values()))
    assert all(LINES[key].order == LINES[judged].order for key in told)
    assert ("groups" in {LINES[key].told_as for key in told}) == (judged == UNLABELLED)


def test_every_comparison_is_on_record(results):
    found = {(record["relevance"], record["line"]) for record in rival_records(results)}
    assert found == {(kind, line) for kind in ("target", "labels", "source") for line in (AUTO, FINER)} | {
        ("labels", UNLABELLED)
    }


def test_rivals_have_tables_of_their_own(results):
    text = "\n".join(markdown_tables(TransferReport(), results))
    assert text.count("| set | AutoHasher | best rival | its MAP | difference |") == 7
    assert "mean over sets |" in text
    assert "| KSH |" not in text.split("beside the best rival")[0]
    assert not any(LINES[line].role == "rival" for line in results.columns("labels"))
    (grid,) = every_rival_grids(results, Section("target"))[:1]
    assert [column.title for column in grid.columns] == [
        "set", "AutoHasher", "kernel PCA + ITQ", "offsets on principal directions", "KSH",
    ]  # fmt: skip
