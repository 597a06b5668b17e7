"""csv files of every kind, cut anywhere, are what the csv module of Python reads."""

from __future__ import annotations

import csv
import io
import os
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thpi.tables import Choice, open_table, read_column, read_matrix, read_stdin
from thpi.tables import _records as records

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    ids=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=12, unique=True),
    delimiter=st.sampled_from(",;\t"),
    ending=st.sampled_from(["\n", "\r\n"]),
    portion=st.sampled_from([2, 3, 8, 1000]),
)
def test_quoted_cells_survive_any_cut(tmp_path_factory, ids, delimiter, ending, portion):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ending)
    writer.writerow(["x", "id", "y", "z"])
    rows = [(i / 7, name, -i, 1e300 * i) for i, name in enumerate(ids)]
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "PORTION", portion)  # 8 bytes each
        found = read_matrix(Choice("DATA", str(path)))
    assert found.ids == ids
    np.testing.assert_array_equal(found.X, [(x, y, z) for x, _, y, z in rows])


def test_the_line_of_an_error_is_that_of_the_file(tmp_path, monkeypatch):
    """Behind cells with lines of their own, blank lines, and a cut."""
    monkeypatch.setattr(records, "PORTION", 4)
    path = tmp_path / "x.csv"
    path.write_text('id,x\n"a\nb",1\n\nc,2\n' + "".join(f"d{i},{i}\n" for i in range(30)) + "e,ten\n")
    with pytest.raises(ValueError, match=r"line 36, column x: 'ten' is not a finite number"):
        read_matrix(Choice("DATA", str(path)))


def test_a_quote_that_is_never_closed_is_an_error_and_one_within_a_cell_is_text(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('x,id\n1,a\n2,"b\n')
    with pytest.raises(ValueError, match="line 3: unexpected end of data"):
        read_matrix(Choice("DATA", str(path)))
    path.write_text('x,id\n1,5" disk\n2,b\n')
    assert read_matrix(Choice("DATA", str(path))).ids == ['5" disk', "b"]


def test_numbers_without_names_and_labels_of_a_file_without_a_header(tmp_path):
    (tmp_path / "x.tsv").write_text("1\t2.5\n-3e2\t.5\n")
    np.testing.assert_array_equal(read_matrix(Choice("DATA", str(tmp_path / "x.tsv"))).X, [[1, 2.5], [-300, 0.5]])
    (tmp_path / "labels.csv").write_text("3\n1\n3\n")
    assert read_column("--labels", str(tmp_path / "labels.csv")) == ["3", "1", "3"]


def test_a_column_that_is_both_id_and_feature(tmp_path):
    (tmp_path / "x.csv").write_text("no,x\n1,2\n3,4\n")
    found = read_matrix(Choice("DATA", str(tmp_path / "x.csv"), id="no", features=["no", "x"]))
    assert found.ids == ["1", "3"]
    np.testing.assert_array_equal(found.X, [[1, 2], [3, 4]])


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes")
@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (b"id,x,y\na,1,2\n", b"b,3,4\nc,5,6\n", [["a"], ["b", "c"]]),
        (b'{"id": "a", "vector": [1, 2]}\n', b'{"id": "b", "vector": [3, 4]}\n[5, 6]\n', [["a"], ["b", 2]]),
    ],
    ids=["csv", "json"],
)
def test_rows_on_standard_input_are_there_as_soon_as_they_come(monkeypatch, first, second, names):
    """The second part is written only when the first has been read; waiting for more would never end."""
    reading, writing = os.pipe()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.FileIO(reading))))
    os.write(writing, first)
    late = threading.Timer(20, os.close, (writing,))  # ends a test that waits
    late.start()
    batches = read_stdin(None, None)
    assert next(batches).ids == names[0]
    os.write(writing, second)
    assert next(batches).ids == names[1]
    late.cancel()
    os.close(writing)
    assert list(batches) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]\n[2]\n[NaN]", "line 3 must be a list of finite numbers"),
        ("[1]\n[1]\n[1, 2]", "line 3 has 2 numbers; the first has 1"),
        ("[1]\n[2]\n[3", "line 3 is not JSON"),
        ("x,y\n1,2\n\n3,four\n", "line 4, column y: 'four' is not a finite number"),
        ("x,y\n1,2\n3\n", "line 3 has 1 cells; the first has 2"),
    ],
)
def test_the_line_of_an_error_on_standard_input(monkeypatch, text, message):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    with pytest.raises(ValueError, match=message):
        list(read_stdin(None, None))


def test_a_wide_table_is_read_at_once_and_not_twice(tmp_path):
    X = np.random.RandomState(0).standard_normal((5, 3000))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", fmt="%.17g")
    (batch, *more) = open_table(Choice("DATA", str(tmp_path / "x.csv"))).batches
    found = np.vstack([batch.values, *(each.values for each in more)])
    np.testing.assert_array_equal(found, X)
