"""Queries, and the pictures of what was retrieved for them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thpi._optional import require
from thpi._types import Array, PathLike
from thpi.report.plot._curves import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

    from thpi.datasets import Item

Picture: TypeAlias = "Array | bytes | PathLike"
Pictures: TypeAlias = "Callable[[Any], Picture | Item] | Sequence[Picture] | Mapping[Any, Picture] | Array"
Relevant: TypeAlias = "Callable[[Any, Any], Any] | Sequence[Any] | Mapping[Any, Any] | Array"

RELEVANT, WRONG = "#009E73", "#D55E00"
"""Colours that are told apart with any kind of colour vision; a cross marks what is wrong besides."""

# In widths of a picture's tile.
_GAP, _BLOCK_GAP, _LINE_GAP, _FRAME, _MARGIN, _ROUND = 0.1, 0.4, 0.25, 0.05, 0.09, 0.08
_TITLE, _CAPTION = 0.42, 0.3
_INCHES = 0.75  # size of a tile on a new figure
_FADED = 0.5
_LARGEST = 320  # pixels a side of a picture; a tile shows fewer


def retrieved(
    queries: Sequence[Any] | Array,
    found: ArrayLike | Mapping[str, ArrayLike],
    pictures: Pictures,
    *,
    relevant: Relevant | None = None,
    captions: Sequence[str] | None = None,
    columns: int | None = None,
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
    columns : pictures side by side, of each title; further ones go below them. None: all k in one line.
    ax : axes to draw on; None: those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thpi.datasets import load_shop
    >>> shop = load_shop()
    >>> ax = retrieved([800], [[3, 4, 5]], shop.show, relevant=shop.labels, ax=Figure().subplots())
    >>> len(ax.images)
    4
    """
    blocks = _blocks(found, len(queries))
    if captions is not None and len(captions) != len(queries):
        raise ValueError(f"captions has {len(captions)} texts and queries has {len(queries)} rows; they must agree.")
    if columns is not None and columns < 1:
        raise ValueError(f"columns={columns!r} must be None or at least 1.")
    look: Callable[[Any], Any] = pictures if callable(pictures) else pictures.__getitem__
    asked = dict.fromkeys([*queries, *(item for ids in blocks.values() for item in ids.ravel())])
    shown = {item: pixels_of(look(item), item) for item in asked}
    return _draw(ax, list(queries), blocks, shown, _relevance(relevant), captions, columns)


def _draw(
    ax: Axes | None,
    queries: list[Any],
    blocks: dict[str, Array],
    shown: dict[Any, Array],
    is_relevant: Callable[[Any, Any], bool | None],
    captions: Sequence[str] | None,
    columns: int | None,
) -> Axes:
    widths = [min(ids.shape[1], columns or ids.shape[1]) for ids in blocks.values()]
    spans = np.array(widths) * (1 + _GAP) - _GAP
    ends = 1 + np.cumsum(_BLOCK_GAP + spans)  # right of the query, which is at 0
    lefts, width = (ends - spans).tolist(), float(ends[-1])
    lines = max(-(-ids.shape[1] // wide) for ids, wide in zip(blocks.values(), widths, strict=True))
    # A caption stands beside the second line of pictures, if there is one.
    below = _CAPTION if captions is not None and lines == 1 else _GAP if lines == 1 else _LINE_GAP
    step = lines * (1 + _GAP) - _GAP + below
    top = -_TITLE if any(blocks) else 0.0
    bottom = len(queries) * step - (below if below != _CAPTION else 0.0)
    if ax is None:
        ax = axes_or_new(None, figsize=(_INCHES * width, _INCHES * (bottom - top)))
        ax.set_position((0, 0, 1, 1))
    ax.set_axis_off()
    ink: ColorType = ax.xaxis.label.get_color()
    for left, title in zip(lefts, blocks, strict=True):
        ax.text(left, -0.12, title, ha="left", va="bottom")
    for line, query in enumerate(queries):
        _tile(ax, shown[query], 0.0, line * step, ink)
        if captions is not None:
            ax.text(0.0, line * step + 1.03, captions[line], ha="left", va="top", fontsize="small")
        for left, wide, ids in zip(lefts, widths, blocks.values(), strict=True):
            for place, item in enumerate(ids[line]):
                down, along = divmod(place, wide)
                x, y = left + along * (1 + _GAP), line * step + down * (1 + _GAP)
                _tile(ax, shown[item], x, y, *_MARKS[is_relevant(query, item)])
    ax.set(xlim=(-0.02, width + 0.02), ylim=(bottom + 0.02, top - 0.02), aspect="equal")
    return ax


_MARKS: dict[bool | None, tuple[str, bool]] = {None: ("#bbbbbb", False), True: (RELEVANT, False), False: (WRONG, True)}


def _blocks(found: ArrayLike | Mapping[str, ArrayLike], n_queries: int) -> dict[str, Array]:
    """Return ids by title, each n x k."""
    if not n_queries:
        raise ValueError("queries is empty; at least one row is needed.")
    named = found if isinstance(found, Mapping) else {"": found}
    blocks = {title: np.asarray(ids) for title, ids in named.items()}
    for title, ids in blocks.items():
        if ids.ndim != 2 or len(ids) != n_queries or not ids.shape[1]:
            where = f"found[{title!r}]" if title else "found"
            raise ValueError(
                f"{where} has shape {ids.shape}; {n_queries} queries need shape ({n_queries}, k), k at least 1."
            )
    return blocks


def _relevance(relevant: Relevant | None) -> Callable[[Any, Any], bool | None]:
    if relevant is None:
        return lambda query, item: None
    if callable(relevant):
        function = relevant
        return lambda query, item: bool(function(query, item))
    classes = relevant
    return lambda query, item: bool(classes[query] == classes[item])


def _tile(ax: Axes, pixels: Array, left: float, top: float, colour: ColorType, wrong: bool = False) -> None:
    """Draw a picture as large as it fits into a white square with a frame."""
    from matplotlib.patches import Circle, FancyBboxPatch, Polygon

    for inset, fill in ((0.0, colour), (_FRAME, "white")):
        style = f"round,pad=0,rounding_size={_ROUND - inset / 2}"
        place, side = (left + inset, top + inset), 1 - 2 * inset
        ax.add_patch(FancyBboxPatch(place, side, side, style, facecolor=fill, linewidth=0))
    rows, columns = pixels.shape[:2]
    across, down = (0.5 - _MARGIN) * np.array([columns, rows]) / max(rows, columns)
    x, y = left + 0.5, top + 0.5
    extent = (x - across, x + across, y + down, y - down)
    ax.imshow(pixels, extent=extent, alpha=_FADED if wrong else 1.0, interpolation="antialiased", zorder=1.5)
    if wrong:
        x, y = left + 0.85, top + 0.15
        ax.add_patch(Circle((x, y), 0.15, facecolor=colour, linewidth=0, zorder=2))
        for slope in (-1, 1):
            arm, wide = 0.075 * np.array([1, slope]), 0.017 * np.array([1, -slope])
            corners = [arm + wide, arm - wide, -arm - wide, -arm + wide]
            ax.add_patch(Polygon(np.add(corners, (x, y)), facecolor="white", linewidth=0, zorder=2.1))


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
    channels = pixels.shape[2:] in ((), (3,), (4,))
    if picture is None or pixels.ndim not in (2, 3) or not channels or 0 in pixels.shape:
        what = "None" if picture is None else f"an array of shape {pixels.shape}"
        raise ValueError(
            f"the picture of {item!r} is {what}; it must be an array, height x width or with 3 or 4 channels, "
            "the bytes of an image file, or its path."
        )
    if pixels.dtype == np.uint8:
        return pixels
    # Written so that NaN is refused as well.
    if pixels.dtype.kind not in "bf" or not ((pixels >= 0) & (pixels <= 1)).all():
        raise ValueError(f"the picture of {item!r} has dtype {pixels.dtype}; it must be uint8, or floats from 0 to 1.")
    return np.asarray(np.round(pixels * 255.0), dtype=np.uint8)
