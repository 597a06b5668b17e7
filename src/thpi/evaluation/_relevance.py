"""Ground truth: which database rows are relevant to a query, by distance or by class.

Distances are Euclidean, in float64, of dense or scipy sparse rows. Blocks are first computed as
``|a|^2 + |b|^2 - 2 a.b``, which is fast but inaccurate for close rows. Every pair whose relevance this rounding could
change is computed again from the difference a - b, so the results are those of the direct formula at nearly the cost of
the fast one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

from thpi._types import Array, Bools, Floats, InMemory, Ints, MatrixLike, Seed, is_sparse

_BLOCK_PAIRS = 2**22  # pairs processed at a time
_DIRECT_NUMBERS = 2**20  # numbers of gathered rows when pairs are computed directly


def radius_relevance(
    queries: MatrixLike, database: MatrixLike, threshold: float, *, sparse_output: bool = False
) -> Bools | sparse.csr_array:
    """Mark the database rows at Euclidean distance strictly below ``threshold``.

    Returns a dense boolean array or, with ``sparse_output``, a scipy sparse one.

    >>> radius_relevance([[0.0]], [[0.5], [1.0], [2.0]], threshold=1.0)
    array([[ True, False, False]])
    """
    if not 0 <= threshold < np.inf:
        raise ValueError(f"threshold={threshold!r} must be finite and >= 0.")
    a, b = _check_pair(queries, database)

    def select(rows: slice, squared: Floats, error: Floats) -> Bools:
        relevant = np.asarray(squared < threshold**2)
        # Twice the bound, because squaring the threshold rounds as well.
        i, j = np.nonzero(np.abs(squared - threshold**2) <= 2 * error)
        relevant[i, j] = np.sqrt(_direct_squared(a[rows], b, i, j)) < threshold
        return relevant

    return _stack((select(*block) for block in _squared_blocks(a, b)), sparse_output)


def nearest_relevance(
    queries: MatrixLike, database: MatrixLike, k: int, *, sparse_output: bool = False
) -> Bools | sparse.csr_array:
    """Mark the ``k`` nearest database rows and all rows tied with the k-th.

    A query may thus have more than ``k`` relevant rows; the order of the database makes no difference.

    >>> nearest_relevance([[0.0]], [[1.0], [-1.0], [2.0]], k=1)
    array([[ True,  True, False]])
    """
    a, b = _check_pair(queries, database)
    if not 1 <= k <= b.shape[0]:
        raise ValueError(f"k={k!r} must be between 1 and the number of database rows, {b.shape[0]}.")

    def select(rows: slice, squared: Floats, error: Floats) -> Bools:
        relevant = np.zeros(squared.shape, dtype=np.bool_)
        for i, j, exact in _nearest(a[rows], b, squared, error, k):
            relevant[i, j[exact <= np.partition(exact, k - 1)[k - 1]]] = True
        return relevant

    return _stack((select(*block) for block in _squared_blocks(a, b)), sparse_output)


def neighbour_radius(
    train: MatrixLike, *, k: int = 50, n_sample: int | None = None, random_state: Seed = None
) -> float:
    """Mean distance from rows to their ``k``-th neighbour among the others: the radius for :func:`radius_relevance`.

    The mean is over at most ``n_sample`` rows, drawn without replacement, or over all.

    >>> neighbour_radius([[0.0], [1.0], [3.0]], k=1)
    1.3333333333333333
    """
    if n_sample is not None and n_sample < 1:
        raise ValueError(f"n_sample={n_sample!r} must be a positive integer or None.")
    x = _check_matrix("train", train)
    n = x.shape[0]
    if not 1 <= k < n:
        raise ValueError(f"k={k!r} must be at least 1 and less than the number of rows; train has {n} rows.")
    sample = x
    if n_sample is not None and n_sample < n:
        sample = x[np.sort(check_random_state(random_state).choice(n, size=n_sample, replace=False))]
    distances = [
        np.sqrt(np.partition(exact, k)[k])  # the row itself is the first
        for block, squared, error in _squared_blocks(sample, x)
        for _, _, exact in _nearest(sample[block], x, squared, error, k + 1)
    ]
    return float(np.mean(distances))


def label_relevance(query_labels: npt.ArrayLike, database_labels: npt.ArrayLike) -> Bools:
    """Mark the database rows with the label of the query.

    >>> label_relevance(["a"], ["b", "a", "a"])
    array([[False,  True,  True]])
    """
    left, right = np.asarray(query_labels), np.asarray(database_labels)
    for name, labels in (("query_labels", left), ("database_labels", right)):
        if labels.ndim != 1:
            raise ValueError(f"{name} must be 1-D, one label per row, got shape {labels.shape}.")
    return np.asarray(left[:, None] == right, dtype=np.bool_)


def multilabel_relevance(
    query_tags: MatrixLike, database_tags: MatrixLike, *, graded: bool = False
) -> Array | sparse.csr_array:
    """Mark the database rows that share at least one tag with the query or, if ``graded``, count the shared tags.

    Tags are indicator matrices with one row per item and one column per tag; nonzero means that the item has the tag.
    Returns booleans or int32 counts, as a sparse array if either input is scipy sparse.

    >>> multilabel_relevance([[1, 1, 0]], [[1, 1, 1], [0, 0, 1]], graded=True)
    array([[2, 0]], dtype=int32)
    """
    a, b = (t if is_sparse(t) else np.asarray(t) for t in (query_tags, database_tags))
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[1]:
        shapes = f"query_tags has shape {a.shape} and database_tags {b.shape}"
        raise ValueError(f"{shapes}; both must be 2-D with the same columns.")
    if is_sparse(a) or is_sparse(b):
        rows, columns = (sparse.csr_array(sparse.csr_array(t) != 0).astype(np.int32) for t in (a, b))
        shared = sparse.csr_array(rows @ columns.T)
        return shared if graded else shared.astype(np.bool_)
    # Counts of tags are small integers, exact in float32, which has the fastest product.
    left, right = ((np.asarray(t) != 0).astype(np.float32) for t in (a, b))
    answer: Array = np.empty((len(left), len(right)), dtype=np.int32 if graded else np.bool_)
    for rows in _row_blocks(len(left), len(right)):
        answer[rows] = left[rows] @ right.T
    return answer


def _check_matrix(name: str, rows: MatrixLike) -> InMemory:
    array: InMemory = (sparse.csr_array(rows) if is_sparse(rows) else np.asarray(rows)).astype(np.float64)
    if len(array.shape) != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be 2-D with at least one row and column, got shape {array.shape}.")
    if not np.isfinite(array.data if is_sparse(array) else np.asarray(array)).all():
        raise ValueError(f"{name} must hold finite numbers only.")
    return array


def _check_pair(queries: MatrixLike, database: MatrixLike) -> tuple[InMemory, InMemory]:
    a, b = _check_matrix("queries", queries), _check_matrix("database", database)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"queries has {a.shape[1]} columns and database {b.shape[1]}; they must agree.")
    if is_sparse(a) != is_sparse(b):
        return sparse.csr_array(a), sparse.csr_array(b)
    return a, b


def _row_blocks(n: int, m: int) -> Iterator[slice]:
    size = max(1, _BLOCK_PAIRS // max(1, m))
    yield from (slice(start, min(start + size, n)) for start in range(0, n, size))


def _row_squares(x: InMemory) -> Floats:
    if is_sparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    dense = np.asarray(x)
    return np.asarray(np.einsum("ij,ij->i", dense, dense), dtype=np.float64)


def _squared_blocks(a: InMemory, b: InMemory) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield blocks of squared distances in the fast form, each with a bound on its rounding error.

    Each of the three terms is a sum of d products, with an error of at most about d eps (|a|^2 + |b|^2).
    """
    a2, b2 = _row_squares(a), _row_squares(b)
    unit = 4 * (a.shape[1] + 4) * np.finfo(np.float64).eps
    for rows in _row_blocks(a.shape[0], b.shape[0]):
        product = a[rows] @ b.T
        dense: Floats = product.toarray() if is_sparse(product) else product
        sums = a2[rows, None] + b2
        yield rows, sums - 2 * dense, unit * sums


def _direct_squared(a: InMemory, b: InMemory, i: Ints, j: Ints) -> Floats:
    """Squared distances of the pairs of rows ``(a[i], b[j])`` from their differences."""
    width = max(1, b.nnz // b.shape[0]) if is_sparse(b) else b.shape[1]
    step = max(1, _DIRECT_NUMBERS // width)
    parts = [_row_squares(a[i[s : s + step]] - b[j[s : s + step]]) for s in range(0, len(i), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _nearest(a: InMemory, b: InMemory, squared: Floats, error: Floats, k: int) -> Iterator[tuple[int, Ints, Floats]]:
    """Yield for each row of ``a`` all rows of ``b`` that may be among its ``k`` nearest, with direct distances."""
    # The k-th smallest upper bound limits the k-th distance; rows whose lower bound exceeds it are out.
    reach = np.partition(squared + error, k - 1, axis=1)[:, k - 1]
    for row in range(len(squared)):
        j = np.flatnonzero(squared[row] - error[row] <= reach[row])
        yield row, j, _direct_squared(a, b, np.full(len(j), row), j)


def _stack(blocks: Iterator[Bools], sparse_output: bool) -> Bools | sparse.csr_array:
    if sparse_output:
        return sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    return np.concatenate(list(blocks))
