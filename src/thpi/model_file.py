"""Model files: a safetensors file with a versioned JSON header in its metadata.

Any safetensors reader can open it; arrays keep the names of the fitted attributes, and the parts of sparse matrices are
arrays ``name.data``, ``.indices`` and ``.indptr``. The metadata entry ``thpi`` is a JSON object (docs/reference/
file-formats.md), of which ``sha256`` is the digest: of the rest of it (keys sorted) and of the sorted arrays (name,
dtype, shape, bytes). Saving a model twice gives the same bytes. Nothing that is read is executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from thpi._types import Array, PathLike, is_sparse

if TYPE_CHECKING:
    from thpi.base import BaseHasher

__all__ = ["Contents", "ModelFileError", "encode", "load", "read", "save"]

Header: TypeAlias = "dict[str, Any]"  # the JSON object
FORMAT, VERSION = "thpi-model", 1
_FITTED_NAME = re.compile(r"[a-z][a-z0-9_]*_")
_SPARSE_PARTS = ("data", "indices", "indptr")
# Errors that damaged bytes cause while they are parsed.
_UNREADABLE = (ValueError, TypeError, AttributeError, RecursionError, OverflowError, MemoryError)


class ModelFileError(ValueError):
    """The file is not a complete, unaltered thpi model."""


class _Model(Protocol):
    """What can be saved: an estimator whose fitted attributes end with an underscore."""

    @property
    def hash_name(self) -> str | None: ...

    def get_params(self) -> dict[str, Any]: ...


def save(hasher: _Model, path: PathLike) -> None:
    """Write a fitted hasher to ``path``, replacing an existing file in one step."""
    from thpi._files import atomic_write

    atomic_write(path, encode(hasher))


def encode(hasher: _Model) -> bytes:
    """Return the bytes of the file that :func:`save` writes."""
    from safetensors.numpy import save as to_bytes

    from thpi import __version__

    arrays: dict[str, Array] = {}
    scalars: dict[str, object] = {}
    shapes: dict[str, list[int]] = {}
    for name, value in vars(hasher).items():
        if not _FITTED_NAME.fullmatch(name):
            continue
        if is_sparse(value):
            matrix = value.tocsr()
            shapes[name] = list(matrix.shape)
            arrays |= {f"{name}.{part}": np.ascontiguousarray(getattr(matrix, part)) for part in _SPARSE_PARTS}
        elif isinstance(value, np.ndarray) and value.dtype != object:
            arrays[name] = np.ascontiguousarray(value)
        else:
            scalars[name] = _plain(value)
    parameters = hasher.get_params()
    if not isinstance(parameters.get("random_state", 0), (int, np.integer)):
        parameters["random_state"] = None
    header = {"format": FORMAT, "version": VERSION, "thpi": __version__, "class": type(hasher).__name__}
    header |= {"params": {name: _plain(value) for name, value in parameters.items()}, "hash": hasher.hash_name}
    header |= {"scalars": scalars, "sparse": shapes}
    header["sha256"] = _digest(header, arrays)
    # A single metadata entry, because safetensors writes several in a random order.
    return bytes(to_bytes(arrays, metadata={"thpi": json.dumps(header, sort_keys=True)}))


def load(source: PathLike | bytes, methods: Mapping[str, type[BaseHasher]]) -> BaseHasher:
    """Read a fitted hasher from a file, or from its bytes; ``methods`` are those it may be, by name."""
    contents = read(source)
    name = contents.method
    with usable(source, name):
        params = contents.header["params"]
        if name not in methods:
            raise ModelFileError(f"it holds a {repr(name)[:80]}; this thpi knows {', '.join(methods)}.")
        if gone := sorted(set(params) - set(methods[name]().get_params())):
            before = f"thpi {contents.header['thpi']} wrote it, whose {name} had a parameter {repr(gone[0])[:80]}"
            raise ModelFileError(f"{before} that this one has not. Fit it again.")
        hasher = methods[name](**params)
        hasher._validate_params()
        hasher.__dict__.update(contents.fitted())
        hasher.check_fitted()
        return hasher


class Contents(NamedTuple):
    """What a model file holds: the JSON object and the arrays."""

    header: Header
    arrays: dict[str, Array]

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.header.get("class"))

    def fitted(self, sparse_ones: Container[str] | None = None) -> dict[str, Any]:
        """Return the fitted attributes; of the sparse matrices, which need scipy, only some if they are named."""
        fitted: dict[str, Any] = dict(self.header["scalars"])
        arrays = dict(self.arrays)
        for key, shape in self.header["sparse"].items():
            parts = tuple(arrays.pop(f"{key}.{part}") for part in _SPARSE_PARTS)
            if sparse_ones is None or key in sparse_ones:
                from scipy.sparse import csr_matrix

                matrix = csr_matrix(parts, shape=tuple(shape))
                matrix.check_format(full_check=True)
                fitted[key] = matrix
        fitted |= arrays
        if unknown := [key for key in fitted if not _FITTED_NAME.fullmatch(key)]:
            raise ModelFileError(f"it has an entry {unknown[0]!r} that no model has.")
        if "feature_names_in_" in fitted:
            fitted["feature_names_in_"] = np.array(fitted["feature_names_in_"], dtype=object)
        if "objective_" in fitted and not isinstance(fitted["objective_"], np.ndarray):
            raise ModelFileError("its objective_ is not an array.")
        return fitted


def read(source: PathLike | bytes) -> Contents:
    """Read and check a model file, or its bytes, without making an estimator of it."""
    with usable(source):
        return _parsed(source)


@contextmanager
def usable(source: PathLike | bytes, method: str = "model") -> Iterator[None]:
    """Turn what is wrong with the content of a file into a ``ModelFileError`` that names the file."""
    try:
        yield
    except (KeyError, *_UNREADABLE) as error:
        name = "the model of a collection" if isinstance(source, bytes) else repr(os.fspath(source))
        what = error if isinstance(error, ModelFileError) else f"its content is not that of a {method} ({error})."
        raise ModelFileError(f"{name} is not a usable thpi model file: {what}") from None


def _parsed(source: PathLike | bytes) -> Contents:
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load as from_bytes

    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
        try:
            if not isinstance(source, bytes):
                with safe_open(source, framework="np"):  # it is as long as its header says: another is not read
                    pass
            arrays = from_bytes(data := file.read())
            length = int.from_bytes(data[:8], "little")
            header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["thpi"])
        except KeyError:
            raise ModelFileError("it is a safetensors file, but thpi did not write it.") from None
        except (SafetensorError, OSError, *_UNREADABLE) as error:
            raise ModelFileError(f"it is truncated, altered or of another format ({error}).") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("it is a safetensors file, but not a thpi model.")
    if header.get("version") != VERSION:
        raise ModelFileError(f"it has version {header.get('version')!r}; this thpi reads version {VERSION}.")
    if header.pop("sha256", None) != _digest(header, arrays):
        raise ModelFileError("its checksum does not match: the file was altered or damaged.")
    for key, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"its array {key} holds a NaN or an infinity.")
    return Contents(header, arrays)


def _digest(header: Header, arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode("utf-8"))
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
