"""Pictures as files that a browser shows."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

from thpi._types import Array, PathLike

_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))

_ENDINGS = (".gif", ".jpeg", ".jpg", ".png", ".webp")


def picture_files(folder: PathLike) -> dict[str, Path]:
    """Return the picture files of a folder by id, which is the name of the file without its ending.

    The folder is read once. So a request can only name files that were in it, whatever its id says.
    """
    files: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() in _ENDINGS and path.is_file():
            other = files.setdefault(path.stem, path)
            if other != path:
                raise ValueError(f"pictures: {other.name!r} and {path.name!r} are of the same item; keep one of them.")
    if not files:
        raise ValueError(f"pictures={str(folder)!r} has no file that ends with {', '.join(_ENDINGS)}.")
    return files


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
