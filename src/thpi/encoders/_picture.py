"""Pictures as people have them, read safely: an upright RGB image on white."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from thpi.encoders._describe import Preparation

if TYPE_CHECKING:
    from PIL.Image import Image

    from thpi._types import Array

PictureLike: TypeAlias = "bytes | str | os.PathLike[str] | Image | Array"

MAX_PIXELS = 100_000_000
"""Larger pictures are refused before they are decoded."""

THUMBNAIL = 128  # pixels
# Formats that Pillow decodes by itself. Others may start programs (EPS starts Ghostscript).
_FORMATS = ["JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF"]


class PictureError(ValueError):
    """The file is no picture that can be read; the text says why."""


def read_picture(picture: PictureLike, *, least: int | None = None) -> Image:
    """Return a picture as an upright RGB image: the first frame, transparency on white, at most eight bits a channel.

    ``picture`` is a file, its bytes, an image of Pillow, or an array (rows, columns[, channels]) of uint8. With
    ``least`` a JPEG file may be decoded at a smaller scale, at least this many pixels wide and high, which is faster.

    >>> grey = np.full((2, 3), 128, dtype=np.uint8)
    >>> read_picture(grey).size, read_picture(grey).getpixel((0, 0))
    ((3, 2), (128, 128, 128))
    """
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            # Damaged metadata is no reason to refuse; too many pixels are, below, in our own words.
            warnings.simplefilter("ignore")
            image: Any = _open(picture)
            if image.width * image.height > MAX_PIXELS:
                raise PictureError(f"it has {image.width} x {image.height} pixels; at most {MAX_PIXELS:,} are read")
            if least is not None:
                image.draft(None, (least, least))
            image.load()
            image = ImageOps.exif_transpose(image)
            return _on_white(_eight_bits(image))
    except PictureError:
        raise
    except Image.DecompressionBombError:
        raise PictureError(f"it has more than {MAX_PIXELS:,} pixels") from None
    except FileNotFoundError:
        raise
    except MemoryError:
        raise PictureError("there is not enough memory to decode it") from None
    # Decoders raise whatever they stumble over: struct.error, IndexError, KeyError, SyntaxError, EOFError ...
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise PictureError(f"it is no picture that can be read ({reason[:120]})") from None


def _open(picture: PictureLike) -> Any:
    from PIL import Image, UnidentifiedImageError

    if isinstance(picture, Image.Image):
        return picture
    if isinstance(picture, np.ndarray):
        return Image.fromarray(picture)
    if isinstance(picture, bytes) and not picture:
        raise PictureError("it is empty")
    data = picture if isinstance(picture, bytes) else Path(picture).read_bytes()
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1"):  # what phones write
        from thpi._optional import require

        require("pillow_heif", "heic").register_heif_opener()
    Image.init()
    known = [name for name in _FORMATS if name in Image.OPEN]
    try:
        return Image.open(io.BytesIO(data), formats=known)
    except UnidentifiedImageError:
        raise PictureError(f"it is none of {', '.join(known)}, or its beginning is damaged") from None


def _eight_bits(image: Image) -> Image:
    """Scale 16-bit and floating-point pixels to eight bits."""
    from PIL import Image

    if image.mode[0] not in "IF":
        return image
    values = np.nan_to_num(np.asarray(image, dtype=np.float64))
    top = values.max(initial=0.0)
    # Numbers above one byte are of 16 bits, whatever type holds them; fractions up to 1 are shares of white.
    factor = 1 / 257 if top > 255 else 255.0 if image.mode == "F" and top <= 1 else 1.0
    return Image.fromarray(np.clip(np.rint(values * factor), 0, 255).astype(np.uint8))


def _on_white(image: Image) -> Image:
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image)
    return white.convert("RGB")


def _square(image: Image, size: int, fit: str) -> Image:
    """Return the picture as a square of ``size`` pixels."""
    from PIL import Image, ImageOps

    if fit == "crop":
        return ImageOps.fit(image, (size, size), Image.Resampling.BICUBIC)
    return ImageOps.pad(image, (size, size), Image.Resampling.BICUBIC, color="white")


def prepared(image: Image, how: Preparation) -> Array:
    """Return the input of a network for an RGB image: float32, (channels, rows, columns)."""
    pixels = np.asarray(_square(image, how.size, how.fit), dtype=np.float32)
    made = (pixels - np.array(how.mean, dtype=np.float32)) / np.array(how.scale, dtype=np.float32)
    return np.ascontiguousarray(made.transpose(2, 0, 1))


def thumbnail(image: Image) -> bytes:
    """Return a small copy of a picture, as WebP."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=80, method=4)
    return file.getvalue()
