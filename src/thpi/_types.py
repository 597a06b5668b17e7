"""Types shared by the whole package: arrays by content, matrices by what they can do."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # of any type; in solvers, of the type of the data
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
DType: TypeAlias = np.dtype[Any]

Codes: TypeAlias = npt.NDArray[np.uint8]  # packed, one row of ceil(n_bits / 8) bytes per item; see thpi.codes
Words: TypeAlias = npt.NDArray[np.uint64]  # packed codes as rows of 64-bit words
Signs: TypeAlias = npt.NDArray[np.int8]  # codes as -1 and +1
Distances: TypeAlias = npt.NDArray[np.int32]  # Hamming distances

Fitted: TypeAlias = dict[str, Any]  # fitted attributes of an estimator, by name
Constraints: TypeAlias = dict[str, list[Any]]  # what each parameter may be, as scikit-learn checks it
Seed: TypeAlias = "int | np.random.RandomState | None"  # what random_state may be
PathLike: TypeAlias = "str | os.PathLike[str]"


@runtime_checkable
class Matrix(Protocol):
    """Rows of numbers: a dense array, a sparse matrix, or :class:`thpi.rows.Rows` that are read in blocks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""

    @property
    def dtype(self) -> DType:
        """Type of the numbers."""


class InMemory(Matrix, Protocol):
    """A dense array or a sparse matrix: rows can be taken, and multiplied."""

    @property
    def T(self) -> InMemory:
        """The transpose."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Some rows."""

    def __matmul__(self, other: Any, /) -> Any:
        """The matrix product."""

    def astype(self, dtype: npt.DTypeLike, /, *, copy: bool = True) -> InMemory:
        """The same numbers in another type."""


class Sparse(InMemory, Protocol):
    """A scipy sparse matrix or array."""

    data: Array
    nnz: int

    def tocsr(self) -> Sparse:
        """Compressed rows."""

    def toarray(self) -> Array:
        """Dense array."""

    def multiply(self, other: Sparse, /) -> Any:
        """Elementwise product."""


def is_sparse(X: object) -> TypeGuard[Sparse]:
    """Whether ``X`` is a scipy sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")  # who has such a matrix has imported it
    return sparse is not None and bool(sparse.issparse(X))


MatrixLike: TypeAlias = "npt.ArrayLike | Matrix"
"""What a user may pass as rows: whatever numpy makes an array of, a sparse matrix, a data frame, or Rows."""
