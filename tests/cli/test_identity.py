"""Codes and models that do not belong together: every command that joins them says so, and changes nothing."""

from __future__ import annotations

import io
import json
import shutil

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.codes import pack_signs
from thpi.export import FORMATS, read_npy, read_parquet, write_npy
from thpi.index import HammingIndex
from thpi.index._format import parse, snapshot_bytes


@pytest.fixture(scope="module")
def two(shop, tmp_path_factory):
    """Give a folder with the shop and a second model of the same width, with codes and an index of its own."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("shop.thpi", "codes.npy", "shop.index", "shop.csv", "target.npy"):
        shutil.copy(shop / name, folder / name)
    for arguments in (
        ["fit", "shop.csv", "other.thpi", "--ignore", "sku", "--ignore", "digit", "--bits", "24", "--method", "LSH"],
        ["encode", "other.thpi", "shop.csv", "other.npy", "--ids", "sku"],
        ["index", "build", "other.npy", "other.index"],
    ):
        assert run([str(folder / part) if "." in part else part for part in arguments]) == 0
    table = read_npy(folder / "codes.npy")
    write_npy(folder / "elsewhere.npy", table.codes, 24, [f"e{i}" for i in range(len(table.codes))])
    assert run(["index", "build", str(folder / "elsewhere.npy"), str(folder / "elsewhere.index")]) == 0
    return folder


@pytest.fixture
def prints(two):
    names = thpi.load(two / "shop.thpi").fingerprint_, thpi.load(two / "other.thpi").fingerprint_
    assert names[0] != names[1]
    return names


# Each word with a dot is a file of the folder.
MISMATCHES = [
    "search shop.index shop.csv --model other.thpi",
    "search shop.index shop.csv --model other.thpi --any-model",
    "search other.index shop.csv --model shop.thpi --order hamming",
    "search shop.index other.npy",
    "search shop.index other.index --row 3",
    "index add shop.index other.npy",
    "index add shop.index other.npy --renumber --any-model",
    "serve --model other.thpi --index shop.index",
    "serve --model other.thpi --index shop.index --any-model",
]
UNKNOWN = [
    "search elsewhere.index shop.csv --model shop.thpi",
    "search shop.index elsewhere.npy",
    "search elsewhere.index codes.npy",
    "index add shop.index elsewhere.npy",
    "index add elsewhere.index codes.npy",
    "serve --model shop.thpi --index elsewhere.index",
]


def _words(two, command):
    return [two / word if "." in word else word for word in command.split()]


@pytest.mark.parametrize("command", MISMATCHES)
def test_another_model_is_an_error_that_names_both(two, prints, refused, command):
    before = (two / "shop.index").read_bytes()
    message = refused(_words(two, command))
    assert all(name in message for name in prints)
    assert "Use the model" in message
    assert "--any-model" not in message
    assert (two / "shop.index").read_bytes() == before


@pytest.mark.parametrize("command", UNKNOWN)
def test_codes_from_elsewhere_are_an_error_that_names_the_option(two, prints, refused, command):
    message = refused(_words(two, command))
    assert prints[0] in message
    assert "--any-model" in message


@pytest.mark.parametrize("command", [command for command in UNKNOWN if command.startswith("search")])
def test_codes_from_elsewhere_are_searched_with_the_option(two, command):
    assert run([str(word) for word in _words(two, command)] + ["--any-model"]) == 0


def test_codes_from_elsewhere_are_added_with_the_option(two, tmp_path):
    for index, codes, model in (
        ("shop.index", "elsewhere.npy", thpi.load(two / "shop.thpi").fingerprint_),
        ("elsewhere.index", "codes.npy", None),
    ):
        shutil.copy(two / index, tmp_path / index)
        assert run(["index", "add", str(tmp_path / index), str(two / codes), "--any-model"]) == 0
        opened = HammingIndex.open(tmp_path / index)
        assert (len(opened), opened.model) == (600, model)


def test_where_nothing_is_known_nothing_is_asked(two, tmp_path):
    shutil.copy(two / "elsewhere.index", tmp_path / "i")
    assert run(["index", "add", str(tmp_path / "i"), str(two / "elsewhere.npy"), "--any-model"]) == 2  # ids are there
    write_npy(tmp_path / "more.npy", read_npy(two / "codes.npy").codes[:2], 24, ["new-1", "new-2"])
    assert run(["index", "add", str(tmp_path / "i"), str(tmp_path / "more.npy")]) == 0
    assert run(["search", str(tmp_path / "i"), str(tmp_path / "more.npy")]) == 0


def test_an_index_file_of_an_early_version_opens(two, tmp_path, prints, refused, capsys):
    """Its header has no entry for a model."""
    contents = parse(io.BytesIO((two / "shop.index").read_bytes()))
    header = {name: value for name, value in contents.header.items() if name not in ("model", "format", "version", "n")}
    data, _ = snapshot_bytes(header, contents.codes, contents.ids)
    assert b'"model"' not in data
    (tmp_path / "old.index").write_bytes(data)
    assert run(["info", str(tmp_path / "old.index"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["codes"], facts["fingerprint"]) == (300, None)
    assert run(["search", str(tmp_path / "old.index"), "--row", "0"]) == 0
    command = ["search", tmp_path / "old.index", two / "shop.csv", "--model", two / "shop.thpi", "--row", "3"]
    assert "--any-model" in refused(command)
    assert run([str(word) for word in command] + ["--any-model"]) == 0


@pytest.mark.parametrize("suffix", [entry.suffix for entry in FORMATS.values()])
def test_the_fingerprint_goes_from_the_model_through_every_file(two, tmp_path, prints, capsys, suffix):
    codes, index = tmp_path / f"codes{suffix}", tmp_path / "i"
    back = tmp_path / f"back{suffix}"
    for command in (
        ["encode", two / "shop.thpi", two / "target.npy", codes],
        ["index", "build", codes, index],
        ["export", index, back],
    ):
        assert run([str(word) for word in command]) == 0
    for file in (two / "shop.thpi", codes, index, back):
        capsys.readouterr()
        assert run(["info", str(file), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["fingerprint"] == prints[0]


def test_parts_of_two_models_do_not_get_into_one_folder(two, tmp_path, prints, refused):
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'thpi[parquet]'")
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = np.load(two / "target.npy")
    (tmp_path / "rows").mkdir()
    table = pa.table({f"kar{j}": X[:, j] for j in range(X.shape[1])})
    for part in range(2):
        pq.write_table(table.slice(150 * part, 150), tmp_path / "rows" / f"{part}.parquet")
    assert run(["encode", str(two / "shop.thpi"), str(tmp_path / "rows"), str(tmp_path / "codes")]) == 0
    assert read_parquet(tmp_path / "codes" / "1.parquet").model == prints[0]
    message = refused(["encode", two / "other.thpi", tmp_path / "rows", tmp_path / "codes"])
    assert all(name in message for name in prints)
    (tmp_path / "codes" / "0.parquet").unlink()
    codes = pack_signs(X[:150, :24])
    FORMATS["parquet"].write(tmp_path / "codes" / "0.parquet", codes, 24, None, prints[1])
    assert prints[1] in refused(["index", "build", tmp_path / "codes", tmp_path / "i"])
