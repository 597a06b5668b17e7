"""Plots for notebooks and papers, each on ``ax`` or on a new figure of pyplot, with matplotlib's settings as they are.

They need matplotlib (``pip install "thpi[plots]"``), and may import what has results: auto, evaluation and encoder.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from thpi._optional import require
from thpi._types import Array, MatrixLike, PathLike
from thpi.auto import AutoHasher, find_relevance
from thpi.codes import check_codes
from thpi.encoder import Coding
from thpi.evaluation import MEASURES, Diagnosis, DistanceHistograms, PairedDifference, Relevant, distance_histograms
from thpi.report import bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

    from thpi.datasets import Item

__all__ = ["gains", "precision_recall", "retrieved"]

Searched: TypeAlias = "Coding | tuple[ArrayLike, ArrayLike]"
Gains: TypeAlias = "Diagnosis | AutoHasher | Iterable[AutoHasher] | Mapping[str, AutoHasher | PairedDifference]"
Picture: TypeAlias = "Array | bytes | PathLike"
Pictures: TypeAlias = "Callable[[Any], Picture | Item] | Sequence[Picture] | Mapping[Any, Picture] | Array"
Right: TypeAlias = "Callable[[Any, Any], Any] | Sequence[Any] | Mapping[Any, Any] | Array"

RELEVANT, WRONG, UNKNOWN = "#009E73", "#D55E00", "#bbbbbb"
"""Colours that are told apart with any kind of colour vision; a cross marks what is wrong besides."""

_POINTS = 300  # ranks of a curve, at most: more cannot be seen
# In widths of a picture's tile.
_GAP, _BLOCK_GAP, _FRAME, _MARGIN, _ROUND = 0.1, 0.4, 0.05, 0.09, 0.08
_TITLE, _CAPTION = 0.42, 0.3
_INCHES = 0.75  # size of a tile on a new figure
_FADED = 0.5
_LARGEST = 320  # pixels a side of a picture; a tile shows fewer


def _axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
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
    coded = {name: _coded(name, each, queries, database, relevance) for name, each in codes.items()}
    # All have the same relevant rows.
    histograms = next(iter(coded.values()))
    kept, n = histograms.n_relevant > 0, histograms.n_database
    if not kept.any():
        raise ValueError("relevance marks no row of the database for any query.")
    ranks = np.unique(np.geomspace(1, n, _POINTS).round().astype(np.int64))
    ax = _axes_or_new(ax, figsize=(6.4, 4.4), layout="constrained")
    for name, counts in coded.items():
        recall, precision, average = (
            100 * np.asarray(MEASURES[measure].compute(counts, *arguments))[kept].mean(axis=0)
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
) -> DistanceHistograms:
    if isinstance(codes, Coding):
        if queries is None or database is None:
            raise ValueError(f"codes has the hasher {name!r}: queries and database must be target rows, not None.")
        return distance_histograms(codes.transform(queries), codes.transform(database), relevance, codes.n_bits)
    if not isinstance(codes, tuple) or len(codes) != 2:
        raise TypeError(f"codes has {type(codes).__name__} under {name!r}; it must be a fitted hasher or two codes.")
    first = check_codes(codes[0], name="codes of queries")
    # Padding bits are zero on both sides and add nothing to a distance.
    return distance_histograms(first, codes[1], relevance, 8 * first.shape[1])


def gains(found: Gains, *, ax: Axes | None = None) -> Axes:
    """Draw the gain by the source, in points of MAP, with its 95 % interval; one line per meaning of relevant.

    A filled point has an interval that does not contain 0. The gain is that of the best candidate with source over the
    best without, on rows that neither was chosen by (:attr:`thpi.AutoHasher.gain_`).

    Parameters
    ----------
    found : a diagnosis; or fitted AutoHashers, one or several; or AutoHashers or differences by the name to show.
    ax : axes to draw on; None: those of a new figure.

    >>> from matplotlib.figure import Figure
    >>> differences = {"near in target space": PairedDifference(0.2, -0.4, 0.8, 200)}
    >>> ax = gains(differences | {"same class": PairedDifference(4.7, 3.1, 6.3, 200)}, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['near in target space', 'same class']
    """
    named = _differences(found)
    if not named:
        raise ValueError("found is empty; at least one gain is needed.")
    ax = _axes_or_new(ax, figsize=(6.4, 1.0 + 0.45 * len(named)), layout="constrained")
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


def retrieved(
    queries: Sequence[Any] | Array,
    found: ArrayLike | Mapping[str, ArrayLike],
    pictures: Pictures,
    *,
    relevant: Right | None = None,
    captions: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each query at the left, and at its right what was retrieved for it, nearest first.

    Relevant items have a green frame. Others have an orange one, a cross, and are pale.

    Parameters
    ----------
    queries : n row numbers or ids.
    found : n x k row numbers or ids, such as ``index.search(...).ids``; or several of them by title, side by side.
    pictures : what each row or id looks like: a function, such as ``dataset.show``, or a sequence, array or mapping.
        A picture is an array (height x width, or with 3 or 4 channels; uint8, or floats from 0 to 1), the bytes of an
        image file, or its path.
    relevant : a function of a query and an item; or the class of each row or id, to mark those of the query's class.
    captions : a short text for below each query.
    ax : axes to draw on; None: those of a new figure.

    >>> from matplotlib.figure import Figure
    >>> from thpi.datasets import load_shop
    >>> shop = load_shop()
    >>> ax = retrieved([800], [[3, 4, 5]], shop.show, relevant=shop.labels, ax=Figure().subplots())
    >>> len(ax.images)
    4
    """
    n, blocks = len(queries), _blocks(found, len(queries))
    if captions is not None and len(captions) != n:
        raise ValueError(f"captions has {len(captions)} texts and queries has {n} rows; they must agree.")
    look: Callable[[Any], Any] = pictures if callable(pictures) else pictures.__getitem__
    asked = dict.fromkeys([*queries, *(item for ids in blocks.values() for item in ids.ravel())])
    shown = {item: pixels_of(look(item), item) for item in asked}
    spans = np.array([ids.shape[1] * (1 + _GAP) - _GAP for ids in blocks.values()])
    ends = 1 + np.cumsum(_BLOCK_GAP + spans)  # right of the query, which is at 0
    placed = list(zip((ends - spans).tolist(), blocks.items(), strict=True))
    step = 1 + (_GAP if captions is None else _CAPTION)
    top, bottom, right = -_TITLE if any(blocks) else 0.0, n * step, float(ends[-1])
    if ax is None:
        ax = _axes_or_new(None, figsize=(_INCHES * right, _INCHES * (bottom - top)))
        ax.set_position((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(-0.02, right + 0.02), ylim=(bottom + 0.02, top - 0.02), aspect="equal")
    for left, (title, _) in placed:
        ax.text(left, -0.12, title, ha="left", va="bottom")
    for line, query in enumerate(queries):
        _tile(ax, shown[query], 0.0, line * step, ax.xaxis.label.get_color())
        if captions is not None:
            ax.text(0.0, line * step + 1.03, captions[line], ha="left", va="top", fontsize="small")
        for left, (_, ids) in placed:
            for place, item in enumerate(ids[line]):
                _tile(ax, shown[item], left + place * (1 + _GAP), line * step, _colour(relevant, query, item))
    return ax


def _blocks(found: ArrayLike | Mapping[str, ArrayLike], n: int) -> dict[str, Array]:
    """Return ids by title, each n x k."""
    if not n:
        raise ValueError("queries is empty; at least one row is needed.")
    blocks = {title: np.asarray(ids) for title, ids in (found if isinstance(found, Mapping) else {"": found}).items()}
    for title, ids in blocks.items():
        if ids.ndim != 2 or len(ids) != n or not ids.shape[1]:
            where = f"found[{title!r}]" if title else "found"
            raise ValueError(f"{where} has shape {ids.shape}; {n} queries need shape ({n}, k), k at least 1.")
    return blocks


def _colour(relevant: Right | None, query: Any, item: Any) -> str:
    if relevant is None:
        return UNKNOWN
    right = relevant(query, item) if callable(relevant) else relevant[query] == relevant[item]
    return RELEVANT if right else WRONG


def _tile(ax: Axes, pixels: Array, left: float, top: float, colour: ColorType) -> None:
    """Draw a picture as large as it fits into a white square with a frame."""
    from matplotlib.patches import FancyBboxPatch

    for inset, fill in ((0.0, colour), (_FRAME, "white")):
        style = f"round,pad=0,rounding_size={_ROUND - inset / 2}"
        place, side = (left + inset, top + inset), 1 - 2 * inset
        ax.add_patch(FancyBboxPatch(place, side, side, style, facecolor=fill, linewidth=0))
    rows, columns = pixels.shape[:2]
    across, down = (0.5 - _MARGIN) * np.array([columns, rows]) / max(rows, columns)
    x, y, wrong = left + 0.5, top + 0.5, colour == WRONG
    ax.imshow(pixels, extent=(x - across, x + across, y + down, y - down), alpha=_FADED if wrong else 1.0, zorder=1.5)
    if wrong:
        ax.plot(left + 0.85, top + 0.15, "X", color=colour, markersize=12, markeredgecolor="white", zorder=2)


def pixels_of(picture: Any, item: Any) -> Array:
    """Return a picture on white, height x width x 3, uint8; ``item`` is what an error names.

    >>> pixels_of(np.array([[0, 255]], dtype=np.uint8), "a").tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    picture = getattr(picture, "picture", picture)  # of an item of a data set
    Image = require("PIL.Image", "plots")
    if isinstance(picture, (bytes, str, os.PathLike)):
        with Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture) as opened:
            image = require("PIL.ImageOps", "plots").exif_transpose(opened)
    else:
        image = Image.fromarray(_checked(picture, item))
    image = image.convert("RGBA")
    image.thumbnail((_LARGEST, _LARGEST))
    white = Image.new("RGBA", image.size, "white")
    return np.asarray(Image.alpha_composite(white, image).convert("RGB"))


def _checked(picture: Any, item: Any) -> Array:
    pixels = np.asarray(picture)
    if pixels.dtype.kind in "bf" and ((pixels >= 0) & (pixels <= 1)).all():
        pixels = np.round(pixels * 255.0).astype(np.uint8)
    if pixels.dtype != np.uint8 or pixels.shape[2:] not in ((), (3,), (4,)) or pixels.ndim < 2 or 0 in pixels.shape:
        what = "None" if picture is None else f"an array of shape {pixels.shape} and dtype {pixels.dtype}"
        raise ValueError(
            f"the picture of {item!r} is {what}; it must be the bytes of an image file, its path, or an array, "
            "height x width or with 3 or 4 channels, of uint8 or of floats from 0 to 1."
        )
    return pixels
