"""Ids and labels of rows: what counts as one, and errors that name some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any


def default_id(columns: Sequence[Any]) -> Any:
    """Return the column called id, in any case, or None.

    >>> default_id(["price", "ID"])
    'ID'
    """
    called = [name for name in columns if isinstance(name, str) and name.lower() == "id"]
    return "id" if "id" in called else called[0] if len(called) == 1 else None


def id_names(name: str, ids: Sequence[Any] | None, start: int = 0) -> list[str]:
    """Return ids as texts, so that 7 of one table is "7" of another; refuse ids that are blank or occur twice.

    The first of them is in row ``start``.
    """
    if ids is None:
        raise ValueError(f"{name} has no ids.")
    for at, value in enumerate(ids, start):
        if is_blank(value):
            raise ValueError(f"{name} has no id in row {at}.")
        if not isinstance(value, (str, Integral)) or isinstance(value, bool):
            raise ValueError(f"{name} has the id {value!r} in row {at}; ids must be whole numbers or texts.")
    names = [str(value) for value in ids]
    if len(set(names)) < len(names):
        twice = [value for value, n in Counter(names).items() if n > 1]
        raise ValueError(f"{name}: {len(twice)} ids occur more than once: {few(twice)}.")
    return names


def check_labels(labels: Sequence[Any], where: Sequence[Any], name: str = "labels") -> None:
    """Refuse labels that are missing; ``where`` names the rows.

    >>> check_labels(["shoe", "", "cap"], ["A", "B", "C"])
    Traceback (most recent call last):
    ValueError: labels: 1 of 3 rows have none ('B'). Label them, or leave them out.
    """
    missing = [row for label, row in zip(labels, where, strict=True) if is_blank(label)]
    if missing:
        text = f"{name}: {len(missing)} of {len(labels)} rows have none ({few(missing)})"
        raise ValueError(f"{text}. Label them, or leave them out.")


def is_blank(value: Any) -> bool:
    """Whether a value is None, NaN, or text without a visible character."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def few(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:3])) + (f" and {len(values) - 3:,} more" if len(values) > 3 else "")
