"""Pictures as pixels, whatever they come as."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from thpi._optional import require
from thpi._types import Array

_LARGEST = 320  # pixels a side; a tile shows fewer


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
