"""Which columns of a table are features, ids and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from thpi.pairing import default_id

Names: TypeAlias = "Sequence[str] | None"


class Columns(NamedTuple):
    """What the columns of a table are, by name: features, ids, labels, and all of them."""

    features: tuple[str, ...]
    id: str | None
    labels: str | None
    all: tuple[str, ...]

    @property
    def read(self) -> list[str]:
        """The columns that are read, each once."""
        return list(dict.fromkeys([*self.features, *(name for name in (self.id, self.labels) if name is not None)]))


class Choice(NamedTuple):
    """A file, and which of its columns are features, ids and labels.

    Features are ``features`` in this order, or all but the others. Ids are the column ``id``, which must be there if
    ``needs_id``, else one called id. ``ignore`` is None if the command has no such option. With ``exact`` there may be
    no other columns.
    """

    argument: str
    spec: str
    id: str | None = None
    needs_id: bool = True
    labels: str | None = None
    ignore: Names = None
    features: Names = None
    exact: bool = False

    def error(self, text: str) -> ValueError:
        return ValueError(f"{self.argument}={self.spec!r} {text}")

    def of(self, columns: Sequence[str]) -> Columns:
        for name in (self.labels, self.id if self.needs_id else None):
            if name is not None and name not in columns:
                raise self.error(f"has no column {name!r}, only {some(columns)}.")
        for name in self.features or ():
            if name not in columns:
                raise self.error(f"has no column {name!r}, which is one of the features; it has {some(columns)}.")
        # A feature called id stays a feature.
        others = [name for name in columns if name not in (self.ignore or ()) and name not in (self.features or ())]
        id = self.id if self.id in columns else default_id([name for name in others if name != self.labels])
        rest = [name for name in others if name not in (id, self.labels)]
        if self.features and self.exact and rest:
            raise self.error(f"has a column {rest[0]!r}, which is not one of the features; --ignore leaves it out.")
        if not (self.features or rest):
            raise self.error("has no column of features left.")
        return Columns(tuple(self.features or rest), id, self.labels, tuple(columns))

    def check_nameless(self, why: str) -> None:
        for name in (self.labels, self.id if self.needs_id else None):
            if name is not None:
                raise self.error(f"{why}, so no column {name!r}.")

    def no_number(self, where: str, value: object, column: str | None) -> ValueError:
        # Only columns with a name can be left out.
        return self.error(f"{where}: {value!r} is not a finite number{self.hint(column)}.")

    def hint(self, column: str | None) -> str:
        if column is None or self.features:
            return ""
        apart = "" if self.ignore is None else f", --ignore {column} leaves it out"
        return f" (--id {column} if it names the items{apart})"


def some(names: Sequence[str]) -> str:
    """Return the first names, for messages."""
    return ", ".join(names[:8]) + (f", ... ({len(names)} columns)" if len(names) > 8 else "")
