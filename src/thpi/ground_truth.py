"""Which database rows are relevant to a query: near in space, or of the same class.

Distances are Euclidean, in float64, for dense arrays and scipy sparse matrices alike. Whole blocks are first
computed as |a|^2 + |b|^2 - 2 a.b, which is fast but loses digits where rows are close. Every pair whose answer
this rounding could change is computed again from the difference a - b, so the answers are those of the direct
formula at nearly the cost of the fast one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state

__all__ = [
    "label_relevance",
    "label_relevance_blocks",
    "multilabel_relevance",
    "nearest_relevance",
    "neighbour_radius",
    "radius_relevance",
]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Pairs whose distances are held at a time, and numbers of gathered rows when pairs are computed directly.
_BLOCK_PAIRS = 2**22
_DIRECT_NUMBERS = 2**20


def radius_relevance(
    queries: Any, database: Any, threshold: float, *, sparse_output: bool = False
) -> Bools | sparse.csr_array:
    """Relevant are the database rows at Euclidean distance strictly below ``threshold``.

    With ``sparse_output`` the answer is a boolean scipy sparse array, else a dense boolean one.

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


def nearest_relevance(queries: Any, database: Any, k: int, *, sparse_output: bool = False) -> Bools | sparse.csr_array:
    """Relevant are the ``k`` nearest database rows, and all rows as near as the k-th.

    Rows tied with the k-th are all relevant, so a query may have more than ``k``; which of them come first in
    the database then makes no difference.

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
    train: Any,
    *,
    form: Literal["authors", "plain"] = "authors",
    k: int = 50,
    n_sample: int = 100,
    random_state: Any = None,
) -> float:
    """Mean distance from training rows to their ``k``-th neighbour: the radius for :func:`radius_relevance`.

    - ``form="authors"``: over ``n_sample`` rows drawn without replacement (all rows if there are fewer), the
      k-th entry of the sorted distances to the training set, the row itself included. Its own distance 0 is the
      first entry, so k = 50 means the 49th neighbour. This is what the authors' evaluation code does.
    - ``form="plain"``: over all rows, the k-th neighbour, the row itself left out. Nothing is random.

    >>> rows = [[0.0], [1.0], [3.0]]
    >>> neighbour_radius(rows, form="plain", k=1), neighbour_radius(rows, form="authors", k=1)
    (1.3333333333333333, 0.0)
    """
    if form not in ("authors", "plain"):
        raise ValueError(f"form={form!r} must be 'authors' or 'plain'.")
    if n_sample < 1:
        raise ValueError(f"n_sample={n_sample!r} must be a positive integer.")
    x, _ = _check_pair(train, train, names=("train", "train"))
    n = x.shape[0]
    # The row itself stands first among its sorted distances, so leaving it out moves the entry by one.
    entry, rows = k, np.arange(n)
    if form == "plain":
        entry = k + 1
    elif n > n_sample:
        rows = np.sort(check_random_state(random_state).choice(n, size=n_sample, replace=False))
    if k < 1 or entry > n:
        raise ValueError(f"k={k!r} with form={form!r} needs k >= 1 and at least {entry} rows; train has {n} rows.")
    sample = x[rows]
    distances = [
        np.sqrt(np.partition(exact, entry - 1)[entry - 1])
        for block, squared, error in _squared_blocks(sample, x)
        for _, _, exact in _nearest(sample[block], x, squared, error, entry)
    ]
    return float(np.mean(distances))


def label_relevance(query_labels: npt.ArrayLike, database_labels: npt.ArrayLike) -> Bools:
    """Relevant are the database rows with the label of the query.

    >>> label_relevance(["a", "b"], ["b", "a", "a"])
    array([[False,  True,  True],
           [ True, False, False]])
    """
    return label_relevance_blocks(query_labels, database_labels)(0, len(np.asarray(query_labels)))


def label_relevance_blocks(query_labels: npt.ArrayLike, database_labels: npt.ArrayLike) -> Callable[[int, int], Bools]:
    """Give :func:`label_relevance` as a function of a range of queries, for databases of millions of rows.

    >>> label_relevance_blocks([0, 1, 2], [2, 1])(1, 3)
    array([[False,  True],
           [ True, False]])
    """
    left, right = np.asarray(query_labels), np.asarray(database_labels)
    for name, labels in (("query_labels", left), ("database_labels", right)):
        if labels.ndim != 1:
            raise ValueError(f"{name} must be 1-D, one label a row, got shape {labels.shape}.")

    def block(start: int, stop: int) -> Bools:
        equal: Bools = np.asarray(left[start:stop, None] == right[None, :], dtype=np.bool_)
        return equal

    return block


def multilabel_relevance(query_tags: Any, database_tags: Any, *, graded: bool = False) -> Any:
    """Relevant are the database rows that share at least one tag with the query; graded, the number shared.

    Tags are indicator matrices, one row an item and one column a tag; anything but 0 means that the tag is
    there. If either is scipy sparse the answer is a sparse array, else a dense one: boolean, or int32 counts.

    >>> multilabel_relevance([[1, 1, 0]], [[1, 1, 1], [0, 0, 1]])
    array([[ True, False]])
    >>> multilabel_relevance([[1, 1, 0]], [[1, 1, 1], [0, 0, 1]], graded=True)
    array([[2, 0]], dtype=int32)
    """
    a, b = (t if sparse.issparse(t) else np.asarray(t) for t in (query_tags, database_tags))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(
            f"query_tags has shape {a.shape} and database_tags {b.shape}; both must be 2-D with the same columns."
        )
    if sparse.issparse(a) or sparse.issparse(b):
        left, right = (sparse.csr_array(sparse.csr_array(t) != 0).astype(np.int32) for t in (a, b))
        shared: Any = sparse.csr_array(left @ right.T)
        return shared if graded else shared.astype(np.bool_)
    # Counts of tags are small integers, exact in float32, whose product is the fast one.
    left, right = (a != 0).astype(np.float32), (b != 0).astype(np.float32)
    answer: npt.NDArray[Any] = np.empty((len(left), len(right)), dtype=np.int32 if graded else np.bool_)
    for rows in _row_blocks(len(left), len(right)):
        answer[rows] = left[rows] @ right.T
    return answer


def _check_pair(a: Any, b: Any, names: tuple[str, str] = ("queries", "database")) -> tuple[Any, Any]:
    checked: list[Any] = []
    for name, rows in zip(names, (a, b), strict=True):
        array: Any = sparse.csr_array(rows) if sparse.issparse(rows) else np.asarray(rows)
        array = array.astype(np.float64)
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(f"{name} must be 2-D with at least one row and column, got shape {array.shape}.")
        if not np.isfinite(array.data if sparse.issparse(array) else array).all():
            raise ValueError(f"{name} must hold finite numbers only.")
        checked.append(array)
    left, right = checked
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"{names[0]} has {left.shape[1]} columns and {names[1]} {right.shape[1]}; they must agree.")
    if sparse.issparse(left) != sparse.issparse(right):
        left, right = sparse.csr_array(left), sparse.csr_array(right)
    return left, right


def _row_blocks(n: int, m: int) -> Iterator[slice]:
    size = max(1, _BLOCK_PAIRS // max(1, m))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _row_squares(x: Any) -> Floats:
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x), dtype=np.float64)


def _squared_blocks(a: Any, b: Any) -> Iterator[tuple[slice, Floats, Floats]]:
    """Give blocks of squared distances in the fast form, each with a bound on its rounding error.

    Each of the three terms is a sum of d products, off by at most about d eps (|a|^2 + |b|^2).
    """
    a2, b2 = _row_squares(a), _row_squares(b)
    unit = 4 * (a.shape[1] + 4) * np.finfo(np.float64).eps
    for rows in _row_blocks(a.shape[0], b.shape[0]):
        product = a[rows] @ b.T
        dense: Floats = product.toarray() if sparse.issparse(product) else product
        sums = a2[rows, None] + b2
        yield rows, sums - 2 * dense, unit * sums


def _direct_squared(a: Any, b: Any, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> Floats:
    """Squared distances of the pairs of rows ``(a[i], b[j])`` from their differences."""
    width = max(1, b.nnz // b.shape[0]) if sparse.issparse(b) else b.shape[1]
    step = max(1, _DIRECT_NUMBERS // width)
    parts = [_row_squares(a[i[s : s + step]] - b[j[s : s + step]]) for s in range(0, len(i), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def _nearest(
    a: Any, b: Any, squared: Floats, error: Floats, k: int
) -> Iterator[tuple[int, npt.NDArray[np.intp], Floats]]:
    """Give for each row of ``a`` all rows of ``b`` that may be among its ``k`` nearest, with direct distances."""
    # The k-th smallest upper bound bounds the k-th distance; rows whose lower bound is above it are out.
    reach = np.partition(squared + error, k - 1, axis=1)[:, k - 1]
    for row in range(len(squared)):
        j = np.flatnonzero(squared[row] - error[row] <= reach[row])
        yield row, j, _direct_squared(a, b, np.full(len(j), row), j)


def _stack(blocks: Iterator[Bools], sparse_output: bool) -> Any:
    if sparse_output:
        return sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
    return np.concatenate(list(blocks))
