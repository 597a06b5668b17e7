"""Coding rows with the hash function of a model file, without the method that learned it: numpy is all it needs.

>>> import thpi, thpi.model_file
>>> X = np.random.RandomState(0).standard_normal((20, 5))
>>> encoder = thpi.load_encoder(thpi.model_file.encode(thpi.ITQ(n_bits=4, random_state=0).fit(X)))
>>> encoder, encoder.transform(X).shape
(Encoder of ITQ(n_bits=4), (20, 1))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from thpi._types import Array, Codes, MatrixLike, PathLike, Signs, check_numbers, is_sparse
from thpi.codes import n_bytes, pack_signs, unpack_signs
from thpi.hash_functions import HASH_FUNCTIONS, ITEM_PARTS, LINEAR, ONE_BLOCK, HashFunction
from thpi.identity import fingerprint
from thpi.model_file import Contents, read, usable

if TYPE_CHECKING:
    from typing_extensions import Self

    from thpi.base import BaseHasher
    from thpi.rows import Rows

__all__ = ["Coding", "Encoder", "OneSidedError", "SourceSide", "load_encoder"]

_FLOATS = (np.float64, np.float32)


class OneSidedError(ValueError, AttributeError):
    """A one-sided model was asked for its source side; for ``hasattr`` and ``dir`` it has none."""


class Coding(ABC):
    """From rows to codes, for all that have a hash function: methods and encoders."""

    n_bits: int
    n_features_in_: int
    side: ClassVar[str] = "target"
    """Which rows are coded, target or source; codes of both sides of a model are in one space."""
    _rows_name: ClassVar[str] = "X"

    @property
    @abstractmethod
    def method_name(self) -> str:
        """Name of the method in the registry."""

    @property
    @abstractmethod
    def fingerprint_(self) -> str:
        """Identity of the hash function, 16 hexadecimal digits: codes carry it; see :mod:`thpi.identity`."""

    @property
    @abstractmethod
    def hash_name(self) -> str | None:
        """Name of the hash function in model files; None if it is the method's own."""

    @abstractmethod
    def transform(self, X: MatrixLike) -> Codes:
        """Packed codes (uint8), shape (n_samples, ceil(n_bits / 8))."""

    @abstractmethod
    def _project(self, X: Any) -> Array:
        """Return the projections of checked rows."""

    @abstractmethod
    def _check_in_memory(self, X: Any, finite: bool) -> Any:
        """Return new rows, dense or CSR, as float32 or float64; without ``finite``, NaN and infinity pass."""

    def decision_function(self, X: MatrixLike) -> Array:
        """Real-valued projections, one column per bit; their signs are the code. Shape (n_samples, n_bits)."""
        rows = X if self._is_ready(X) else self._check_new(X, finite=False)
        if (streamed := _streamed(rows)) is not None:
            return streamed.map(self.light()._project, self.n_bits, streamed.dtype)  # type: ignore[no-any-return]
        values, finite = self._project_finite(rows)
        if not finite:
            self._check_new(X)
        return values

    @property
    def is_two_sided(self) -> bool:
        """Whether source rows can be coded, too."""
        return set(ITEM_PARTS) <= set(vars(self))

    @property
    def source_side(self) -> SourceSide:
        """What codes source rows, in one space with target rows; ``ValueError`` if the model is one-sided."""
        if not self.is_two_sided:
            advice = "A two-sided model, which codes source rows too, is learned by AutoHasher(sides='auto' or 'two')"
            raise OneSidedError(f"this {self.method_name} codes target rows only. {advice} or TwoSidedITQ.")
        return SourceSide(self)

    def transform_source(self, S: MatrixLike) -> Codes:
        """Packed codes of source rows, comparable with those of target rows; for two-sided models."""
        return self.source_side.transform(S)

    def signs(self, X: MatrixLike) -> Signs:
        """Codes as -1 and +1 (int8), shape (n_samples, n_bits)."""
        return unpack_signs(self._encode(X), self.n_bits)

    def _encode(self, X: Any) -> Codes:
        rows = X if self._is_ready(X) else self._check_new(X, finite=False)
        codes, finite = self._encode_finite(rows)
        if not finite:  # or the numbers are so large that their projections are not finite
            self._check_new(X)
        return codes

    def _is_ready(self, X: Any) -> bool:
        """Whether checks, which take longer than coding a row, would return ``X`` as it is, but for NaN."""
        dense = type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS
        return dense and X.shape[0] > 0 and bool(X.shape[1] == self.n_features_in_)

    def _check_new(self, X: Any, finite: bool = True) -> Any:
        """Check new rows. Without ``finite``, NaN and infinity pass: the projection will show them."""
        if (rows := _streamed(X)) is None:
            return self._check_in_memory(X, finite)
        self._check_columns(rows.n_columns)
        return rows

    def _check_columns(self, found: int) -> None:
        if found != self.n_features_in_:
            raise ValueError(f"{self._rows_name} has {found} columns; the model was fitted on {self.n_features_in_}.")

    def _encode_finite(self, X: Any) -> tuple[Codes, bool]:
        """Return the codes, and whether all projections are finite, which they are if X is."""
        if type(X) is np.ndarray and X.nbytes <= ONE_BLOCK:
            values, finite = self._project_finite(X)
            return pack_signs(values), finite
        if (rows := _streamed(X)) is not None:
            return rows.map(self.light()._encode_block, n_bytes(self.n_bits), np.uint8), True
        from thpi.solvers.blocks import for_blocks, take_block

        # Block by block: the projections of a large collection need not fit into memory, its codes do.
        codes = np.empty((X.shape[0], n_bytes(self.n_bits)), dtype=np.uint8)
        checks = []

        def encode(rows: slice) -> None:
            values, finite = self._project_finite(take_block(X, rows))
            codes[rows] = pack_signs(values)
            checks.append(finite)

        for_blocks(encode, X)
        return codes, all(checks)

    def _project_finite(self, X: Any) -> tuple[Array, bool]:
        """Return the projections, and whether their sum is finite: fewer numbers to look at than all of X."""
        with np.errstate(invalid="ignore", over="ignore"):
            values = self._project(X)
        return values, sums_up(values)

    def _encode_block(self, block: Array) -> Codes:
        """Encode a block of unchecked rows; on a cluster, where the block is."""
        codes, finite = self._encode_finite(block)
        if not finite and not np.isfinite(block).all():
            raise ValueError("X holds NaN or infinity.")
        return codes

    def light(self) -> Self:
        """Return a copy without what belongs to the training rows, to be sent to the workers of a cluster."""
        light = copy(self)
        light.__dict__ = {name: value for name, value in vars(self).items() if name not in ("codes_", "graph_")}
        return light


class _Bare(Coding):
    """A hash function without the method that learned it."""

    def __init__(self, function: HashFunction, method: str) -> None:
        self._function, self._method = function, method

    @property
    def method_name(self) -> str:
        return self._method

    def transform(self, X: MatrixLike) -> Codes:
        """Packed codes (uint8), shape (n_samples, ceil(n_bits / 8)): those of the method, bit by bit."""
        return self._encode(X)

    def _project(self, X: Any) -> Array:
        return self._function.project(X, vars(self))

    @property
    def hash_name(self) -> str:
        return self._function.name

    def _check_in_memory(self, X: Any, finite: bool) -> Any:
        name, given, fitted = self._rows_name, column_names(X), vars(self).get("feature_names_in_")
        if fitted is not None and given is not None and given != list(fitted):
            few = ", ".join(map(str, fitted[:3]))
            raise ValueError(
                f"{name} has other feature names, or another order, than the model was fitted on: {few}, ..."
            )
        X = check_numbers(name, X)
        rows: Any = X.tocsr() if is_sparse(X) else np.asarray(X)
        if len(rows.shape) != 2 or 0 in rows.shape:
            raise ValueError(f"{name} has shape {rows.shape}; it must be 2-D, with one row per item.")
        self._check_columns(rows.shape[1])
        if rows.dtype.kind == "c":
            raise ValueError(f"{name} holds complex numbers; they must be real.")
        try:
            rows = rows if rows.dtype in _FLOATS else rows.astype(np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name} must hold numbers ({error}).") from None
        if finite and not np.isfinite(rows.data if is_sparse(rows) else rows).all():
            raise ValueError(f"{name} holds NaN or infinity.")
        return rows


class Encoder(_Bare):
    """The hash function of a model file; :func:`load_encoder` makes it.

    It has what the file holds, such as ``mean_`` and ``codes_``, except sparse matrices that coding does not need.
    """

    codes_: Codes

    def __init__(self, contents: Contents, function: HashFunction) -> None:
        super().__init__(function, contents.method)
        self._params = dict(contents.header["params"])
        vars(self).update(contents.fitted(sparse_ones=function.shapes))
        self.n_bits = n_bits = self._params["n_bits"]
        if not isinstance(n_bits, int) or n_bits < 1:
            raise ValueError(f"n_bits={n_bits!r} must be a positive integer")
        function.check(vars(self), self.n_features_in_, n_bits)
        if self.is_two_sided:
            self.source_side.check()

    def __repr__(self) -> str:
        return f"Encoder of {self.method_name}(n_bits={self.n_bits})"

    @property
    def fingerprint_(self) -> str:
        """Identity of the hash function, that of the method; see :mod:`thpi.identity`."""
        names = [*self._function.shapes, *(ITEM_PARTS if self.is_two_sided else ())]
        return fingerprint(self.n_bits, {name: vars(self)[name] for name in names})

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the method."""
        return dict(self._params)


class SourceSide(_Bare):
    """The hash function of source rows of a two-sided model; ``source_side`` of the model makes it.

    It has the fingerprint of the model: its codes and those of target rows can be compared.
    """

    side = "source"
    _rows_name = "S"

    def __init__(self, model: Coding) -> None:
        super().__init__(LINEAR, model.method_name)
        self.mean_, self.projection_ = (vars(model)[name] for name in ITEM_PARTS)
        self.n_bits, self.n_features_in_ = model.n_bits, np.shape(self.mean_)[0]
        self._model = model.light()
        if (names := vars(model).get("item_names_")) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __repr__(self) -> str:
        return f"Source side of {self.method_name}(n_bits={self.n_bits})"

    @property
    def fingerprint_(self) -> str:
        """Identity of the two-sided model."""
        return self._model.fingerprint_

    def check(self) -> None:
        """Raise ``ValueError`` unless the parts fit each other."""
        LINEAR.check(vars(self), self.n_features_in_, self.n_bits)


def sums_up(values: Array) -> bool:
    """Whether the sum is finite, which it is not if a number is not; it may overflow, too."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(values.sum()))


def _streamed(X: Any) -> Rows | None:
    """Return ``X`` as rows that are read in blocks, or None if it is a matrix in memory."""
    if type(X) is np.ndarray or isinstance(X, (list, tuple)) or is_sparse(X):
        return None
    from thpi.rows import as_rows

    return as_rows(X)


def column_names(rows: Any) -> list[str] | None:
    """Names of the columns of a table, if all are texts."""
    names = list(getattr(rows, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def load_encoder(path: PathLike | bytes) -> Encoder | BaseHasher:
    """Read the hash function of a model file, or of its bytes: it codes as :func:`thpi.load` does, and loads faster.

    Nothing that learns is imported, unless only the method itself knows the hash function. Raises
    ``FileNotFoundError``, or ``ModelFileError`` if the file is truncated, altered or foreign.
    """
    contents = read(path)
    function = HASH_FUNCTIONS.get(str(contents.header.get("hash")))
    if function is None:
        from thpi import load

        return load(path)
    with usable(path, contents.method):
        return Encoder(contents, function)
