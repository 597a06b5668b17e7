"""What a comparison found: one result per code and order, the frontier, and the smallest code that is good enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from thpi.evaluation import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7B4173")
_MARKERS = "os^vD<>Pp"


class Cut(NamedTuple):
    """Recall of the first ``k`` among ``candidates``."""

    k: int
    candidates: int

    def __str__(self) -> str:
        return f"{self.k}" if self.k == self.candidates else f"{self.k} in {self.candidates}"


@dataclass(frozen=True)
class Result:
    """One code, searched in one order.

    ``recalls`` are those of exhaustive search: what is missing to 1 is lost by the code.
    ``shared_bytes`` are bytes that all rows share, ``fit_seconds`` the time to learn and code.
    """

    method: str
    order: str
    n_bytes: int
    shared_bytes: int
    recalls: dict[Cut, Measured]
    milliseconds: float
    fit_seconds: float

    @property
    def name(self) -> str:
        """Method and order in words."""
        return self.method if self.order == "exact" else f"{self.method}, {self.order}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        recalls = [cut._asdict() | recall._asdict() for cut, recall in self.recalls.items()]
        return asdict(self) | {"recalls": recalls}


@dataclass(frozen=True)
class Comparison:
    """All results by falling recall within rising bytes; what was wished, and of which rows.

    ``left_out`` are methods that could not run, with the reason. If ``unseen``, the rows searched are other rows than
    those that the codes were learned from.
    """

    results: tuple[Result, ...]
    wished: float
    cut: Cut
    n_queries: int
    n_database: int
    n_dims: int
    left_out: tuple[str, ...] = ()
    unseen: bool = False

    def recall(self, result: Result) -> float:
        """Recall of a result at the wished cut."""
        return result.recalls[self.cut].value

    @property
    def frontier(self) -> tuple[Result, ...]:
        """Results that no smaller or equal code surpasses, by rising bytes."""
        best: list[Result] = []
        for result in sorted(self.results, key=lambda r: (r.n_bytes, -self.recall(r))):
            if not best or self.recall(result) > self.recall(best[-1]):
                best.append(result)
        return tuple(best)

    @property
    def choice(self) -> Result | None:
        """The smallest code that reaches the wished recall; None if none does."""
        return next((result for result in self.frontier if self.recall(result) >= self.wished), None)

    @property
    def sentence(self) -> str:
        """The answer in words: which code, what it needs besides, and which rows it was learned from."""
        what = f"recall {100 * self.wished:g} % of the {self.cut.k} nearest"
        what += "" if self.cut.k == self.cut.candidates else f" among the first {self.cut.candidates}"
        best = self.choice
        if best is None:
            top = self.frontier[-1]
            answer = f"No code reaches {what}. {top.name} comes nearest: {_in_words(top, self.cut)}."
        else:
            answer = f"The smallest code with {what} is {best.name}: {_in_words(best, self.cut)}."
            if best.shared_bytes > (codes := self.n_database * best.n_bytes):  # of few rows
                shared, all_codes = f"{best.shared_bytes / 1e6:.2f} MB", f"{codes / 1e6:.2f} MB"
                answer += f" Its centroids or projections take {shared} besides, more than all codes ({all_codes})."
        if self.unseen:
            return f"{answer} All codes were learned from other rows than those searched."
        return f"{answer} All codes were learned from the rows searched; of rows that come later they find fewer."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        names = ("n_queries", "n_database", "n_dims", "wished", "sentence", "left_out", "unseen")
        return {
            **{name: getattr(self, name) for name in names},
            **self.cut._asdict(),
            "choice": self.choice and self.choice.to_dict(),
            "frontier": [{"method": r.method, "order": r.order, "n_bytes": r.n_bytes} for r in self.frontier],
            "results": [result.to_dict() for result in self.results],
        }

    def to_html(self) -> str:
        """Return a page that needs no network and no script."""
        from thpi.report import render

        return render("comparison.html", found=self, draw_frontier=draw_frontier)

    def _repr_html_(self) -> str:
        from thpi.report import render

        return render("notebook/comparison.html", found=self)


def _in_words(result: Result, cut: Cut) -> str:
    value, low, high = (100 * number for number in result.recalls[cut])
    return f"{result.n_bytes} bytes, recall {value:.1f} % ({low:.1f} to {high:.1f})"


def draw_frontier(found: Comparison) -> Figure:
    """Plot recall at the wished cut against bytes a row."""
    from thpi.report import new_axes

    axis = new_axes(8.5, 4.6)
    line = [(r.n_bytes, 100 * found.recall(r)) for r in found.frontier]
    axis.plot(*zip(*line, strict=True), color="#bbbbbb", linewidth=6, alpha=0.6, solid_capstyle="round", zorder=0)
    names = list(dict.fromkeys(r.name for r in found.results))
    for number, name in enumerate(names):
        points = [(r.n_bytes, 100 * found.recall(r)) for r in found.results if r.name == name]
        style: Any = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number // 2 % len(_MARKERS)]}
        dash = "--" if name.endswith("Hamming") else "-"
        axis.plot(*zip(*points, strict=True), label=name, linestyle=dash, linewidth=1, markersize=5, **style)
    axis.axhline(100 * found.wished, color="#000000", linestyle=(0, (1, 2)), linewidth=1)
    axis.set_xscale("log", base=2)
    sizes = sorted({r.n_bytes for r in found.results})
    ticks = [2**power for power in range(0, 20) if sizes[0] <= 2**power <= sizes[-1]]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="bytes a row", ylabel=f"recall at {found.cut} (%)")
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return axis.figure  # type: ignore[return-value]  # not of a subfigure
