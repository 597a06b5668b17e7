"""``FILE`` or ``FILE:NAME``, and which columns of a table are features, ids and labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from thpi.pairing import default_id

Names: TypeAlias = "Sequence[str] | None"
Value: TypeAlias = "int | float | str"  # an id or a label

NAMED_COLUMNS = (".csv", ".tsv", ".parquet")

_NAMED = re.compile(r"(.+\.(?:npz|csv|tsv|parquet)):([^:/\\]+)", re.IGNORECASE)
_IDENTIFIERS = (
    *("id", "ids", "pid", "uuid", "sku", "asin", "mpn", "article", "ean", "gtin", "upc", "isbn"),
    *("key", "code", "no", "nr", "num", "number"),
)


class Columns(NamedTuple):
    """What the columns of a table are, by name: features, ids, labels, texts of items, and all of them."""

    features: tuple[str, ...]
    id: str | None
    labels: str | None
    text: str | None
    all: tuple[str, ...]


class Choice(NamedTuple):
    """A file, and which of its columns are features, ids, labels and texts.

    Features are ``features`` in this order, or all but the others; ``kept`` are features although they look like ids.
    Ids are the column ``id``, which must be there if ``needs_id``, else one called id. ``ignore`` is None if the
    command has no such option. With ``exact`` there may be no other columns.
    """

    argument: str
    spec: str
    id: str | None = None
    needs_id: bool = True
    labels: str | None = None
    ignore: Names = None
    features: Names = None
    exact: bool = False
    kept: Names = None
    text: str | None = None

    def error(self, text: str) -> ValueError:
        return ValueError(f"{self.argument}={self.spec!r} {text}")

    def of(self, columns: Sequence[str]) -> Columns:
        for name in (self.labels, self.text, self.id if self.needs_id else None):
            if name is not None and name not in columns:
                raise self.error(f"has no column {name!r}, only {some(columns)}.")
        for name in self.features or ():
            if name not in columns:
                raise self.error(f"has no column {name!r}, which is one of the features; it has {some(columns)}.")
        # A feature called id stays a feature.
        apart = {*(self.ignore or ()), *(self.features or ()), *(self.kept or ()), self.text}
        others = [name for name in columns if name not in apart]
        id = self.id if self.id in columns else default_id([name for name in others if name != self.labels])
        mine = {*others} - {id, self.labels} | {*(self.kept or ())}
        rest = [name for name in columns if name in mine]
        if self.features and self.exact and rest:
            raise self.error(f"has a column {rest[0]!r}, which is not one of the features; --ignore leaves it out.")
        if not (self.features or rest):
            raise self.error("has no column of features left.")
        return Columns(tuple(self.features or rest), id, self.labels, self.text, tuple(columns))

    def check_nameless(self, why: str) -> None:
        for name in (self.labels, self.text, self.id if self.needs_id else None):
            if name is not None:
                raise self.error(f"{why}, so no column {name!r}.")

    def no_number(self, where: str, value: object, column: str | None) -> ValueError:
        # Only columns with a name can be left out.
        return self.error(f"{where}: {value!r} is not a finite number{self.hint(column)}.")

    def hint(self, column: str | None) -> str:
        """Which options decide about a column that is no feature."""
        if column is None or self.features:
            return ""
        apart = "" if self.ignore is None else f", --ignore {column} leaves it out"
        return f" (--id {column} if it names the items{apart})"

    def suspects(self, columns: Columns) -> list[str]:
        """Features that are called like identifiers, unless somebody has chosen them.

        >>> choice = Choice("DATA", "shop.csv")
        >>> choice.suspects(choice.of(["id", "SKU", "product_id", "price", "numbers"]))
        ['SKU', 'product_id']
        """
        if self.features:
            return []
        return [name for name in columns.features if name not in (self.kept or ()) and _sounds_like_id(name)]


def _sounds_like_id(name: str) -> bool:
    words = [word for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if word]
    return bool(words) and (words[-1].lower() in _IDENTIFIERS or words[0].lower() == "id")


def split_spec(spec: str) -> tuple[Path, str | None]:
    """Split ``shop.npz:target`` into the file and the name of an array or column in it."""
    found = None if Path(spec).exists() else _NAMED.fullmatch(spec)
    return (Path(found[1]), found[2]) if found else (Path(spec), None)


def column_of(spec: str, name: str | None) -> str | None:
    """Return ``name`` if it is a column of the table: columns must have names, and there must be no such file.

    >>> column_of("shop.csv", "sku"), column_of("shop.npy", "sku")
    ('sku', None)
    """
    named = Path(spec).suffix.lower() in NAMED_COLUMNS or Path(spec).is_dir()
    return name if named and name is not None and not split_spec(name)[0].exists() else None


def some(names: Sequence[str]) -> str:
    """Return the first names, for messages."""
    return ", ".join(names[:8]) + (f", ... ({len(names)} columns)" if len(names) > 8 else "")
