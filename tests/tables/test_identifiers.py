"""A column of numbers that looks like ids is no feature without a word, and an id names one row."""

from __future__ import annotations

import numpy as np
import pytest

from thpi.tables import Choice, open_table, read_matrix

ROWS = {"x": [0.5, 1.5, 2.5], "y": [1, 2, 3]}


def _csv(path, columns):
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _parquet(path, columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.fixture(params=[("t.csv", _csv), ("t.parquet", _parquet)], ids=["csv", "parquet"])
def write(request, tmp_path):
    name, function = request.param
    return lambda columns: function(tmp_path / name, columns)


@pytest.mark.parametrize(
    "name", ["sku", "SKU", "EAN", "gtin", "isbn", "code", "nr", "No", "number", "product_id", "itemNo"]
)
def test_whole_numbers_that_are_called_like_ids_are_pointed_out(write, name):
    spec = write({name: [4006381, 4006382, 4006390], **ROWS})
    with pytest.raises(ValueError, match=f"column {name} looks like ids: whole numbers, all different") as error:
        read_matrix(Choice("DATA", spec, ignore=(), kept=()))
    for option in (f"--id {name} if", f"--ignore {name} if", f"--feature {name} if"):
        assert option in str(error.value)
    with pytest.raises(ValueError, match=f"--id {name}") as error:
        read_matrix(Choice("QUERIES", spec))
    assert "--ignore" not in str(error.value)  # the command has no such option
    assert read_matrix(Choice("DATA", spec, id=name)).names == ("x", "y")
    assert read_matrix(Choice("DATA", spec, ignore=[name])).names == ("x", "y")
    assert read_matrix(Choice("DATA", spec, kept=[name])).names == (name, "x", "y")
    assert read_matrix(Choice("DATA", spec, features=["y", name])).names == ("y", name)  # a model was fitted on it


def test_beside_a_column_of_ids_the_other_is_pointed_out_too(write):
    spec = write({"id": ["a", "b", "c"], "ean": [11, 12, 13], **ROWS})
    with pytest.raises(ValueError, match="It is not the column of ids, which is 'id', --ignore ean"):
        read_matrix(Choice("DATA", spec, ignore=()))


@pytest.mark.parametrize(
    "columns",
    [
        {"sku": [1, 2, 1]},  # an id names one row
        {"sku": [1.5, 2.5, 3.5]},
        {"rooms": [1, 2, 3]},
        {"coded": [1, 2, 3]},
        {"number_of_rooms": [1, 2, 3]},
        {"valid": [1, 2, 3]},
    ],
)
def test_other_numbers_are_features(write, columns):
    assert read_matrix(Choice("DATA", write({**columns, **ROWS}))).names == (*columns, "x", "y")


def test_the_default_id_is_the_id(write):
    found = read_matrix(Choice("DATA", write({"Id": [7, 8, 9], **ROWS})))
    assert found.names == ("x", "y")
    assert list(map(str, found.ids)) == ["7", "8", "9"]


def test_an_id_that_occurs_twice_or_is_missing_is_named(write):
    for ids, message in (
        ([7, 8, 7], "1 ids occur more than once: '7'"),
        (["a", " ", "b"], "has no id in row 1"),
    ):
        with pytest.raises(ValueError, match=message):
            list(open_table(Choice("DATA", write({"id": ids, **ROWS}))).batches)


def test_ids_that_occur_in_two_portions_are_found(write, monkeypatch):
    from thpi.tables import _records

    monkeypatch.setattr(_records, "PORTION", 16)
    n = 40
    assert len(list(open_table(Choice("DATA", write({"id": [*range(n)], "x": [0.5] * n}))).batches)) > 2
    with pytest.raises(ValueError, match="occur more than once: '3'"):
        read_matrix(Choice("DATA", write({"id": [*range(n - 1), 3], "x": [0.5] * n})))


def test_ids_may_be_in_a_file_of_their_own(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    found = read_matrix(Choice("DATA", str(tmp_path / "x.npy"), id=str(tmp_path / "names.txt")))
    assert found.ids == ["a", "b", "c"]
    np.testing.assert_array_equal(found.X, np.eye(3))
    for text, message in (("a\nb\n", "has 2 ids; DATA has 3 rows"), ("a\nb\na\n", "1 ids occur more than once: 'a'")):
        (tmp_path / "names.txt").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_matrix(Choice("DATA", str(tmp_path / "x.npy"), id=str(tmp_path / "names.txt")))
