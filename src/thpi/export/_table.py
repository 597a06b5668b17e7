"""Codes with their ids, and what is kept beside them: the width, the bit order and the model that made them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index import check_ids

Id: TypeAlias = "int | str"

BIT_ORDER = "little"
VERSION = 1  # of what files of codes say about themselves


def describe_codes(n_bits: int, model: str | None, **more: int | str) -> str:
    """Return the JSON text that every file and table of codes keeps beside them.

    >>> describe_codes(64, None)
    '{"format": "thpi-codes", "version": 1, "n_bits": 64, "bit_order": "little", "model": null}'
    """
    about: dict[str, int | str | None] = {"format": "thpi-codes", "version": VERSION, "n_bits": n_bits}
    return json.dumps({**about, "bit_order": BIT_ORDER, "model": check_fingerprint(model), **more})


class Description(NamedTuple):
    """What :func:`describe_codes` wrote; ``more`` is the whole object."""

    n_bits: int
    model: str | None
    more: dict[str, object]


def read_description(text: str | bytes, where: str, n_bits: int | None = None) -> Description:
    """Read the text of :func:`describe_codes`; ``n_bits``, if given, must be the width. ``where`` is for messages."""
    try:
        about = json.loads(text)
        stored, order, model = int(about["n_bits"]), about["bit_order"], check_fingerprint(about.get("model"))
        n_bytes(stored)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{where} has no readable description of codes ({error}).") from None
    if order != BIT_ORDER:
        raise ValueError(f"{where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
    if n_bits not in (None, stored):
        raise ValueError(f"n_bits={n_bits!r} was given, but {where} holds codes of {stored} bits.")
    return Description(stored, model, about)


class CodeTable(NamedTuple):
    """Codes and ids read from a file, and the fingerprint of the model that made them, if the file has one.

    Iterate ``rows()`` to add them to a store.
    """

    codes: Codes
    ids: Array
    n_bits: int
    model: str | None = None

    @classmethod
    def checked(
        cls, codes: npt.ArrayLike, ids: npt.ArrayLike | None, n_bits: int, model: str | None = None
    ) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique."""
        packed = check_codes(codes, n_bits=n_bits)
        given = np.arange(len(packed)) if ids is None else ids
        return cls(packed, check_ids(given, length=len(packed), unique=True), n_bits, check_fingerprint(model))

    def rows(self) -> Iterator[tuple[Id, Codes]]:
        """Iterate over (id, code) in order."""
        return zip(self.ids, self.codes, strict=True)


@dataclass(frozen=True)
class FileFormat:
    """The registry entry of a kind of file that holds codes, recognised by its ``suffix`` or first bytes.

    ``read(path, n_bits)`` needs ``n_bits`` only if the file does not contain it; the other function is
    ``write(path, codes, n_bits, ids, model)``.
    """

    name: str
    description: str
    suffix: str
    signatures: tuple[bytes, ...]
    read: Callable[[PathLike, int | None], CodeTable]
    write: Callable[[PathLike, npt.ArrayLike, int, npt.ArrayLike | None, str | None], None]
    extra: str | None = None
