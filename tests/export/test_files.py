from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi import export
from thpi.codes import pack
from thpi.index import HammingIndex

WIDTHS = [1, 8, 13, 64]
FORMATS = ["npy", "parquet"]


def read_npy(path: Path) -> export.CodeTable:
    """Read a file as the page on file formats says."""
    rows = np.load(path)
    field = next(name for name in rows.dtype.names if name != "id")
    about = dict(part.split("=") for part in field.split(":")[1:])
    assert about["order"] == "little"
    return export.CodeTable.checked(rows[field], rows["id"].tolist(), int(about["bits"]), about.get("model"))


def functions(name: str) -> tuple[Any, Any]:
    def write(
        path: Path, codes: Any, n_bits: int, ids: Any = None, model: str | None = None, texts: Any = None
    ) -> None:
        getattr(export, f"write_{name}")(
            path, export.CodeTable.checked(codes, ids, n_bits, model)._replace(texts=texts)
        )

    return write, {"npy": read_npy, "parquet": export.read_parquet, "faiss": None}[name]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("n_bits", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 100])
def test_round_trip(tmp_path: Path, name: str, n_bits: int, n: int) -> None:
    write, read = functions(name)
    codes = pack(np.random.RandomState(0).rand(max(n, 1), n_bits) < 0.5)[:n]
    ids = np.random.RandomState(1).permutation(10**6)[:n] - 500_000
    write(tmp_path / "codes", codes, n_bits, ids)
    table = read(tmp_path / "codes")
    np.testing.assert_array_equal(table.codes, codes)
    np.testing.assert_array_equal(table.ids, ids)
    assert table.codes.dtype == np.uint8
    assert table.n_bits == n_bits


MODEL = "c4e8709f0e821f23"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("model", [MODEL, None])
def test_the_model_comes_back(tmp_path: Path, name: str, n: int, model: str | None) -> None:
    write, read = functions(name)
    write(tmp_path / "codes", np.zeros((n, 2), dtype=np.uint8), 13, np.arange(n), model)
    assert read(tmp_path / "codes").model == model
    with pytest.raises(ValueError, match="model='shop.thpi' must be a fingerprint"):
        write(tmp_path / "other", np.zeros((n, 2), dtype=np.uint8), 13, np.arange(n), "shop.thpi")
    assert not (tmp_path / "other").exists()


def test_a_parquet_file_without_an_entry_for_a_model_opens(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    functions("parquet")[0](tmp_path / "codes", np.arange(6, dtype=np.uint8).reshape(3, 2), 13)
    table = pq.read_table(tmp_path / "codes")
    about = json.loads(table.schema.metadata[b"thpi"])
    del about["model"]
    pq.write_table(table.replace_schema_metadata({"thpi": json.dumps(about)}), tmp_path / "codes")
    read = export.read_parquet(tmp_path / "codes")
    assert (len(read.codes), read.model) == (3, None)


IDS = ["plain", "ü ☃ 東京", "a,b", "two\nlines", '"quoted"', "-1", " "], [-(2**63), -1, 0, 2**63 - 1]


@pytest.mark.parametrize("name", [*FORMATS, "index"])
@pytest.mark.parametrize("ids", IDS, ids=["text", "integer"])
def test_ids_of_every_kind_and_the_model_go_round(tmp_path: Path, name: str, ids: list[Any]) -> None:
    codes = pack(np.random.RandomState(0).rand(len(ids), 13) < 0.5)
    if name == "index":
        index = HammingIndex(13, model=MODEL)
        index.add(codes, ids)
        index.save(tmp_path / "codes")
        read: Any = HammingIndex.open(tmp_path / "codes")
    else:
        write, reader = functions(name)
        write(tmp_path / "codes", codes, 13, ids, MODEL)
        read = reader(tmp_path / "codes")
    assert read.ids.tolist() == ids
    np.testing.assert_array_equal(read.codes, codes)
    assert read.model == MODEL


@pytest.mark.parametrize("name", ["npy", "parquet"])
def test_string_ids(tmp_path: Path, name: str) -> None:
    write, read = functions(name)
    ids = ["", "ü ☃", "long " * 50, "'\"\\\n"]
    write(tmp_path / "codes", np.arange(4, dtype=np.uint8)[:, None], 3, ids)
    table = read(tmp_path / "codes")
    assert table.ids.tolist() == ids
    assert table.codes.tolist() == [[i] for i in range(4)]


def test_string_ids_do_not_fit_into_faiss(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="strings"):
        functions("faiss")[0](tmp_path / "codes", np.zeros((1, 1), dtype=np.uint8), 3, ["a"])


def test_npy_is_plain_for_numpy(tmp_path: Path) -> None:
    functions("npy")[0](tmp_path / "codes.npy", np.array([[5], [6]], dtype=np.uint8), 3)
    rows = np.load(tmp_path / "codes.npy")
    assert rows.dtype.names == ("id", "code:bits=3:order=little")
    assert rows["code:bits=3:order=little"].tolist() == [[5], [6]]


def test_parquet_metadata_and_type(tmp_path: Path) -> None:
    write, _ = functions("parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    write(tmp_path / "codes.parquet", np.zeros((3, 2), dtype=np.uint8), 13)
    schema = pq.read_schema(tmp_path / "codes.parquet")
    assert schema.field("code").type == pa.binary(2)
    about = json.loads(schema.metadata[b"thpi"])
    assert (about["n_bits"], about["bit_order"]) == (13, "little")


def test_faiss_reads_what_was_written(tmp_path: Path) -> None:
    import faiss

    codes = pack(np.random.RandomState(0).rand(20, 16) < 0.5)
    functions("faiss")[0](tmp_path / "codes.faiss", codes, 16, np.arange(100, 120))
    index = faiss.read_index_binary(str(tmp_path / "codes.faiss"))
    distances, ids = index.search(codes, 1)
    assert (distances == 0).all()
    assert (ids[:, 0] >= 100).all()


def test_texts_are_a_column_of_parquet(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    texts = ["red", None, "ü ☃"]
    functions("parquet")[0](tmp_path / "codes", np.zeros((3, 1), dtype=np.uint8), 8, ["a", "b", "c"], texts=texts)
    assert pq.read_table(tmp_path / "codes").column("text").to_pylist() == texts
    assert export.read_parquet(tmp_path / "codes").texts == texts


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        export.read_parquet(tmp_path / "missing")
    for content in (b"", b"not at all", bytes(1000)):
        (tmp_path / "wrong").write_bytes(content)
        with pytest.raises(ValueError, match="wrong"):
            export.read_parquet(tmp_path / "wrong")


def test_another_bit_order_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    functions("parquet")[0](tmp_path / "codes", np.zeros((3, 2), dtype=np.uint8), 13)
    table = pq.read_table(tmp_path / "codes")
    about = table.schema.metadata[b"thpi"].replace(b"little", b"big")
    pq.write_table(table.replace_schema_metadata({b"thpi": about}), tmp_path / "codes")
    with pytest.raises(ValueError, match="bit order"):
        export.read_parquet(tmp_path / "codes")
