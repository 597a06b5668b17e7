from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from experiments.datasets import (
    DataAlteredError,
    DataNotFoundError,
    UnknownDatasetError,
    data_home_path,
    info,
    list_datasets,
    load,
    verify,
)


def test_data_home_is_argument_then_environment_then_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THPI_DATA", str(tmp_path / "environment"))
    assert data_home_path(tmp_path / "argument") == tmp_path / "argument"
    assert data_home_path() == tmp_path / "environment"
    monkeypatch.delenv("THPI_DATA")
    assert data_home_path() == Path.home() / "thpi_data"


@pytest.mark.parametrize("name", [name for name in list_datasets() if name not in ("digits", "shop")])
def test_missing_file_is_named_with_where_to_get_and_put_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError) as caught:
        load(name, tmp_path)
    message = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert info(name).home_page in message
    assert str(tmp_path / info(name).folder) in message
    assert any(path in message for path in info(name).files)
    assert set(verify(name, tmp_path).values()) == {"missing"}


@pytest.mark.parametrize("name", list_datasets())
def test_real_files_have_the_registered_checksums(name: str, shared_data: Path) -> None:
    report = verify(name, shared_data, strict=True)
    assert report == dict.fromkeys(info(name).files, "ok")


def test_one_altered_byte_is_found(shared_data: Path, tmp_path: Path) -> None:
    shutil.copytree(shared_data / "wiki", tmp_path / "wiki")
    path = tmp_path / "wiki" / "wiki.npz"
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(bytes(content))
    assert verify("wikipedia", tmp_path) == {"wiki.npz": "altered"}
    with pytest.raises(DataAlteredError, match=hashlib.sha256(content).hexdigest()):
        verify("wikipedia", tmp_path, strict=True)
    with pytest.raises(DataAlteredError, match=r"wiki\.npz"):
        load("wikipedia", tmp_path)


def test_altered_file_can_be_read_on_request(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bbc"
    shutil.copytree(shared_data / "bbc", folder)
    classes = folder / "bbc.classes"
    classes.chmod(0o644)
    classes.write_text("% a comment\n" + classes.read_text())
    with pytest.raises(DataAlteredError, match=r"bbc\.classes"):
        load("bbc", tmp_path)
    assert load("bbc", tmp_path, verify=False).n == 1516


def test_unknown_name_lists_the_known_ones() -> None:
    for function in (info, load, verify):
        with pytest.raises(UnknownDatasetError, match=r"name='mnist' is not a data set; known: digits, shop, bbc"):
            function("mnist")


def test_public_files_are_reported_where_present(tmp_path: Path) -> None:
    (tmp_path / "reuters" / "EN").mkdir(parents=True)
    (tmp_path / "reuters" / "EN" / "Index_EN-EN").write_text("C15 1:1\n")
    assert verify("reuters", tmp_path) == {"reuters_600.mat": "missing", "EN/Index_EN-EN": "unchecked"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bbc", {"target": 4}, "target=4 must be one of 1, 2, 3."),
        ("reuters", {"target": "NL"}, "target='NL' must be one of EN, FR, GR, IT, SP."),
        ("nuswide", {"features": "sift"}, "features='sift' must be one of color_moments, all."),
    ],
)
def test_a_view_that_is_not_known_is_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        load(name, **options)
