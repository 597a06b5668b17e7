"""The benchmark in one picture: what of AutoHasher's gain is the learner's, and what the source adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.transfer.lines import AUTO, LINES
from experiments.transfer.settings import SETS
from experiments.transfer.tables import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNER, SOURCE, LOST = "#b9bec4", "#0072B2", "#D55E00"


class Meaning(NamedTuple):
    """A panel: one meaning of relevant, and the line whose gain is divided."""

    title: str
    relevance: str
    helped: str = AUTO

    @property
    def alone(self) -> str:
        """The same line without source."""
        return LINES[self.helped].alone


MEANINGS = (
    Meaning("near in target space", "target"),
    Meaning("near in source space", "source"),
    Meaning("same class, labels unknown", "labels", "auto_unlabelled"),
    Meaning("same class, labels known", "labels"),
)


class Merit(NamedTuple):
    """Points of MAP over ITQ on the pairs: of the learners alone, and what the source adds to that."""

    set: str
    learner: float
    source: float


def merits(values: Sequence[Value], meaning: Meaning) -> list[Merit]:
    """Return the two parts of the gain by set, their mean last; for classes, of sets with classes only."""
    gains = {(value.set, value.line): value.gain for value in values if value.relevance == meaning.relevance}
    found = [
        Merit(name, gains[name, meaning.alone], gains[name, meaning.helped] - gains[name, meaning.alone])
        for name in SETS
        if {(name, meaning.alone), (name, meaning.helped)} <= gains.keys()
        and (SETS[name].labelled or meaning.relevance != "labels")
    ]
    if not found:
        return []
    mean = np.mean([merit[1:] for merit in found], axis=0)
    return [*found, Merit("mean", float(mean[0]), float(mean[1]))]


def draw_merits(values: Sequence[Value]) -> Figure | None:
    """Draw one panel per meaning, one bar per set: grey what the learners give without a source, blue what it adds.

    None where no meaning was run with and without the source.
    """
    from matplotlib.figure import Figure as NewFigure
    from matplotlib.patches import Patch

    parts = {meaning: found for meaning in MEANINGS if (found := merits(values, meaning))}
    if not parts:
        return None
    names = list(dict.fromkeys([*(m.set for found in parts.values() for m in found if m.set != "mean"), "mean"]))
    figure = NewFigure(figsize=(1.4 + 2.4 * max(2, len(parts)), 1.3 + 0.27 * len(names)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(parts), sharey=True))
    for axis, (meaning, found) in zip(axes, parts.items(), strict=True):
        _draw_panel(axis, found, names)
        axis.set_title(meaning.title, fontsize=9.5)
    axes[0].set_yticks(range(len(names)), names, fontsize=8.5)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    keys = {"the same learners, no source": LEARNER, "added by the source": SOURCE, "lost by it": LOST}
    handles = [Patch(color=colour, label=text) for text, colour in keys.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    figure.suptitle("AutoHasher: points of MAP over ITQ on the same pairs. Numbers: what the source adds", fontsize=10)
    return figure


def _draw_panel(axis: Axes, found: list[Merit], names: list[str]) -> None:
    for merit in found:
        place, end = names.index(merit.set), merit.learner + merit.source
        height = 0.72 if merit.set == "mean" else 0.55
        axis.barh(place, merit.learner, height=height, color=LEARNER)
        # A gain continues the grey bar; a loss is drawn over its end.
        axis.barh(place, merit.source, left=merit.learner, height=height, color=SOURCE if merit.source >= 0 else LOST)
        weight = "bold" if merit.set == "mean" else "normal"
        added, at = f"{round(merit.source, 1) + 0.0:+.1f}", (max(end, merit.learner, 0), place)
        axis.annotate(
            added, at, xytext=(3, 0), textcoords="offset points", va="center", fontsize=7.5, fontweight=weight
        )
    axis.axvline(0, color="black", linewidth=0.8)
    axis.axhline(len(names) - 1.5, color="#888888", linewidth=0.6)
    ends = [0.0, *(end for merit in found for end in (merit.learner, merit.learner + merit.source))]
    room = max(ends) - min(ends) or 1.0
    axis.set_xlim(min(ends) - 0.02 * room, max(ends) + 0.16 * room)  # to the right of the bars stand the numbers
    axis.grid(axis="x", color="#e4e4e0", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
