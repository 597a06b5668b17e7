"""Pictures as people have them are read the same whatever file they come in; broken and hostile files are refused."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from thpi.encoders import PictureError, read_picture, thumbnail


def scene() -> np.ndarray:
    """Four quarters of different colours, wider than high."""
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[:20, :30], pixels[:20, 30:], pixels[20:, :30], pixels[20:, 30:] = (
        (200, 30, 30), (30, 200, 30), (30, 30, 200), (220, 220, 40),
    )  # fmt: skip
    return pixels


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def close(data: bytes, wanted: np.ndarray, slack: float) -> bool:
    found = np.asarray(read_picture(data), dtype=float)
    return found.shape == wanted.shape and np.abs(found - wanted).mean() < slack


@pytest.mark.parametrize(
    ("kind", "options", "slack"),
    [
        ("PNG", {}, 0.01),
        ("BMP", {}, 0.01),
        ("TIFF", {}, 0.01),
        ("WEBP", {"lossless": True}, 0.01),
        ("JPEG", {"quality": 95}, 5),
        ("WEBP", {"quality": 90}, 5),
    ],
)
def test_every_format_holds_the_same_picture(kind, options, slack):
    assert close(saved(Image.fromarray(scene()), kind, **options), scene(), slack)


def test_photographs_of_phones():
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.register_heif_opener()
    assert close(saved(Image.fromarray(scene()), "HEIF", quality=95), scene(), 8)


def test_bytes_files_images_and_arrays_are_the_same(tmp_path: Path):
    data = saved(Image.fromarray(scene()), "PNG")
    (tmp_path / "a.png").write_bytes(data)
    for given in (data, tmp_path / "a.png", str(tmp_path / "a.png"), Image.fromarray(scene()), scene()):
        assert (np.asarray(read_picture(given)) == scene()).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_upright(orientation):
    upright = Image.fromarray(scene())
    undo = {
        1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]  # fmt: skip
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = upright if undo is None else upright.transpose(undo)
    assert close(saved(stored, "PNG", exif=exif), scene(), 0.01)


def test_transparency_is_white():
    alpha = np.zeros((40, 60), dtype=np.uint8)
    alpha[:, :30] = 255
    rgba = np.dstack([scene(), alpha])
    wanted = scene()
    wanted[:, 30:] = 255
    assert close(saved(Image.fromarray(rgba), "PNG"), wanted, 0.01)
    half = np.dstack([np.zeros((4, 4, 3), np.uint8), np.full((4, 4), 128, np.uint8)])
    assert np.asarray(read_picture(saved(Image.fromarray(half), "PNG")))[0, 0].tolist() == [127, 127, 127]
    palette = Image.fromarray(scene()).quantize(8)
    data = saved(palette, "GIF", transparency=palette.getpixel((0, 0)))
    assert np.asarray(read_picture(data))[5, 5].tolist() == [255, 255, 255]
    grey = Image.fromarray(np.dstack([np.full((4, 4), 9, np.uint8), np.zeros((4, 4), np.uint8)]))
    assert grey.mode == "LA"
    assert np.asarray(read_picture(saved(grey, "PNG")))[0, 0].tolist() == [255, 255, 255]


def test_grey_16_bits_cmyk_and_fractions():
    ramp = np.tile(np.arange(0, 256, 4, dtype=np.uint16), (8, 1))
    wanted = np.repeat(ramp[:, :, None], 3, axis=2).astype(float)
    assert close(saved(Image.fromarray(ramp.astype(np.uint8)), "PNG"), wanted, 0.01)
    assert close(saved(Image.fromarray(ramp * 257), "PNG"), wanted, 0.6)
    assert close(saved(Image.fromarray(ramp * 257), "TIFF"), wanted, 0.6)
    assert close(saved(Image.fromarray((ramp / 255).astype(np.float32)), "TIFF"), wanted, 0.6)
    assert close(saved(Image.fromarray(scene()).convert("CMYK"), "JPEG", quality=95), scene(), 8)
    assert close(
        saved(Image.fromarray(scene()).convert("1"), "PNG"),
        np.asarray(Image.fromarray(scene()).convert("1").convert("RGB")),
        0.01,
    )


def test_the_first_frame_counts():
    frames = [Image.fromarray(scene()), Image.fromarray(255 - scene())]
    for kind in ("GIF", "WEBP", "PNG", "TIFF"):
        data = saved(frames[0], kind, save_all=True, append_images=frames[1:])
        assert close(data, scene(), 8)


def test_a_large_jpeg_may_be_decoded_smaller():
    large = Image.fromarray(scene()).resize((2400, 1600))
    small = read_picture(saved(large, "JPEG"), least=400)
    assert 400 <= min(small.size) < 1600
    turned = Image.Exif()
    turned[0x0112] = 6
    assert read_picture(saved(large, "JPEG", exif=turned), least=400).size[0] < read_picture(large).size[0]


def test_a_thumbnail_is_small_and_shows_the_picture():
    small = Image.open(io.BytesIO(thumbnail(Image.fromarray(scene()).resize((600, 400)))))
    assert small.format == "WEBP"
    assert small.size == (128, 85)
    assert np.abs(np.asarray(small.convert("RGB"), dtype=float)[10, 10] - [200, 30, 30]).max() < 20


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(width: int, height: int, data: bytes, colour: int = 2) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def hostile() -> dict[str, bytes]:
    whole = {kind: saved(Image.fromarray(scene()), kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")}
    files = {f"half a {kind}": data[: len(data) // 2] for kind, data in whole.items()}
    files |= {
        "nothing": b"",
        "one byte": b"\xff",
        "text": b"This is no picture.\n" * 20,
        "page": b"<!doctype html><script>alert(1)</script>",
        "drawing of vectors": b'<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>',
        "program for a printer": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file\n",
        "document": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n",
        "zip": b"PK\x03\x04" + bytes(60),
        "only zeros": bytes(10_000),
        "only a head": whole["PNG"][:33],
        "head of a JPEG": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(50),
        "head of a HEIC file": b"\x00\x00\x00\x18ftypheic" + bytes(40),
        "bomb of 40,000 x 40,000": png_of(40_000, 40_000, zlib.compress(bytes(1000))),
        "bomb of 2,000,000,000 x 1": png_of(2_000_000_000, 1, zlib.compress(bytes(1000))),
        "no pixels": png_of(0, 0, b""),
        "other numbers than it says": png_of(500, 500, zlib.compress(bytes(10))),
        "no compressed data": png_of(5, 5, b"garbage"),
        "colours that do not exist": png_of(5, 5, zlib.compress(bytes(100)), colour=9),
        "negative height": whole["BMP"][:18] + struct.pack("<ii", 60, -2_000_000_000) + whole["BMP"][26:],
        "directory that points at itself": b"II*\x00" + struct.pack("<IHHHIII", 8, 1, 256, 3, 1, 5, 8),
        "comment that blows up": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
        + chunk(b"zTXt", b"a\x00\x00" + zlib.compress(bytes(80_000_000))) + chunk(b"IDAT", zlib.compress(bytes(2)))
        + chunk(b"IEND", b""),
    }  # fmt: skip
    return files


@pytest.mark.parametrize("name", list(hostile()))
def test_what_is_no_whole_picture_is_refused_in_one_line(name):
    data = hostile()[name]
    tracemalloc.start()
    try:
        with pytest.raises((PictureError, ImportError)) as caught:
            read_picture(data)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_picture_that_is_also_something_else_is_only_a_picture():
    data = saved(Image.fromarray(scene()), "PNG") + b"<script>alert(1)</script>PK\x03\x04"
    assert close(data, scene(), 0.01)
    assert b"script" not in thumbnail(read_picture(data))


def test_an_ending_says_nothing(tmp_path: Path):
    (tmp_path / "a.jpg").write_bytes(saved(Image.fromarray(scene()), "PNG"))
    assert (np.asarray(read_picture(tmp_path / "a.jpg")) == scene()).all()
