"""What is compared: two reference lines, the methods, the control, and the rivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.rivals import RIVALS
from experiments.rivals.hasher import RivalHasher
from thpi import HASHERS

NO_SOURCE, ALL_TARGET, AUTO = "itq", "itq_all", "auto"
"""The two reference lines of every table, and the method that is judged."""

UNLABELLED = "auto_unlabelled"
"""The method where classes are meant and nobody has named them: told groups, judged by class."""


@dataclass(frozen=True)
class Line:
    """One column of the tables.

    ``trained_on`` is ``"pairs"`` or, for reference lines, ``"all"``: every row that is not a query, paired where the
    method uses a source. With ``per_relevance`` the method is fitted once for each meaning of relevant; the others are
    fitted once and measured under every meaning. ``shuffled`` permutes the privileged rows against the target rows:
    any gain is then not due to the pairs. ``without_source`` withholds the candidates that use the source; on the folds
    it still defines what is near in it. ``linear`` leaves out kernel hash functions. A line of ``one_length``
    is costly and is run at the middle code length alone. ``order`` is that of the database rows: by Hamming
    distance, or by the asymmetric distance of the query's projections to the codes. ``only`` are the meanings under
    which a line is measured (none: all); ``told_as`` is the meaning it is fitted for, if that is another one.
    ``alone`` and ``control`` are the same line without source and with shuffled pairs. ``short`` is the title on a
    terminal (empty: not shown there). The ``method`` of a rival is its name in :data:`experiments.rivals.RIVALS`.
    """

    key: str
    title: str
    method: str
    colour: str = "#000000"
    marker: str = "x"
    short: str = ""
    role: Literal["reference", "method", "control", "rival"] = "method"
    trained_on: Literal["pairs", "all"] = "pairs"
    per_relevance: bool = False
    shuffled: bool = False
    without_source: bool = False
    linear: bool = False
    one_length: bool = False
    only: tuple[str, ...] = ()
    told_as: str | None = None
    order: Literal["hamming", "asymmetric"] = "hamming"
    alone: str = ""
    control: str = ""

    def is_under(self, relevance: str) -> bool:
        """Whether the line is in the table of a meaning."""
        return not self.only or relevance in self.only

    def told(self, relevances: Sequence[str]) -> tuple[str | None, ...]:
        """Return the meanings that it is fitted for, of those that are run; (None,) if the method does not ask.

        >>> LINES["itq"].told(["target"]), LINES["auto_all"].told(["labels", "source"])
        ((None,), ('source',))
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
        """Return the estimator of this line, not yet fitted.

        >>> LINES["itq"].hasher(16, None, 0)
        ITQ(n_bits=16, random_state=0)
        """
        if self.role == "rival":
            assert relevance is not None
            return RivalHasher(self.method, bits, relevance)
        meaning = {"relevance": relevance} if self.per_relevance else {}
        source = {"use_source": False} if self.without_source else {}
        kernel = {"kernel": False} if self.linear else {}
        return HASHERS[self.method](n_bits=bits, random_state=random_state, **meaning, **source, **kernel)

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


_REFERENCE: dict[str, Any] = {"role": "reference"}
_ALONE: dict[str, Any] = {"role": "reference", "without_source": True}
_SHUFFLED: dict[str, Any] = {"role": "control", "shuffled": True, "one_length": True}
_ASYMMETRIC: dict[str, Any] = {"one_length": True, "order": "asymmetric"}
_AUTO: dict[str, Any] = {"method": "AutoHasher", "per_relevance": True}
_GROUPS = _AUTO | {"only": ("labels",), "told_as": "groups"}
# The fits of "near in source space", evaluated by class: they are not made twice.
_TOLD = _AUTO | {"only": ("labels",), "told_as": "source"}


def _line(key: str, title: str, looks: str = "#000000 x", *kinds: dict[str, Any], **more: Any) -> Line:
    """A line that looks so: a colour (Okabe and Ito's, as in the paper's figures), a marker, a short title."""
    colour, marker, *short = looks.split(maxsplit=2)
    parts: dict[str, Any] = {name: value for kind in (*kinds, more) for name, value in kind.items()}
    return Line(key, title, colour=colour, marker=marker, short="".join(short), **parts)


LINES: dict[str, Line] = {
    line.key: line
    for line in (
        _line(NO_SOURCE, "ITQ, no source", "#000000 x ITQ", _REFERENCE, method="ITQ"),
        _line("itq_plus", "ITQ+", "#56B4E9 v", method="ITQPlus"),
        _line("lap_itq_plus", "LapITQ+", "#D55E00 P Lap+", method="LapITQPlus"),
        _line("transfer_itq", "TransferITQ", "#009E73 s TrITQ", method="TransferITQ"),
        _line("auto_no_source", "AutoHasher, no source", "#CC79A7 d alone", _AUTO, _ALONE),
        _line(
            "auto_unlabelled_no_source", "AutoHasher, no source, no labels", "#9c5b80 v no y alone", _GROUPS, _ALONE
        ),
        _line("auto_told_source_no_source", "AutoHasher, no source, told source", "#d9a8c4 <", _TOLD, _ALONE),
        _line(
            UNLABELLED, "AutoHasher, source but no labels", "#E69F00 ^ no y", _GROUPS,
            alone="auto_unlabelled_no_source", control="auto_unlabelled_shuffled",
        ),
        _line(
            "auto_told_source", "AutoHasher, no labels, told source", "#8a6d00 >", _TOLD,
            alone="auto_told_source_no_source", control="auto_told_source_shuffled",
        ),
        _line(AUTO, "AutoHasher", "#0072B2 o Auto", _AUTO, alone="auto_no_source", control="auto_shuffled"),
        _line("auto_linear", "AutoHasher, linear", "#004166 h linear", _AUTO, one_length=True, linear=True),
        _line("itq_asymmetric", "ITQ, asymmetric order", "#000000 x", _REFERENCE, _ASYMMETRIC, method="ITQ"),
        _line("auto_asymmetric", "AutoHasher, asymmetric order", "#0072B2 o", _AUTO, _ASYMMETRIC),
        _line("auto_shuffled", "AutoHasher, shuffled pairs", "#999999 D shuf", _AUTO, _SHUFFLED),
        _line(
            "auto_unlabelled_shuffled", "AutoHasher, no labels, shuffled pairs", "#c9a24a ^ no y shuf",
            _GROUPS, _SHUFFLED,
        ),
        _line("auto_told_source_shuffled", "AutoHasher, told source, shuffled pairs", "#b8ac7a >", _TOLD, _SHUFFLED),
        _line(ALL_TARGET, "ITQ, all target data", "#000000 _ all", _REFERENCE, method="ITQ", trained_on="all"),
        # What these hash functions can reach if every row is paired.
        _line(
            "auto_all", "AutoHasher, all pairs", "#0072B2 _ all pairs", _AUTO, _REFERENCE,
            trained_on="all", only=("source",),
        ),
    )
}  # fmt: skip
"""The lines by key, in the order of the tables."""


def _rival_lines() -> Iterator[Line]:
    """A line per rival; told groups, another one; at one length, the first in asymmetric order too."""
    for rival in RIVALS.values():
        parts: dict[str, Any] = {"method": rival.name, "role": "rival", "per_relevance": True}
        told = tuple(meaning for meaning in rival.meanings if meaning != "groups")
        if told:
            yield _line(f"rival_{rival.name}", rival.title, "#666666 .", parts, only=told)
            title = f"{rival.title}, asymmetric order"
            yield _line(f"rival_{rival.name}_asymmetric", title, "#666666 .", parts, _ASYMMETRIC, only=told)
        if "groups" in rival.meanings:
            title = f"{rival.title}, no labels"
            yield _line(f"rival_{rival.name}_groups", title, "#666666 .", parts, only=("labels",), told_as="groups")


LINES |= {line.key: line for line in _rival_lines()}
