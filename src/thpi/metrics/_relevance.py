"""Relevance of database rows to queries, handed out in blocks of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

Block: TypeAlias = npt.NDArray[Any]
BlockProvider: TypeAlias = Callable[[int, int], Block]
# A dense array or a scipy sparse matrix (n_queries x n_database), or a callable (start, stop) -> block.
Relevance: TypeAlias = Any


def relevance_blocks(relevance: Relevance, n_queries: int, n_database: int) -> BlockProvider:
    """Turn any form of relevance into a function ``(start, stop) -> dense block`` of those queries.

    Three forms are read: a dense array or a scipy sparse matrix of shape ``(n_queries, n_database)``, or a
    callable ``relevance(start, stop)`` giving the rows of queries ``start..stop-1``. The callable is the form
    that stays small when ``n_queries * n_database`` bytes are too many. Values are True/False or nonnegative
    grades; a row is relevant where its grade is above 0.

    >>> block = relevance_blocks(lambda start, stop: [[True, False, True]] * (stop - start), 5, 3)
    >>> block(0, 2)
    array([[ True, False,  True],
           [ True, False,  True]])
    """
    if callable(relevance):
        rows: Callable[[int, int], Any] = relevance
    else:
        matrix: Any = relevance.tocsr() if sparse.issparse(relevance) else np.asarray(relevance)
        if matrix.shape != (n_queries, n_database):
            raise ValueError(
                f"relevance has shape {matrix.shape}; {n_queries} queries and {n_database} database rows "
                f"need shape {(n_queries, n_database)}."
            )

        def rows(start: int, stop: int) -> Any:
            return matrix[start:stop]

    def block(start: int, stop: int) -> Block:
        return _check_block(rows(start, stop), (stop - start, n_database))

    return block


def _check_block(rows: Any, shape: tuple[int, int]) -> Block:
    block: Block = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if block.shape != shape:
        raise ValueError(f"relevance gave a block of shape {block.shape}; it must be {shape}.")
    if block.dtype.kind not in "biuf":
        raise ValueError(f"relevance must be boolean or real numbers, got dtype {block.dtype}.")
    # "not all fine" rather than "any wrong", so that NaN is refused as well.
    if block.dtype.kind in "if" and not ((block >= 0) & (block < np.inf)).all():
        raise ValueError("relevance grades must be finite and nonnegative.")
    return block
