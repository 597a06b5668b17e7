from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import thpi.datasets
from experiments.datasets import info
from thpi.datasets import load_digits_views
from tools.make_digits import make

SIZES = {"pix": 240, "fac": 216, "fou": 76, "kar": 64, "zer": 47, "mor": 6}


@pytest.mark.parametrize("view", SIZES)
def test_every_view_has_its_published_size(view: str) -> None:
    digits = load_digits_views(target=view, source="pix")
    assert digits.target.shape == (2000, SIZES[view])
    assert np.isfinite(digits.target).all()


@pytest.mark.parametrize("view", SIZES)
def test_views_equal_the_csv_files(view: str, shared_data: Path) -> None:
    table = np.loadtxt(shared_data / "mfeat" / f"mfeat-{view}.csv", delimiter=",", skiprows=1)
    digits = load_digits_views(target=view)
    tolerance = 0 if view in ("pix", "fac", "mor") else 5.0001e-6
    np.testing.assert_allclose(digits.target, table[:, :-1], rtol=0, atol=tolerance)
    np.testing.assert_array_equal(digits.labels, table[:, -1])


def test_each_digit_occurs_200_times() -> None:
    assert np.bincount(load_digits_views().labels).tolist() == [200] * 10


def test_pictures_are_the_pixels_whatever_the_views() -> None:
    pixels = load_digits_views(target="pix").target
    digits = load_digits_views(target="mor", source="zer")
    picture = digits.show(1234).picture
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, 42 * pixels[1234].reshape(16, 15))


def test_unknown_view() -> None:
    with pytest.raises(ValueError, match=r"source='sift' must be one of pix, fac"):
        load_digits_views(source="sift")


def test_bundled_file_can_be_made_again(shared_data: Path, tmp_path: Path) -> None:
    made = tmp_path / "digits.npz"
    make(shared_data / "mfeat", made)
    assert [path.name for path in tmp_path.iterdir()] == ["digits.npz"]
    bundled = Path(str(thpi.datasets.__file__)).parent / "_bundled" / "digits.npz"
    with np.load(made) as again, np.load(bundled) as kept:
        assert again.files == kept.files
        for key in kept.files:
            np.testing.assert_array_equal(again[key], kept[key])


def test_checksum_and_licence_of_the_bundled_file() -> None:
    folder = Path(str(thpi.datasets.__file__)).parent / "_bundled"
    digest = hashlib.sha256((folder / "digits.npz").read_bytes()).hexdigest()
    assert digest == info("digits").files["digits.npz"]
    assert (folder / "digits.npz").stat().st_size < 1_500_000
    licence = (folder / "DIGITS_LICENSE.txt").read_text()
    assert "CC BY 4.0" in licence
    assert "10.24432/C5HC70" in licence
