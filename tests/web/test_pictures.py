from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from thpi.web.pictures import image_file, picture_files


@pytest.mark.parametrize("shape", [(16, 15), (1, 1), (3, 200)])
def test_a_grey_array_becomes_the_png_that_another_library_reads(shape: tuple[int, int]) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow, which comes with matplotlib")
    pixels = np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)
    data, kind = image_file(pixels)
    opened = image.open(io.BytesIO(data))
    assert (kind, opened.format, opened.mode) == ("image/png", "PNG", "L")
    np.testing.assert_array_equal(np.asarray(opened), pixels)


def test_image_files_pass_and_others_do_not() -> None:
    assert image_file(b"RIFF\x00\x00\x00\x00WEBPVP8 ") == (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp")
    with pytest.raises(ValueError, match="PNG, JPEG, GIF or WebP"):
        image_file(b"<svg onload='alert(1)'></svg>")
    with pytest.raises(ValueError, match="2-D uint8"):
        image_file(np.zeros((2, 2, 3), dtype=np.uint8))


def test_picture_files_are_known_by_the_names_of_items(tmp_path: Path) -> None:
    for name in ("A-17.jpg", "B.2.WEBP", "notes.txt", ".hidden"):
        (tmp_path / name).write_bytes(b"")
    assert {item: path.name for item, path in picture_files(tmp_path).items()} == {
        "A-17": "A-17.jpg",
        "B.2": "B.2.WEBP",
    }
    (tmp_path / "A-17.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r"'A-17\.jpg' and 'A-17\.png' are of the same item"):
        picture_files(tmp_path)


def test_a_folder_without_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no file that ends with \.gif"):
        picture_files(tmp_path)
