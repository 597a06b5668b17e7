"""Products of a sparse matrix with a dense one, by the compiled kernel if its import pays off, else by scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from thpi._types import Array
from thpi.kernels import pays_off
from thpi.solvers.blocks import take_block

__all__ = ["row_products"]

# Terms of a product that take as long as the comparison of two words.
_TERMS_PER_WORD = 2


def row_products(A: sparse.csr_array, Y: Array, *, n_products: int = 1) -> Callable[[slice, Array], None]:
    """Return a function that writes some rows of ``A Y`` into an array; both ways give the same bits.

    ``A`` has the dtype of ``Y``. ``n_products`` is how many products of this size the caller expects to make.

    >>> out = np.empty((1, 1))
    >>> row_products(sparse.csr_array(np.diag([1.0, 3.0])), np.array([[2.0], [5.0]]))(slice(1, 2), out)
    >>> out
    array([[15.]])
    """
    if not pays_off(n_products * A.nnz * Y.shape[1] // _TERMS_PER_WORD):
        return lambda rows, out: np.copyto(out, take_block(A, rows) @ Y)
    from thpi.kernels.sparse_product import product

    return lambda rows, out: product(A.indptr[rows.start : rows.stop + 1], A.indices, A.data, Y, out)
