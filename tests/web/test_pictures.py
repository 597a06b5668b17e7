from __future__ import annotations

import io

import numpy as np
import pytest

from thpi.web.pictures import image_file


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
