"""What is exported: codes with their ids, texts, width, bit order and the model that made them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes
from thpi.codes import check_codes, n_bytes
from thpi.identity import check_fingerprint
from thpi.index import IdsLike, check_ids, id_kind

if TYPE_CHECKING:
    from thpi.collection import Collection

Id: TypeAlias = "int | str"

BIT_ORDER = "little"
VERSION = 1  # of what files and tables of codes say about themselves


class CodeTable(NamedTuple):
    """Codes and ids, and texts of the items if they are wanted; ``model`` is a fingerprint (:mod:`thpi.identity`)."""

    codes: Codes
    ids: Array
    n_bits: int
    model: str | None = None
    texts: list[str | None] | None = None

    @classmethod
    def checked(cls, codes: npt.ArrayLike, ids: IdsLike | None, n_bits: int, model: str | None = None) -> CodeTable:
        """Check codes and ids (None: 0, 1, ...), which must be unique."""
        packed = check_codes(codes, n_bits=n_bits)
        given = np.arange(len(packed)) if ids is None else ids
        return cls(packed, check_ids(given, length=len(packed), unique=True), n_bits, check_fingerprint(model))

    @classmethod
    def of(cls, collection: Collection, *, texts: bool = False) -> CodeTable:
        """Return what a collection holds, in the order in which items were added."""
        ids, codes = collection.ids, collection.index.codes
        known = [collection.details(item).text for item in ids.tolist()] if texts else None
        return cls(codes, ids, collection.n_bits, collection.model, known)

    def description(self, **more: int | str | None) -> str:
        """Return the JSON text that every file and table of codes keeps beside them.

        >>> CodeTable.checked([[5]], ["a"], 3).description()
        '{"format": "thpi-codes", "version": 1, "n_bits": 3, "bit_order": "little", "model": null, "ids": "string"}'
        """
        about = {"format": "thpi-codes", "version": VERSION, "n_bits": self.n_bits, "bit_order": BIT_ORDER}
        return json.dumps(about | {"model": self.model, "ids": id_kind(self.ids)} | more)


def read_description(text: str | bytes, where: str) -> dict[str, Any]:
    """Read the text of :meth:`CodeTable.description`; ``where`` is for messages."""
    try:
        about: dict[str, Any] = json.loads(text)
        order = about["bit_order"]
        n_bytes(int(about["n_bits"]))
        about["model"] = check_fingerprint(about.get("model"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{where} has no readable description of codes ({error}).") from None
    if order != BIT_ORDER:
        raise ValueError(f"{where} has bit order {order!r}; only {BIT_ORDER!r} is known.")
    return about
