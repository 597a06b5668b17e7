"""The result of tuning as an index file holds it: every number is checked before faiss gets to see it.

faiss trusts its parameters; a wrong one can end the process. The ranges are those that tuning chooses from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thpi.codes import n_bytes
from thpi.index._format import IndexFileError
from thpi.index._tune import KindReport, TuneReport

_RANGES: dict[str, dict[str, tuple[int, int]]] = {
    "exact": {},
    "ivf": {"nlist": (1, 2**20), "nprobe": (1, 2**20)},
    "hnsw": {"M": (2, 128), "efConstruction": (1, 1000), "efSearch": (1, 4096)},
    "multihash": {"nhash": (1, 8), "b": (1, 30), "nflip": (0, 3)},
}
_LIMIT = 2**40


def read_report(plain: object, n_bits: int) -> TuneReport:
    """Return the report that :meth:`TuneReport.to_dict` wrote; ``IndexFileError`` if it cannot be one.

    >>> read_report({"kind": "hnsw"}, 64)
    Traceback (most recent call last):
    ...
    thpi.index._format.IndexFileError: its report of tuning has kinds=None.
    """
    report = _mapping("report", plain)
    kinds = report.get("kinds")
    if not isinstance(kinds, list) or not kinds:
        raise _wrong("kinds", kinds)
    n = _integer("n", report.get("n"), 0, _LIMIT)
    rows = tuple(_read_kind(_mapping("kinds", row), n, n_bits) for row in kinds)
    names = [row.kind for row in rows]
    if len(set(names)) < len(names) or report.get("kind") not in names:
        raise _wrong("kind", report.get("kind"))
    return TuneReport(
        kind=report["kind"],
        target=_number("target", report.get("target")),
        reached=_number("reached", report.get("reached")),
        k=_integer("k", report.get("k"), 1, _LIMIT),
        n=n,
        kinds=rows,
        candidates=_integer("candidates", report.get("candidates", 0), 0, _LIMIT),
    )


def _read_kind(row: Mapping[str, Any], n: int, n_bits: int) -> KindReport:
    kind, note = row.get("kind"), row.get("note", "")
    if not isinstance(kind, str) or kind not in _RANGES:
        raise _wrong("kind", kind)
    if not isinstance(note, str) or not note.isprintable():  # it is shown in a terminal
        raise _wrong("note", note)
    parameters, ranges = _mapping("parameters", row.get("parameters")), _RANGES[kind]
    if set(parameters) != set(ranges):
        raise _wrong("parameters", parameters)
    chosen = {name: _integer(name, value, *ranges[name]) for name, value in parameters.items()}
    fits = (
        # An index is tuned anew before it has lost more than a tenth of its codes.
        chosen["nprobe"] <= chosen["nlist"] <= max(1, 0.9 * n)
        if kind == "ivf"
        else chosen["nhash"] * chosen["b"] <= 8 * n_bytes(n_bits) and chosen["nflip"] <= chosen["b"]
        if kind == "multihash"
        else True
    )
    if not fits:
        raise _wrong("parameters", parameters)
    numbers = {name: _number(name, row.get(name)) for name in ("recall", "milliseconds", "build_seconds")}
    return KindReport(kind, chosen, numbers["recall"], numbers["milliseconds"], numbers["build_seconds"], note)


def _wrong(name: str, value: object) -> IndexFileError:
    return IndexFileError(f"its report of tuning has {name}={repr(value)[:80]}.")


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(name, value)
    return value


def _integer(name: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(name, value)
    return value


def _number(name: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1e15:  # nan is not
        raise _wrong(name, value)
    return float(value)
