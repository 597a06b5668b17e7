"""Precision against recall of one or several codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thpi._types import Floats, MatrixLike
from thpi.codes import check_codes
from thpi.encoder import Coding
from thpi.evaluation import MEASURES, Relevant, Retrieval
from thpi.report.plot._axes import axes_or_new, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Searched: TypeAlias = "Coding | tuple[ArrayLike, ArrayLike]"

_POINTS = 300  # ranks of a curve, at most: more cannot be seen


class _Curve(NamedTuple):
    recall: Floats
    precision: Floats
    mean_average_precision: float
    chance: float


def precision_recall(
    codes: Searched | Mapping[str, Searched],
    relevance: Relevant,
    queries: MatrixLike | None = None,
    database: MatrixLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw precision against recall among the first k rows of a Hamming ranking, one point per k.

    Both are means over the queries that have relevant rows, and expected values over random orders of rows at equal
    distance, as those of :func:`thpi.evaluation.precision_at_k`. So codes of any length can be compared. The
    legend has the mean average precision, and the dotted line is the precision of a random order.

    Parameters
    ----------
    codes : a fitted hasher, or a pair of packed codes (of the queries, of the database); or several of them by name.
    relevance : what is relevant, n_queries x n_database, as :mod:`thpi.evaluation` takes it.
    queries, database : target rows, which hashers code; not needed for pairs of codes.
    ax : axes to draw on; None: those of a new figure.

    Examples
    --------
    >>> import thpi
    >>> from matplotlib.figure import Figure
    >>> from thpi.evaluation import label_relevance
    >>> X = np.random.RandomState(0).standard_normal((120, 16)); y = X[:, 0] > 0
    >>> hashers = {f"{bits} bits": thpi.ITQ(bits, random_state=0).fit(X[20:]) for bits in (4, 16)}
    >>> relevant = label_relevance(y[:20], y[20:])
    >>> ax = precision_recall(hashers, relevant, X[:20], X[20:], ax=Figure().subplots())
    >>> [line.get_label() for line in ax.get_lines()]
    ['4 bits, MAP 54.9', '16 bits, MAP 57.1', 'random order']
    """
    named = codes if isinstance(codes, Mapping) else {_name(codes): codes}
    if not named:
        raise ValueError("codes is empty; at least one hasher or pair of codes is needed.")
    curves = {
        name: _curve(Retrieval(*_coded(name, each, queries, database, relevance))) for name, each in named.items()
    }
    ax = axes_or_new(ax, figsize=(6.4, 4.4), layout="constrained")
    for name, curve in curves.items():
        label = f"{name}, MAP {100 * curve.mean_average_precision:.1f}"
        ax.plot(100 * curve.recall, 100 * curve.precision, label=label)
    chance = next(iter(curves.values())).chance
    ax.axhline(100 * chance, color="#888888", linestyle=":", linewidth=1.2, label="random order")
    ax.set(xlabel="recall (%)", ylabel="precision (%)", xlim=(0, 100), ylim=(0, None))
    bare(ax)
    ax.legend(edgecolor="none")
    return ax


def _name(codes: Searched) -> str:
    return codes.method_name if isinstance(codes, Coding) else "codes"


def _coded(
    name: str, codes: Searched, queries: MatrixLike | None, database: MatrixLike | None, relevance: Relevant
) -> tuple[ArrayLike, ArrayLike, Relevant, int]:
    """Return what :class:`Retrieval` takes."""
    if isinstance(codes, Coding):
        if queries is None or database is None:
            raise ValueError(f"codes has the hasher {name!r}: queries and database must be target rows, not None.")
        return codes.transform(queries), codes.transform(database), relevance, codes.n_bits
    if not isinstance(codes, tuple) or len(codes) != 2:
        raise TypeError(
            f"codes has {type(codes).__name__} under {name!r}; it must be a fitted hasher, or a tuple of the packed "
            "codes of queries and database."
        )
    first = check_codes(codes[0], name="codes of queries")
    # Padding bits are zero on both sides and add nothing to a distance.
    return first, codes[1], relevance, 8 * first.shape[1]


def _curve(retrieval: Retrieval) -> _Curve:
    n_relevant, n = retrieval.histograms.n_relevant, retrieval.histograms.n_database
    kept = n_relevant > 0
    if not kept.any():
        raise ValueError("relevance marks no row of the database for any query.")
    ranks = np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))
    recall, precision, average = (
        np.asarray(MEASURES[name].compute(retrieval, *arguments))[kept].mean(axis=0)
        for name, *arguments in (("recall", ranks), ("precision", ranks), ("average_precision",))
    )
    return _Curve(recall, precision, float(average), float(n_relevant[kept].mean() / n))
