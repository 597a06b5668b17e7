"""Precision against recall of codes, and what the source adds by meaning of relevant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from thpi._optional import require
from thpi._types import MatrixLike
from thpi.auto import AutoHasher, find_relevance
from thpi.codes import check_codes
from thpi.encoder import Coding
from thpi.evaluation import MEASURES, Diagnosis, PairedDifference, Relevant, Retrieval
from thpi.report import bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Searched: TypeAlias = "Coding | tuple[ArrayLike, ArrayLike]"
Gains: TypeAlias = "Diagnosis | AutoHasher | Iterable[AutoHasher] | Mapping[str, AutoHasher | PairedDifference]"

_POINTS = 300  # ranks of a curve, at most: more cannot be seen


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """Return ``ax``, or the axes of a new figure with these options; notebooks show figures of pyplot at once."""
    if ax is not None:
        return ax
    new: Axes = require("matplotlib.pyplot", "plots").subplots(**figure)[1]
    return new


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
    if not isinstance(codes, Mapping):
        codes = {codes.method_name if isinstance(codes, Coding) else "codes": codes}
    if not codes:
        raise ValueError("codes is empty; at least one hasher or pair of codes is needed.")
    coded = {name: Retrieval(*_coded(name, each, queries, database, relevance)) for name, each in codes.items()}
    # All have the same relevant rows.
    histograms = next(iter(coded.values())).histograms
    kept, n = histograms.n_relevant > 0, histograms.n_database
    if not kept.any():
        raise ValueError("relevance marks no row of the database for any query.")
    ranks = np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))
    ax = axes_or_new(ax, figsize=(6.4, 4.4), layout="constrained")
    for name, retrieval in coded.items():
        recall, precision, average = (
            100 * np.asarray(MEASURES[measure].compute(retrieval, *arguments))[kept].mean(axis=0)
            for measure, *arguments in (("recall", ranks), ("precision", ranks), ("average_precision",))
        )
        ax.plot(recall, precision, label=f"{name}, MAP {average:.1f}")
    chance = 100 * histograms.n_relevant[kept].mean() / n
    ax.axhline(chance, color="#888888", linestyle=":", linewidth=1.2, label="random order")
    ax.set(xlabel="recall (%)", ylabel="precision (%)", xlim=(0, 100), ylim=(0, None))
    bare(ax)
    ax.legend(edgecolor="none")
    return ax


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


def gains(found: Gains, *, ax: Axes | None = None) -> Axes:
    """Draw the gain by the source, in points of MAP, with its 95 % interval; one line per meaning of relevant.

    A filled point has an interval that does not contain 0. The gain is that of the best candidate with source over the
    best without, on rows that neither was chosen by (:attr:`thpi.AutoHasher.gain_`).

    Parameters
    ----------
    found : a diagnosis; or fitted AutoHashers, one or several; or AutoHashers or differences by the name to show.
    ax : axes to draw on; None: those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> differences = {"near in target space": PairedDifference(0.2, -0.4, 0.8, 200)}
    >>> ax = gains(differences | {"same class": PairedDifference(4.7, 3.1, 6.3, 200)}, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['near in target space', 'same class']
    """
    named = _differences(found)
    if not named:
        raise ValueError("found is empty; at least one gain is needed.")
    ax = axes_or_new(ax, figsize=(6.4, 1.0 + 0.45 * len(named)), layout="constrained")
    ax.axvline(0, color="#888888", linewidth=1)
    colour = ax.plot([], [])[0].get_color()  # the next of the user's own cycle
    for place, (_, gain) in enumerate(named):
        limits = [[gain.mean - gain.low], [gain.high - gain.mean]]
        fill = "none" if gain.decided == "open" else colour
        ax.errorbar(gain.mean, place, xerr=limits, fmt="o", color=colour, mfc=fill, capsize=4, markersize=7)
        ax.annotate(f"{gain.mean:+.1f}", (gain.mean, place), (0, 7), textcoords="offset points", ha="center")
    ax.set_yticks(range(len(named)), [name for name, _ in named])
    ax.set_ylim(len(named) - 0.5, -0.6)
    ax.set_xlabel("gain by the source, points of MAP")
    bare(ax)
    return ax


def _differences(found: Gains) -> list[tuple[str, PairedDifference]]:
    if isinstance(found, Diagnosis):
        return [(answer.title, answer.gain) for answer in found.answers]
    if isinstance(found, Mapping):
        return [(name, _difference(each)) for name, each in found.items()]
    hashers = [found] if isinstance(found, AutoHasher) else list(found)
    return [(find_relevance(hasher.relevance).title, _difference(hasher)) for hasher in hashers]


def _difference(found: AutoHasher | PairedDifference) -> PairedDifference:
    if isinstance(found, PairedDifference):
        return found
    if not isinstance(found, AutoHasher):
        raise TypeError(f"found has {type(found).__name__}; it must be a fitted AutoHasher or a PairedDifference.")
    check_is_fitted(found, "gain_limits_")
    low, high = found.gain_interval_
    return PairedDifference(found.gain_, low, high, len(found.codes_))
