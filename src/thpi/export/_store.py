"""A store: a table of a database engine that mirrors a collection. What is common to all engines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thpi._types import Bools, Codes
from thpi.export._files import CodeTable, Id, read_description
from thpi.identity import ModelMismatchError
from thpi.index import IdKind


class Mirrored(NamedTuple):
    """How many items were added to a table and removed from it, and whether all of it was replaced."""

    added: int
    removed: int
    replaced: bool


class Store(AbstractContextManager["Store"], ABC):
    """A table of a database engine that mirrors a collection; a subclass writes the seven abstract methods.

    They get what is checked already, and know ``n_bits``, ``kind`` of the ids and ``with_texts`` of the table. All but
    ``_connect`` and ``_description`` are within ``_transaction``, which an engine with transactions overrides.
    """

    extra: ClassVar[str | None] = None  # of the package, which the engine needs
    error_packages: ClassVar[tuple[str, ...]] = ()  # exceptions of these are messages of the engine
    longest_name = 255  # of a table
    on_disk = True  # whether an address without "://" is a file or folder
    n_bits: int
    kind: IdKind
    with_texts: bool
    _engine: Any

    def __init__(self, address: str, table: str = "codes") -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", table) or len(table) > self.longest_name:
            rule = f"letters, digits and underscores, not a digit first, at most {self.longest_name}"
            raise ValueError(f"table={table!r} must be {rule}.")
        self.table, self._engine = table, None
        if "://" not in address and self.on_disk and not Path(address).absolute().parent.is_dir():
            raise ValueError(f"address={address!r}: the folder {str(Path(address).parent)!r} does not exist.")
        try:
            self._connect(address)
        except BaseException:
            self.close()
            raise

    @property
    def about(self) -> dict[str, Any] | None:
        """What the table says about itself; None if there is none, and an error if thpi did not make it."""
        text = self._description()
        return None if text is None else read_description(text, f"the table {self.table!r}, which thpi did not make,")

    def __iter__(self) -> Iterator[tuple[Id, bytes, str | None]]:
        """Iterate over id, code and text of all rows."""
        if (about := self.about) is not None:
            self._take(about)
            with self._transaction():
                yield from self._rows()

    def mirror(self, items: CodeTable, *, force: bool = False) -> Mirrored:
        """Make the table hold these items: what is there stays, what is missing is added.

        ``force`` also removes what the table has beyond them, and replaces codes of another model.
        """
        self._check_ids(items.ids.tolist())
        with self._transaction():
            replaced = self._prepare(items, force)
            stays, gone = self._compare(items)
            if gone and not force:
                what = f"{len(gone):,} items that the collection has not, or not like this (first: {gone[0]!r})"
                raise ValueError(f"the table {self.table!r} has {what}; --force removes them.")
            if gone:
                self._delete(gone)
            if len(rows := np.flatnonzero(~stays)):
                texts = None if items.texts is None else [items.texts[row] for row in rows.tolist()]
                self._insert(items.ids[rows].tolist(), items.codes[rows], texts)
        return Mirrored(len(rows), len(gone), replaced)

    def _prepare(self, items: CodeTable, force: bool) -> bool:
        """Have a table for items like these; return whether it took the place of one for others."""
        text, about = items.description(texts=items.texts is not None), self.about
        wanted = read_description(text, "the collection")
        self._take(wanted)
        if about == wanted:
            return False
        if about is not None:
            if not force:
                self._refuse(about, wanted)
            self._drop()
        self._create(text)
        return about is not None

    def _compare(self, items: CodeTable) -> tuple[Bools, list[Id]]:
        """Return which items the table has as they are, and the ids of its other rows."""
        stays, gone = np.zeros(len(items.ids), dtype=np.bool_), list[Id]()
        row_of = {item: row for row, item in enumerate(items.ids.tolist())}
        for item, code, known in self._rows():
            row = row_of.get(item, -1)
            same = row >= 0 and items.codes[row].tobytes() == code
            if same and (items.texts is None or (items.texts[row] or "") == (known or "")):
                stays[row] = True
            else:
                gone.append(item)
        return stays, gone

    def _refuse(self, about: dict[str, Any], wanted: dict[str, Any]) -> None:
        where, advice = f"the table {self.table!r}", "--force replaces all of it, or name another --table."
        if about["model"] != wanted["model"]:
            text = f"{where} is of model {about['model']}, but the collection is of model {wanted['model']}"
            raise ModelMismatchError(f"{text}: distances between codes of two models mean nothing; {advice}")
        names = [name for name, value in wanted.items() if about.get(name) != value]
        found, new = ({name: each.get(name) for name in names} for each in (about, wanted))
        raise ValueError(f"{where} was made for {found}, and these items are {new}; {advice}")

    def _take(self, about: dict[str, Any]) -> None:
        self.n_bits, self.with_texts = int(about["n_bits"]), bool(about.get("texts"))
        self.kind = "string" if about.get("ids") == "string" else "int64"

    def _check_ids(self, ids: list[Id]) -> None:
        """Refuse ids that the engine would misread."""

    def close(self) -> None:
        """Close the connection."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _transaction(self) -> AbstractContextManager[object]:
        """Keep other writers out, and undo everything if there is an error, as far as the engine can."""
        return nullcontext()

    @abstractmethod
    def _connect(self, address: str) -> None:
        """Set ``_engine`` to what ``close`` closes."""

    @abstractmethod
    def _description(self) -> str | bytes | None:
        """Return the text that ``_create`` kept with the table; None if there is no table, "" if it has no text."""

    @abstractmethod
    def _create(self, about: str) -> None:
        """Make the table, and keep the text ``about`` with it: ASCII without a single quote."""

    @abstractmethod
    def _drop(self) -> None:
        """Remove the table."""

    @abstractmethod
    def _insert(self, ids: list[Id], codes: Codes, texts: Sequence[str | None] | None) -> None:
        """Add rows whose ids are new; there are texts if the table is ``with_texts``."""

    @abstractmethod
    def _delete(self, ids: list[Id]) -> None:
        """Remove rows, all of which are there."""

    @abstractmethod
    def _rows(self) -> Iterator[tuple[Id, bytes, str | None]]:
        """Iterate over id, code and text of all rows."""
