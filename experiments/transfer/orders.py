"""The same codes in two orders: by Hamming distance, and by the asymmetric distance of the query's projections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.harness.gains import Gain, gain_over
from experiments.harness.protocol import RELEVANCES
from experiments.harness.tables import Cell, Column, Grid, Section
from experiments.transfer.lines import AUTO, NO_SOURCE
from experiments.transfer.results import TransferResults
from experiments.transfer.words import order_title

ORDER_COLUMNS = ("ITQ, Hamming", "ITQ, asymmetric", "AutoHasher, Hamming", "AutoHasher, asymmetric", "gain, asymmetric")
"""Titles of the texts of :func:`order_texts`, after the name of the set."""

FINER, FINER_NO_SOURCE = "auto_asymmetric", "itq_asymmetric"
_LINES = (NO_SOURCE, FINER_NO_SOURCE, AUTO, FINER)


class OrderRow(NamedTuple):
    """MAP of ITQ in both orders, then of AutoHasher, and the gain of the last over ITQ in the same order."""

    set: str
    values: tuple[float, ...]
    gain: Gain


def order_rows(results: TransferResults, relevance: str) -> list[OrderRow]:
    """One row per set on which both were run in the asymmetric order; all in the settings of these runs."""
    if not {*_LINES} <= {*results.lines(relevance)}:
        return []
    rows = []
    for name in results.sets(relevance):
        if results.settings_of(name, relevance, FINER):
            runs = {line: results.runs(name, relevance, line, of=FINER) for line in _LINES}
            gain = gain_over(runs[FINER].mean(axis=0), runs[FINER_NO_SOURCE].mean(axis=0))
            rows.append(OrderRow(name, tuple(float(runs[line].mean()) for line in _LINES), gain))
    return rows


def order_texts(rows: list[OrderRow]) -> list[tuple[str, ...]]:
    """Rows as text, the mean over sets last.

    >>> order_texts([OrderRow("bbc", (18.4, 19.9, 20.0, 20.7), Gain(0.8, None, None, 1))])[0]
    ('bbc', '18.4', '19.9', '20.0', '20.7', '+0.8')
    """
    means = np.mean([row.values for row in rows], axis=0).tolist()
    mean = OrderRow(
        "mean over sets", tuple(means), Gain(float(np.mean([row.gain.mean for row in rows])), None, None, 0)
    )
    return [(row.set, *(f"{value:.1f}" for value in row.values), row.gain.text()) for row in (*rows, mean)]


def order_grids(results: TransferResults, section: Section) -> list[Grid]:
    """The table of one meaning of relevant."""
    found, title = order_rows(results, section.relevance), order_title(results)
    if not found:
        return []
    return [
        Grid(
            title=f"{title}. Relevant = {RELEVANCES[section.relevance]}",
            columns=[Column("set"), *(Column(column) for column in ORDER_COLUMNS)],
            rows=[[Cell(text) for text in texts] for texts in order_texts(found)],
            heading=title,
            text="The database is ordered by what the query would have to give up to have a code: the sum of its "
            "projections, without sign, over the bits that differ. It needs nothing but the codes. The gain is that "
            "over ITQ in the same order.",
        )
    ]
