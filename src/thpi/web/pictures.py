"""Pictures as files that a browser shows."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from thpi._types import Array

_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def image_file(picture: bytes | Array) -> tuple[bytes, str]:
    """Return the bytes and the media type of a picture: a uint8 array (grey) as PNG, an image file unchanged.

    Files other than PNG, JPEG, GIF and WebP raise ``ValueError``: SVG, for example, can hold scripts.
    """
    if isinstance(picture, bytes):
        for signature, kind in _SIGNATURES:
            if picture.startswith(signature):
                return picture, kind
        if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP":
            return picture, "image/webp"
        raise ValueError(f"picture starts with {picture[:12]!r}; it must be a PNG, JPEG, GIF or WebP file.")
    pixels = np.asarray(picture)
    if pixels.ndim != 2 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise ValueError(f"picture must be a 2-D uint8 array, got shape {pixels.shape} and dtype {pixels.dtype}.")
    height, width = pixels.shape
    # Each row of a PNG begins with the number of its filter, 0 for none.
    rows = np.hstack([np.zeros((height, 1), dtype=np.uint8), pixels]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + name + d + struct.pack(">I", zlib.crc32(name + d)) for name, d in parts)
    return _SIGNATURES[0][0] + b"".join(chunks), "image/png"
