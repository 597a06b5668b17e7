"""Products of a sparse matrix with a dense one, by the compiled kernel where its import pays, else by scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi.kernels._payoff import pays_off
from thpi.solvers.blocks import take_block

__all__ = ["row_products"]

Array = npt.NDArray[Any]

# Terms of a product that take as long as the comparison of two words.
_TERMS_A_WORD = 2


def row_products(A: Any, Y: Array) -> Callable[[slice, Array], None]:
    """Give a function that writes some rows of ``A Y`` into an array; both ways give the same bits.

    ``A`` is in CSR form and has the dtype of ``Y``.

    >>> from scipy import sparse
    >>> out = np.empty((1, 1))
    >>> row_products(sparse.csr_array(np.diag([1.0, 3.0])), np.array([[2.0], [5.0]]))(slice(1, 2), out)
    >>> out
    array([[15.]])
    """
    if not pays_off(A.nnz * Y.shape[1] // _TERMS_A_WORD):
        return lambda rows, out: np.copyto(out, take_block(A, rows) @ Y)
    from thpi.kernels.sparse_product import product

    return lambda rows, out: product(A.indptr[rows.start : rows.stop + 1], A.indices, A.data, Y, out)
