"""The base of the stores on a database engine: it makes the calls of a store of the few that an engine answers."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.export._table import Id, describe_codes, read_description
from thpi.identity import check_fingerprint, check_same_model
from thpi.index import Neighbours, check_ids, check_integer, id_kind, number_on

if TYPE_CHECKING:
    from typing_extensions import Self

IdKind: TypeAlias = Literal["int64", "string"]
Hit: TypeAlias = "tuple[float, int, Id]"  # distance, position and id of an item that was found

_BATCH = 5_000  # ids that are looked for at once


def check_name(argument: str, value: object, longest: int = 255) -> str:
    """Return the name of a table for engines that put it into files or statements.

    >>> check_name("table", "shop codes")
    Traceback (most recent call last):
    ValueError: table='shop codes' must be letters, digits and underscores, not a digit first, at most 255.
    """
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) or len(value) > longest:
        rule = f"must be letters, digits and underscores, not a digit first, at most {longest}"
        raise ValueError(f"{argument}={value!r} {rule}.")
    return value


class EngineStore(ABC):
    """Base of the stores on a database engine; a subclass writes the ten abstract methods, which have an underscore.

    They get what is checked already: packed codes, ids of one kind, none of them twice. All but ``_connect``,
    ``_description`` and ``_create`` are called only if the table is there. ``_create``, ``_insert`` and ``_delete`` are
    within ``_transaction``, which an engine with transactions overrides.

    Parameters
    ----------
    address : the file, folder, server or database, in the form that the engine knows.
    table : letters, digits and underscores.
    n_bits : width of the codes; needed if the table does not exist yet.
    token : for servers that require one.
    model : fingerprint of the model that makes the codes; kept with a new table, compared with that of an old one.
    any_model : accept a table that does not say which model made its codes.
    """

    longest_name = 255
    """Longest name of a table."""
    on_disk = False
    """Whether an address without ``://`` is a file or folder, which the engine makes if it is missing."""
    refused: tuple[re.Pattern[str], str] | None = None
    """What ids of text must not contain, as a pattern and in words."""
    n_bits: int
    model: str | None
    _engine: Any = None
    _kind: IdKind | None = None

    def __init__(
        self,
        address: PathLike,
        table: str,
        n_bits: int | None = None,
        *,
        token: str = "",
        model: str | None = None,
        any_model: bool = False,
    ) -> None:
        self.table, place = check_name("table", table, self.longest_name), os.fspath(address)
        if self.on_disk and "://" not in place:
            if not Path(place).absolute().parent.is_dir():
                raise ValueError(f"address={place!r}: the folder {str(Path(place).parent)!r} does not exist.")
            if n_bits is None and not Path(place).exists():  # nothing is left behind
                raise ValueError(f"n_bits=None: {place!r} does not exist yet, so n_bits is needed.")
        try:
            self._connect(place, token)
            self._agree(n_bits, check_fingerprint(model), any_model)
        except BaseException:
            self.close()
            raise

    def _agree(self, n_bits: int | None, model: str | None, any_model: bool) -> None:
        """Take width, kind of ids and model from the table, if there is one, else from what is given."""
        where = f"the table {self.table!r}"
        text = self._description()
        if text is None:
            if n_bits is None:
                raise ValueError(f"n_bits=None: {where} does not exist yet, so n_bits is needed.")
            n_bytes(n_bits)
            self.n_bits, self.model = n_bits, model
            return
        about = read_description(text, where, n_bits)
        if model is not None:
            check_same_model((where, about.model), ("model", model), any_model=any_model)
        self.n_bits, self.model = about.n_bits, about.model
        self._kind = "string" if about.more.get("ids") == "string" else "int64"

    @property
    def id_kind(self) -> IdKind | None:
        """``"int64"`` or ``"string"``; None until codes are stored."""
        if self._kind is None:  # another process may have made the table since
            self._agree(self.n_bits, self.model, any_model=False)
        return self._kind

    def add(self, codes: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> Array:
        """Add codes under ids (None: numbered on), all of them or none, and return the ids.

        The first codes make the table, for ids of their kind.
        """
        before, packed = self._kind, check_codes(codes, n_bits=self.n_bits)
        try:
            with self._transaction():
                if ids is None:
                    checked = number_on(len(packed), self.id_kind, lambda: self._largest_id() + 1)
                else:
                    checked = self._checked(ids, length=len(packed), unique=True)
                if len(packed) == 0:
                    return checked
                if self._kind is None:
                    kind = id_kind(checked)
                    self._create(kind, describe_codes(self.n_bits, self.model, ids=kind))
                    self._kind = kind
                for item in self._found(checked):
                    raise ValueError(f"ids={item!r} is in the table {self.table!r} already; remove it first.")
                self._insert(checked, packed)
        except BaseException:
            self._kind = before
            raise
        return checked

    def remove(self, ids: npt.ArrayLike) -> None:
        """Remove the codes of ``ids``. An unknown id raises a ``KeyError``, and nothing is removed."""
        with self._transaction():
            checked = self._checked(ids, unique=True)
            self._check_present(checked, self._found(checked))
            if len(checked):
                self._delete(checked)

    def search(self, codes: npt.ArrayLike, k: int = 10) -> Neighbours:
        """Return the ``k`` nearest items of each query code, exactly, by (distance, insertion)."""
        queries, k = check_codes(codes, n_bits=self.n_bits), min(check_integer("k", k, 1), 2**62)
        found = [[] for _ in queries] if self.id_kind is None else self._nearest(queries, k)
        width = min((len(hits) for hits in found), default=0)
        distances = np.array([[round(hit[0]) for hit in hits[:width]] for hits in found], dtype=np.int32)
        ids: Array = np.empty((len(found), width), dtype=object if self._kind == "string" else np.int64)
        for row, hits in zip(ids, found, strict=True):
            row[:] = [hit[2] for hit in hits[:width]]
        return Neighbours(distances.reshape(ids.shape), ids)

    def get_codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of ``ids``; an unknown id raises a ``KeyError`` that names it."""
        checked = self._checked(ids)
        found = self._found(checked)
        self._check_present(checked, found)
        codes = np.array([found[item] for item in checked.tolist()], dtype=np.uint8)
        return codes.reshape(-1, n_bytes(self.n_bits))

    def __len__(self) -> int:
        return 0 if self.id_kind is None else self._count()

    def __iter__(self) -> Iterator[tuple[Id, Codes]]:
        return iter(()) if self.id_kind is None else self._rows()

    def close(self) -> None:
        """Close the connection."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _checked(self, ids: npt.ArrayLike, **rules: Any) -> Array:
        checked = check_ids(ids, kind=self.id_kind, **rules)
        if self.refused is not None and id_kind(checked) == "string":
            for item in checked:
                if self.refused[0].search(item):
                    raise ValueError(f"ids={item!r} has {self.refused[1]}, which this store does not take.")
        return checked

    def _check_present(self, ids: Array, found: Container[Id]) -> None:
        for item in ids.tolist():
            if item not in found:
                raise KeyError(f"ids={item!r} is not in the table {self.table!r}.")

    def _found(self, ids: Array) -> dict[Id, Codes]:
        """Return the codes of those of the ids that are stored."""
        if self.id_kind is None:
            return {}
        batches = (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
        return {item: code for batch in batches for item, code in self._find(batch)}

    @abstractmethod
    def _connect(self, address: str, token: str) -> None:
        """Set ``_engine`` to what ``close`` closes."""

    @abstractmethod
    def _description(self) -> str | bytes | None:
        """Return the text that ``_create`` kept with the table; None if there is no table, "" if it has no text."""

    @abstractmethod
    def _create(self, kind: IdKind, about: str) -> None:
        """Make the table for ids of a kind, and keep the text ``about`` with it: ASCII without a single quote."""

    @abstractmethod
    def _insert(self, ids: Array, codes: Codes) -> None:
        """Add new ids after those that are there."""

    @abstractmethod
    def _delete(self, ids: Array) -> None:
        """Remove ids, all of which are there."""

    @abstractmethod
    def _find(self, ids: Array) -> Iterable[tuple[Id, Codes]]:
        """Return (id, code) of those of at most 5,000 ids that are there."""

    @abstractmethod
    def _nearest(self, queries: Codes, k: int) -> list[list[Hit]]:
        """Return the ``k`` nearest of each query by (distance, position), or all; ``k`` is at most 2^62."""

    @abstractmethod
    def _rows(self) -> Iterator[tuple[Id, Codes]]:
        """Iterate over (id, code) in the order of insertion."""

    @abstractmethod
    def _count(self) -> int:
        """Return the number of items."""

    @abstractmethod
    def _largest_id(self) -> int:
        """Return the largest id, or anything below 0 if none is 0 or larger."""

    def _transaction(self) -> AbstractContextManager[object]:
        """Keep other writers out, and undo everything if there is an error, as far as the engine can."""
        return nullcontext()
