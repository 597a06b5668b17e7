"""What is compared: two reference lines, the methods, and the control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from thpi import HASHERS

__all__ = [
    "ALL_PAIRS",
    "ALL_TARGET",
    "AUTO",
    "AUTO_NO_SOURCE",
    "AUTO_TOLD_SOURCE",
    "AUTO_UNLABELLED",
    "CONTROL",
    "FINER",
    "FINER_NO_SOURCE",
    "KERNEL",
    "KERNEL_CONTROL",
    "LINES",
    "Line",
    "NO_SOURCE",
    "TOLD_SOURCE_CONTROL",
    "TOLD_SOURCE_NO_SOURCE",
    "UNLABELLED_CONTROL",
    "UNLABELLED_NO_SOURCE",
]


@dataclass(frozen=True)
class Line:
    """One column of the tables.

    ``trained_on`` is ``"pairs"`` or, for reference lines, ``"all"``: every row that is not a query, paired where the
    method uses a source. With ``per_relevance`` the method is fitted once for each meaning of relevant; the others are
    fitted once and measured under every meaning. ``shuffled`` permutes the privileged rows against the target rows:
    any gain is then not due to the pairs. ``without_source`` withholds the candidates that use the source; on the folds
    it still defines what is near in it. A line of ``one_length`` is costly and is run at the middle code length alone.
    ``order`` is that of the database rows: by Hamming distance, or by the asymmetric distance of the query's
    projections to the codes. ``only`` are the meanings under which a line is measured (none: all); ``told_as`` is the
    meaning it is fitted for, if that is another one. ``short`` is the title on a terminal (empty: not shown there);
    ``colour`` and ``marker`` are for figures.
    """

    key: str
    title: str
    method: str
    role: Literal["reference", "method", "control"] = "method"
    trained_on: Literal["pairs", "all"] = "pairs"
    per_relevance: bool = False
    shuffled: bool = False
    without_source: bool = False
    one_length: bool = False
    only: tuple[str, ...] = ()
    told_as: str | None = None
    order: Literal["hamming", "asymmetric"] = "hamming"
    short: str = ""
    colour: str = "#000000"
    marker: str = "x"

    def is_under(self, relevance: str) -> bool:
        """Whether the line is in the table of a meaning."""
        return not self.only or relevance in self.only

    def told(self, relevances: Sequence[str]) -> tuple[str | None, ...]:
        """Return the meanings that it is fitted for, of those that are run; (None,) if the method does not ask.

        >>> LINES["itq"].told(["target"]), LINES["auto_kernel"].told(["labels", "target"])
        ((None,), ('labels',))
        >>> LINES["auto_unlabelled"].told(["target", "labels"])
        ('groups',)
        """
        if not self.per_relevance:
            return (None,)
        asked = tuple(relevance for relevance in relevances if self.is_under(relevance))
        return asked if self.told_as is None else (self.told_as,) * bool(asked)

    def measured_under(self, told: str | None, relevance: str) -> bool:
        """Whether a fit that was told one meaning counts under another."""
        return self.is_under(relevance) if told is None or self.told_as is not None else told == relevance

    def hasher(self, bits: int, relevance: str | None, random_state: Any) -> Any:
        """Give the estimator of this line, not yet fitted.

        >>> LINES["itq"].hasher(16, None, 0)
        ITQ(n_bits=16, random_state=0)
        """
        meaning = {"relevance": relevance} if self.per_relevance else {}
        source = {"use_source": False} if self.without_source else {}
        return HASHERS[self.method](n_bits=bits, random_state=random_state, **meaning, **source)

    def to_dict(self, bits: int, relevance: str | None) -> dict[str, Any]:
        """Plain values for the key of a result: all parameters, defaults included, so that new defaults are new."""
        values = {name: _plain(value) for name, value in self.hasher(bits, relevance, None).get_params().items()}
        found = {
            "method": self.method,
            "trained_on": self.trained_on,
            "shuffled": self.shuffled,
            "without_source": self.without_source,
            "parameters": values,
        }
        return found if self.order == "hamming" else found | {"order": self.order}


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


NO_SOURCE, ALL_TARGET, AUTO, CONTROL = "itq", "itq_all", "auto", "auto_shuffled"
AUTO_NO_SOURCE, AUTO_UNLABELLED, ALL_PAIRS = "auto_no_source", "auto_unlabelled", "auto_all"
UNLABELLED_CONTROL, KERNEL, KERNEL_CONTROL = "auto_unlabelled_shuffled", "auto_kernel", "auto_kernel_shuffled"
AUTO_TOLD_SOURCE, TOLD_SOURCE_CONTROL = "auto_told_source", "auto_told_source_shuffled"
UNLABELLED_NO_SOURCE, TOLD_SOURCE_NO_SOURCE = "auto_unlabelled_no_source", "auto_told_source_no_source"
FINER, FINER_NO_SOURCE = "auto_asymmetric", "itq_asymmetric"

# Okabe and Ito's colours, as in the figures of the paper.
_AUTO = Line(AUTO, "AutoHasher", "AutoHasher", per_relevance=True, short="Auto", colour="#0072B2", marker="o")
_UNLABELLED = replace(
    _AUTO, key=AUTO_UNLABELLED, title="AutoHasher, source but no labels", only=("labels",), told_as="groups",
    short="no y", colour="#E69F00", marker="^",
)  # fmt: skip
# The fits of "near in source space", evaluated by class: they are not made twice.
_TOLD_SOURCE = replace(
    _AUTO, key=AUTO_TOLD_SOURCE, title="AutoHasher, no labels, told source", only=("labels",), told_as="source",
    short="", colour="#8a6d00", marker=">",
)  # fmt: skip
# Under target relevance it is AutoHasher.
_KERNEL = replace(
    _AUTO, key=KERNEL, title="KernelAutoHasher", method="KernelAutoHasher", one_length=True, only=("labels", "source"),
    short="kernel", colour="#004166", marker="h",
)  # fmt: skip
_ITQ = Line(NO_SOURCE, "ITQ, no source", "ITQ", role="reference", short="ITQ")


def _no_source(line: Line, key: str, title: str, short: str, colour: str, marker: str) -> Line:
    looks = {"short": short, "colour": colour, "marker": marker}
    return replace(line, key=key, title=title, role="reference", without_source=True, **looks)  # type: ignore[arg-type]


def _shuffled(line: Line, key: str, title: str, short: str, colour: str, marker: str) -> Line:
    looks = {"short": short, "colour": colour, "marker": marker}
    return replace(line, key=key, title=title, role="control", shuffled=True, one_length=True, **looks)  # type: ignore[arg-type]


LINES: dict[str, Line] = {
    line.key: line
    for line in (
        _ITQ,
        Line("itq_plus", "ITQ+", "ITQPlus", colour="#56B4E9", marker="v"),
        Line("lap_itq_plus", "LapITQ+", "LapITQPlus", short="Lap+", colour="#D55E00", marker="P"),
        Line("transfer_itq", "TransferITQ", "TransferITQ", short="TrITQ", colour="#009E73", marker="s"),
        _no_source(_AUTO, AUTO_NO_SOURCE, "AutoHasher, no source", "alone", "#CC79A7", "d"),
        _no_source(
            _UNLABELLED, UNLABELLED_NO_SOURCE, "AutoHasher, no source, no labels", "no y alone", "#9c5b80", "v"
        ),
        _no_source(_TOLD_SOURCE, TOLD_SOURCE_NO_SOURCE, "AutoHasher, no source, told source", "", "#d9a8c4", "<"),
        _UNLABELLED,
        _TOLD_SOURCE,
        _AUTO,
        _KERNEL,
        replace(
            _ITQ, key=FINER_NO_SOURCE, title="ITQ, asymmetric order", one_length=True, order="asymmetric", short=""
        ),
        replace(
            _AUTO, key=FINER, title="AutoHasher, asymmetric order", one_length=True, order="asymmetric", short=""
        ),
        _shuffled(_AUTO, CONTROL, "AutoHasher, shuffled pairs", "shuf", "#999999", "D"),
        _shuffled(
            _UNLABELLED, UNLABELLED_CONTROL, "AutoHasher, no labels, shuffled pairs", "no y shuf", "#c9a24a", "^"
        ),
        _shuffled(_TOLD_SOURCE, TOLD_SOURCE_CONTROL, "AutoHasher, told source, shuffled pairs", "", "#b8ac7a", ">"),
        replace(
            _shuffled(_KERNEL, KERNEL_CONTROL, "KernelAutoHasher, shuffled pairs", "", "#6f8796", "h"),
            only=("source",),
        ),
        replace(_ITQ, key=ALL_TARGET, title="ITQ, all target data", trained_on="all", short="all", marker="_"),
        # What these hash functions can reach if every row is paired.
        replace(
            _AUTO, key=ALL_PAIRS, title="AutoHasher, all pairs", role="reference", trained_on="all", only=("source",),
            short="all pairs", marker="_",
        ),
    )
}  # fmt: skip
"""The lines by key, in the order of the tables."""
