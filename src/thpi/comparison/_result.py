"""What a comparison found: one result per code and order, the frontier, and the smallest code that is good enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from thpi.comparison._measure import Cut
from thpi.evaluation import Measured


@dataclass(frozen=True)
class Result:
    """One code, searched in one order.

    ``recalls`` are those of exhaustive search: what is missing to 1 is lost by the code. ``index_loss`` is what an
    approximate index loses besides, at the wished cut; None if it was not asked for or the code has no such index.
    ``shared_bytes`` are bytes that all rows share, ``fit_seconds`` the time to learn and code.
    ``relevance`` is the share of the first rows found that are relevant in the other meaning, if there is one.
    """

    method: str
    order: str
    n_bytes: int
    shared_bytes: int
    recalls: dict[Cut, Measured]
    milliseconds: float
    fit_seconds: float
    relevance: Measured | None = None
    index_loss: Measured | None = None
    index_milliseconds: float | None = None

    @property
    def name(self) -> str:
        """Method and order in words."""
        return self.method if self.order == "exact" else f"{self.method}, {self.order}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        recalls = [cut._asdict() | recall._asdict() for cut, recall in self.recalls.items()]
        kept = {name: value and value._asdict() for name, value in self._measures().items()}
        return {**asdict(self), "recalls": recalls, **kept}

    def _measures(self) -> dict[str, Measured | None]:
        return {"relevance": self.relevance, "index_loss": self.index_loss}


@dataclass(frozen=True)
class Comparison:
    """All results by falling recall within rising bytes; what was wished, and of which rows.

    ``meaning`` is the title of the other meaning of "relevant", if labels or source rows were given.
    ``left_out`` are methods that could not run, with the reason.
    """

    results: tuple[Result, ...]
    wished: float
    cut: Cut
    n_queries: int
    n_database: int
    n_dims: int
    meaning: str | None = None
    left_out: tuple[str, ...] = ()

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
    def choice_in_all(self) -> Result | None:
        """The code that takes least memory for just these rows, with what they share; None if none is good enough.

        Projections and centroids weigh more than the codes if rows are few.
        """
        enough = (result for result in self.results if self.recall(result) >= self.wished)
        return min(enough, key=self.total_bytes, default=None)

    def total_bytes(self, result: Result) -> int:
        """Return the bytes of all codes of the database, with what they share."""
        return self.n_database * result.n_bytes + result.shared_bytes

    @property
    def sentence(self) -> str:
        """The answer in words."""
        what = f"recall {100 * self.wished:g} % of the {self.cut.k} nearest"
        among = "" if self.cut.k == self.cut.candidates else f" among the first {self.cut.candidates}"
        best = self.choice
        if best is None:
            top = self.frontier[-1]
            return f"No code reaches {what}{among}. {top.name} comes nearest: {_in_words(top, self.cut)}."
        answer = f"The smallest code with {what}{among} is {best.name}: {_in_words(best, self.cut)}."
        least = self.choice_in_all
        if least is None or self.total_bytes(least) == self.total_bytes(best):
            return answer
        shared, here, there = map(_size, (best.shared_bytes, self.total_bytes(least), self.total_bytes(best)))
        return (
            f"{answer} It needs {shared} besides, which all rows share. "
            f"For only {self.n_database:,} rows, {least.name} takes less in all: {here} against {there}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "n_queries": self.n_queries,
            "n_database": self.n_database,
            "n_dims": self.n_dims,
            "wished": self.wished,
            **self.cut._asdict(),
            "sentence": self.sentence,
            "choice": self.choice and self.choice.to_dict(),
            "choice_in_all": self.choice_in_all and self.choice_in_all.to_dict(),
            "frontier": [{"method": r.method, "order": r.order, "n_bytes": r.n_bytes} for r in self.frontier],
            "results": [result.to_dict() for result in self.results],
            "meaning": self.meaning,
            "left_out": list(self.left_out),
        }

    def to_html(self) -> str:
        """Return a page that needs no network and no script."""
        from thpi.comparison._page import draw_frontier
        from thpi.report import render

        return render("comparison.html", found=self, draw_frontier=draw_frontier)

    def _repr_html_(self) -> str:
        from thpi.report import render

        return render("notebook/comparison.html", found=self)


def _in_words(result: Result, cut: Cut) -> str:
    value, low, high = (100 * number for number in result.recalls[cut])
    return f"{result.n_bytes} bytes, recall {value:.1f} % ({low:.1f} to {high:.1f})"


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 999_500 else f"{n / 1e3:.0f} kB"
