"""AutoHasher beside the best of its rivals in hindsight: on each set the one that turned out highest there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.harness.gains import Gain, gain_over
from experiments.harness.protocol import RELEVANCES
from experiments.harness.tables import Cell, Column, Grid, Section
from experiments.transfer.lines import AUTO, LINES, UNLABELLED
from experiments.transfer.orders import FINER
from experiments.transfer.results import TransferResults
from experiments.transfer.words import line_title

_JUDGED = (AUTO, UNLABELLED, FINER)


class BestRival(NamedTuple):
    """MAP of a line on a set, the best rival there with its MAP, and how far the line is above it."""

    set: str
    value: float
    rival: str
    rival_value: float
    lead: Gain


def rivals_of(results: TransferResults, relevance: str, judged: str) -> list[str]:
    """Rivals that were told what the line was told, in the same order of the database."""
    mine = LINES[judged]
    return [
        key
        for key in results.lines(relevance)
        if (line := LINES[key]).role == "rival" and (line.told_as, line.order) == (mine.told_as, mine.order)
    ]


def best_rivals(results: TransferResults, relevance: str, judged: str = AUTO) -> list[BestRival]:
    """One row per set on which the line and its rivals were run; means over all settings of the line."""
    rivals = rivals_of(results, relevance, judged)
    if judged not in results.lines(relevance) or not rivals:
        return []
    rows = []
    for name in results.sets(relevance):
        if not results.settings_of(name, relevance, judged):
            continue
        mine, *others = (results.runs(name, relevance, line, of=judged).mean(axis=0) for line in (judged, *rivals))
        best = int(np.argmax([runs.mean() for runs in others]))
        lead = gain_over(mine, others[best])
        rows.append(BestRival(name, float(mine.mean()), rivals[best], float(others[best].mean()), lead))
    return rows


def rival_records(results: TransferResults) -> list[dict[str, Any]]:
    """Every comparison with the best rival, in full precision."""
    return [
        {
            "relevance": relevance,
            "line": judged,
            "set": row.set,
            "value": row.value,
            "rival": row.rival,
            "rival_value": row.rival_value,
            "lead": row.lead.mean,
            "lead_low": row.lead.low,
            "lead_high": row.lead.high,
        }
        for relevance in results.settings.relevances
        for judged in _JUDGED
        for row in best_rivals(results, relevance, judged)
    ]


def rival_grids(results: TransferResults, section: Section) -> list[Grid]:
    """The best rivals, for each way to tell AutoHasher what is relevant, and in asymmetric order."""
    grids = []
    for judged in _JUDGED:
        found = best_rivals(results, section.relevance, judged)
        if found:
            title = f"{line_title(results, judged)}, beside the best rival"
            grids.append(
                Grid(
                    title=f"{title}. Relevant = {RELEVANCES[section.relevance]}",
                    columns=[Column(text) for text in ("set", "AutoHasher", "best rival", "its MAP", "difference")],
                    rows=[[Cell(text) for text in texts] for texts in rival_texts(found)],
                    heading=title,
                    text="Rivals are simple methods, each tuned by three folds of the pairs as AutoHasher is. The best "
                    "is that of highest MAP on the set, mean over all settings: in hindsight, which nobody has who "
                    "must choose. The difference has its 95 % interval.",
                )
            )
    return grids


def rival_texts(rows: Sequence[BestRival]) -> list[tuple[str, ...]]:
    """Rows as text, the mean over sets last.

    >>> rival_texts([BestRival("bbc", 30.0, "rival_ksh", 29.5, Gain(0.5, None, None, 1))])
    [('bbc', '30.0', 'KSH', '29.5', '+0.5'), ('mean over sets', '30.0', '', '29.5', '+0.5')]
    """
    mine, theirs, leads = (
        float(np.mean(values)) for values in zip(*((r.value, r.rival_value, r.lead.mean) for r in rows), strict=True)
    )
    return [
        *((r.set, f"{r.value:.1f}", short_title(r.rival), f"{r.rival_value:.1f}", r.lead.text()) for r in rows),
        ("mean over sets", f"{mine:.1f}", "", f"{theirs:.1f}", f"{leads:+.1f}"),
    ]


def every_rival_grids(results: TransferResults, section: Section) -> list[Grid]:
    """MAP of all rivals by set."""
    grids, relevance = [], section.relevance
    for judged in _JUDGED:
        names = [row.set for row in best_rivals(results, relevance, judged)]
        if not names:
            continue
        lines = [judged, *rivals_of(results, relevance, judged)]
        values = np.array([[results.runs(name, relevance, line, of=judged).mean() for line in lines] for name in names])
        rows = [
            [Cell(name), *(Cell(f"{value:.1f}", best=value == max(row)) for value in row)]
            for name, row in zip((*names, "mean over sets"), (*values, values.mean(axis=0)), strict=True)
        ]
        title = f"{line_title(results, judged)}, beside all rivals"
        columns = [Column("set"), Column("AutoHasher"), *(Column(short_title(line)) for line in lines[1:])]
        grids.append(Grid(title, columns, rows, heading=title, folded=True))
    return grids


def short_title(line: str) -> str:
    """Title of a rival without what the table says already."""
    return LINES[line].title.removesuffix(", no labels").removesuffix(", asymmetric order")
