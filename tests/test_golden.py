"""Files that earlier versions wrote load for ever, and give what they gave then; tools/make_golden.py writes them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi import model_file
from thpi.export import read_parquet
from thpi.index import HammingIndex
from tools import make_golden

GOLDEN = Path(__file__).parent / "golden"


def _expected(folder):
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def _cases(kind):
    """Every file of a format in the folders of all its versions, and what is known of it."""
    return [
        pytest.param(folder / name, known, id=f"{folder.name}-{name}")
        for folder in sorted(GOLDEN.glob(f"{kind}-*"))
        for name, known in _expected(folder)["files"].items()
    ]


def _hex(codes):
    return [code.tobytes().hex() for code in codes]


@pytest.mark.parametrize(("path", "known"), _cases("models"))
def test_a_model_codes_as_it_did_when_it_was_written(path, known):
    whole = _expected(path.parent)
    rows, source_rows = np.array(whole["rows"]), np.array(whole["source_rows"])
    loaders = [thpi.ResidualQuantiser.load] if known["class"] == "ResidualQuantiser" else [thpi.load, thpi.load_encoder]
    for load in loaders:
        if "refused" in known:
            with pytest.raises(thpi.ModelFileError, match=known["refused"]):
                load(path)
            continue
        model = load(path)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            assert _hex(model.transform(rows)) == known["codes"]
        assert getattr(model, "method_name", known["class"]) == known["class"]
        if "fingerprint" in known:
            assert model.fingerprint_ == known["fingerprint"]
        if "source_codes" in known:
            assert _hex(model.transform_source(source_rows)) == known["source_codes"]


@pytest.mark.parametrize(("path", "known"), _cases("codes"))
def test_a_file_of_codes_holds_what_was_written(path, known):
    table = read_parquet(path)
    assert (table.n_bits, table.ids.tolist(), table.model) == (known["n_bits"], known["ids"], known["model"])
    assert _hex(table.codes) == known["codes"]


@pytest.mark.parametrize(("path", "known"), _cases("index"))
def test_an_index_finds_what_it_found_when_it_was_written(path, known):
    index = HammingIndex.open(path)
    assert (index.n_bits, index.recall, index.model) == (known["n_bits"], known["recall"], known["model"])
    assert (index.ids.tolist(), _hex(index.codes)) == (known["ids"], known["codes"])
    for search in known.get("searches", []):
        queries = np.array(search["codes"], dtype=np.uint8) if "codes" in search else np.array(search["projections"])
        found = index.search(queries, k=4)
        assert found.ids.tolist() == search["ids"]
        np.testing.assert_allclose(found.distances, search["distances"])


@pytest.mark.parametrize(("path", "known"), _cases("collection"))
def test_a_collection_holds_and_finds_what_it_did_when_it_was_written(path, known, tmp_path):
    copy = tmp_path / "copy.thpi"  # opening may write beside it
    copy.write_bytes(path.read_bytes())
    assert make_golden.held(copy) == known
    with thpi.open(copy) as shop:
        codes = shop.hasher.transform(np.array(_expected(path.parent)["rows"]))
        shop.add_codes(codes, None if known["ids"][:1] == [-20] else ["a", "b", "c", "d"])
        shop.check()
        assert len(shop) == len(known["ids"]) + 4


@pytest.mark.parametrize("kind", make_golden.KINDS)
def test_the_present_version_of_every_format_has_its_files(kind):
    folder = make_golden.folder_of(kind, GOLDEN)
    assert folder.is_dir(), f"write {folder.name}: python -m tools.make_golden {kind}"


def test_every_method_and_every_kind_of_file_is_among_them():
    folder = make_golden.folder_of("models", GOLDEN)
    there = {path.stem for path in folder.glob("*.thpi")}
    assert set(thpi.HASHERS) | {"quantiser"} <= there
    named = {model_file.read(path).header["hash"] for path in folder.glob("*.thpi")}
    assert named == {"linear", "offset", "eigenfunction", "kernel", None}
    assert {path.suffix[1:] for path in make_golden.folder_of("codes", GOLDEN).iterdir()} == {"parquet", "json"}


@pytest.mark.parametrize("folder", [path.name for path in sorted(GOLDEN.iterdir()) if path.is_dir()])
def test_every_file_is_loaded_and_small(folder):
    folder = GOLDEN / folder
    known = set(_expected(folder)["files"])
    files = {path.name for path in folder.iterdir()} - {"expected.json"}
    assert files == known
    assert max(path.stat().st_size for path in folder.iterdir()) < 40_000


def test_what_a_version_wrote_is_never_written_again(tmp_path):
    folder = make_golden.write("index", tmp_path)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(FileExistsError, match="index-2 exists. What a version wrote stays"):
        make_golden.write("index", tmp_path)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("kind", ["codes", "collection", "index"])
def test_the_present_code_writes_what_the_golden_files_say(kind, tmp_path):
    assert _expected(make_golden.write(kind, tmp_path)) == _expected(make_golden.folder_of(kind, GOLDEN))
