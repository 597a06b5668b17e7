"""Which model made which codes: fingerprints of hash functions, and one comparison of them.

Distances between codes of two models mean nothing, so codes carry the fingerprint of the model that made them.

The fingerprint is the first 16 hexadecimal digits of a sha256 over the hash function alone: the number of bits, and
the fitted attributes that decide codes, by name. Neither the class nor the training rows are in it. Arrays enter with
their name, type, shape and bytes (little-endian, in C order), sparse matrices as compressed rows with 64-bit indices,
numbers as 64-bit floats.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from thpi._types import Array

__all__ = ["ModelMismatchError", "check_fingerprint", "check_same_model", "fingerprint"]

_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


class ModelMismatchError(ValueError):
    """Codes of one model meet another model, or a model that they cannot be compared with."""


def fingerprint(n_bits: int, parts: Mapping[str, Any]) -> str:
    """Return the fingerprint of a hash function: ``parts`` are its fitted attributes by name.

    >>> fingerprint(1, {"mean_": np.zeros(2), "projection_": np.ones((2, 1))})
    'c4e8709f0e821f23'
    """
    digest = hashlib.sha256(f"thpi-hash-function {n_bits}".encode())
    for name, value in sorted(parts.items()):
        for part, any_order in _arrays(value):
            array = any_order.astype(any_order.dtype.newbyteorder("<"), copy=False)
            digest.update(f"\0{name}{part}\0{array.dtype.str}\0{array.shape}\0".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _arrays(value: Any) -> Iterator[tuple[str, Array]]:
    if hasattr(value, "tocsr"):
        matrix = value.tocsr().copy()
        matrix.sum_duplicates()  # sorts the indices, too: one form for one matrix
        yield ".shape", np.array(matrix.shape, dtype=np.int64)
        yield ".indptr", matrix.indptr.astype(np.int64)
        yield ".indices", matrix.indices.astype(np.int64)
        yield ".data", matrix.data
    else:
        # A number is read from a model file as a 64-bit float, whatever it was before.
        yield "", np.asarray(value) if np.ndim(value) else np.array(value, dtype=np.float64)


def check_fingerprint(model: object) -> str | None:
    """Return ``model`` if it is a fingerprint or None, else raise ``ValueError``."""
    if model is None or (isinstance(model, str) and _FINGERPRINT.fullmatch(model)):
        return model
    raise ValueError(f"model={model!r} must be a fingerprint (hasher.fingerprint_: 16 hexadecimal digits) or None.")


def check_same_model(one: tuple[str, str | None], other: tuple[str, str | None]) -> None:
    """Raise ``ModelMismatchError`` unless both are of one model; each is a description and a fingerprint.

    None means that it is not known which model made the codes, and matches only None.

    >>> check_same_model(("the index", "c4e8709f0e821f23"), ("the query", "c4e8709f0e821f23"))
    >>> check_same_model(("the index", "c4e8709f0e821f23"), ("the query", "0d1f6f3f1c8e9b7a"))
    Traceback (most recent call last):
        ...
    thpi.identity.ModelMismatchError: the index is of model c4e8709f0e821f23, but the query is of model \
0d1f6f3f1c8e9b7a: ...
    """
    if one[1] == other[1]:
        return
    known, unknown = (one, other) if one[1] is not None else (other, one)
    if unknown[1] is None:
        text = f"{unknown[0]} does not say which model made its codes; {known[0]} is of model {known[1]}"
    else:
        text = f"{one[0]} is of model {one[1]}, but {other[0]} is of model {other[1]}: distances between codes of two"
        text += f" models mean nothing. Use the model {one[1]}, or encode the rows again with one model"
    raise ModelMismatchError(f"{text}.")
