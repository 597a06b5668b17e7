"""Relevance of database rows to queries, in blocks of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thpi._types import Array, InMemory, is_sparse

RowBlock: TypeAlias = "npt.ArrayLike | InMemory"
Relevance: TypeAlias = "RowBlock | Callable[[int, int], RowBlock]"
"""A dense array or a scipy sparse matrix (n_queries x n_database), or a function (start, stop) -> block."""


def relevance_blocks(relevance: Relevance, n_queries: int, n_database: int) -> Callable[[int, int], Array]:
    """Turn any form of relevance into a function ``(start, stop) -> dense block`` of those queries.

    Relevance is a dense array or a scipy sparse matrix of shape ``(n_queries, n_database)``, or a function
    ``relevance(start, stop)`` that returns the rows of queries ``start..stop-1``, for data where the whole matrix
    is too large. Values are True/False or nonnegative grades; a row is relevant if its grade is above 0.

    >>> block = relevance_blocks(lambda start, stop: [[True, False, True]] * (stop - start), 5, 3)
    >>> block(0, 2)
    array([[ True, False,  True],
           [ True, False,  True]])
    """
    if callable(relevance):
        rows = relevance
    else:
        matrix: InMemory = relevance.tocsr() if is_sparse(relevance) else np.asarray(relevance)
        if matrix.shape != (n_queries, n_database):
            raise ValueError(
                f"relevance has shape {matrix.shape}; {n_queries} queries and {n_database} database rows "
                f"need shape {(n_queries, n_database)}."
            )

        def rows(start: int, stop: int) -> InMemory:
            return matrix[start:stop]  # type: ignore[no-any-return]

    return lambda start, stop: _check_block(rows(start, stop), (stop - start, n_database))


def _check_block(rows: RowBlock, shape: tuple[int, int]) -> Array:
    block: Array = rows.toarray() if is_sparse(rows) else np.asarray(rows)
    if block.shape != shape:
        raise ValueError(f"relevance gave a block of shape {block.shape}; it must be {shape}.")
    if block.dtype.kind not in "biuf":
        raise ValueError(f"relevance must be boolean or real numbers, got dtype {block.dtype}.")
    # Written so that NaN is refused as well.
    if block.dtype.kind in "if" and not ((block >= 0) & (block < np.inf)).all():
        raise ValueError("relevance grades must be finite and nonnegative.")
    return block
