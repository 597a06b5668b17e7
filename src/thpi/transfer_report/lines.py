"""What is compared: two reference lines, the methods, and the control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from thpi.hashers import HASHERS
from thpi.transfer_report.withheld import WithheldSource

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
    method uses a source.
    ``per_relevance`` says that the method is told what relevant means, and is fitted once for each meaning; the
    others are fitted once and measured under every meaning. ``shuffled`` permutes the privileged rows against the
    target rows: whatever a method then gains is not due to the pairs. ``without_source`` withholds the
    candidates that use the source; on the folds it still says what is near in it. A line of ``one_length`` is run at
    the middle code length alone, because it is costly. ``order`` is that of the database rows: by Hamming distance, or
    by the asymmetric distance of the query's projections to the codes.
    ``only`` are the meanings under which a line is measured (none: all); ``told_as`` is the meaning it is told, if
    that is another one.
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

    def stands_under(self, relevance: str) -> bool:
        """Whether the line is in the table of a meaning."""
        return not self.only or relevance in self.only

    def told(self, relevances: Sequence[str]) -> tuple[str | None, ...]:
        """Give the meanings that it is fitted for, of those that are run; (None,) where it is not told any.

        >>> LINES["itq"].told(["target"]), LINES["auto_kernel"].told(["labels", "target"])
        ((None,), ('labels',))
        >>> LINES["auto_unlabelled"].told(["target", "labels"])
        ('groups',)
        """
        if not self.per_relevance:
            return (None,)
        asked = tuple(relevance for relevance in relevances if self.stands_under(relevance))
        return asked if self.told_as is None else (self.told_as,) * bool(asked)

    def measured_under(self, told: str | None, relevance: str) -> bool:
        """Whether a fit that was told one meaning counts under another."""
        return self.stands_under(relevance) if told is None or self.told_as is not None else told == relevance

    def hasher(self, bits: int, relevance: str | None, random_state: Any) -> Any:
        """Give the estimator of this line, not yet fitted.

        >>> LINES["itq"].hasher(16, None, 0)
        ITQ(n_bits=16, random_state=0)
        """
        method = WithheldSource if self.without_source else HASHERS[self.method]
        meaning = {"relevance": relevance} if self.per_relevance else {}
        return method(n_bits=bits, random_state=random_state, **meaning)

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

_UNLABELLED = Line(
    AUTO_UNLABELLED,
    "AutoHasher, source but no labels",
    "AutoHasher",
    per_relevance=True,
    only=("labels",),
    told_as="groups",
)
# The fits of "near in source space", judged by class: they are not made twice.
_TOLD_SOURCE = Line(
    AUTO_TOLD_SOURCE,
    "AutoHasher, no labels, told source",
    "AutoHasher",
    per_relevance=True,
    only=("labels",),
    told_as="source",
)
_AUTO = Line(AUTO, "AutoHasher", "AutoHasher", per_relevance=True)
# Under target relevance it is AutoHasher.
_KERNEL = Line(
    KERNEL, "KernelAutoHasher", "KernelAutoHasher", per_relevance=True, one_length=True, only=("labels", "source")
)


def _no_source(line: Line, key: str, title: str) -> Line:
    return replace(line, key=key, title=title, role="reference", without_source=True)


def _shuffled(line: Line, key: str, title: str) -> Line:
    return replace(line, key=key, title=title, role="control", shuffled=True, one_length=True)


LINES: dict[str, Line] = {
    line.key: line
    for line in (
        Line(NO_SOURCE, "ITQ, no source", "ITQ", role="reference"),
        Line("itq_plus", "ITQ+", "ITQPlus"),
        Line("lap_itq_plus", "LapITQ+", "LapITQPlus"),
        Line("transfer_itq", "TransferITQ", "TransferITQ"),
        _no_source(_AUTO, AUTO_NO_SOURCE, "AutoHasher, no source"),
        _no_source(_UNLABELLED, UNLABELLED_NO_SOURCE, "AutoHasher, no source, no labels"),
        _no_source(_TOLD_SOURCE, TOLD_SOURCE_NO_SOURCE, "AutoHasher, no source, told source"),
        _UNLABELLED,
        _TOLD_SOURCE,
        _AUTO,
        _KERNEL,
        Line(FINER_NO_SOURCE, "ITQ, asymmetric order", "ITQ", role="reference", one_length=True, order="asymmetric"),
        replace(_AUTO, key=FINER, title="AutoHasher, asymmetric order", one_length=True, order="asymmetric"),
        _shuffled(_AUTO, CONTROL, "AutoHasher, shuffled pairs"),
        _shuffled(_UNLABELLED, UNLABELLED_CONTROL, "AutoHasher, no labels, shuffled pairs"),
        _shuffled(_TOLD_SOURCE, TOLD_SOURCE_CONTROL, "AutoHasher, told source, shuffled pairs"),
        replace(_shuffled(_KERNEL, KERNEL_CONTROL, "KernelAutoHasher, shuffled pairs"), only=("source",)),
        Line(ALL_TARGET, "ITQ, all target data", "ITQ", role="reference", trained_on="all"),
        # What is within reach of these hash functions, if every row were paired.
        Line(
            ALL_PAIRS,
            "AutoHasher, all pairs",
            "AutoHasher",
            role="reference",
            trained_on="all",
            per_relevance=True,
            only=("source",),
        ),
    )
}
"""The lines by key, in the order of the tables."""
