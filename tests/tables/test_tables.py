from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from thpi.tables import Choice, _records, open_table, read_matrix

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=30, deadline=None)
@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=FINITE),
    delimiter=st.sampled_from(",;\t"),
)
def test_csv_gives_back_every_bit(tmp_path_factory, X, delimiter):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    rows = [delimiter.join(map(repr, row)) for row in X.tolist()]
    header = delimiter.join(f"c{j}" for j in range(X.shape[1]))
    for lines in (rows, [header, *rows], ["\ufeff" + header, *rows, ""]):
        path.write_text("\n".join(lines), encoding="utf-8")
        np.testing.assert_array_equal(read_matrix(Choice("DATA", str(path)))[0], X)


def test_portions_are_the_whole(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(_records, "PORTION", 64)
    X = np.random.RandomState(0).standard_normal((53, 4))
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", fmt="%.17g")
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(4)}), tmp_path / "x.parquet")
    pq.write_table(pa.table({"vector": list(X)}), tmp_path / "lists.parquet")
    for name in ("x.npy", "x.csv", "x.parquet"):
        batches = list(open_table(Choice("DATA", str(tmp_path / name))).batches)
        assert len(batches) > 3
        assert [batch.done for batch in batches] == sorted(batch.done for batch in batches)
        assert batches[-1].done == 1
        np.testing.assert_array_equal(np.concatenate([batch.values for batch in batches]), X)
    np.testing.assert_array_equal(read_matrix(Choice("DATA", str(tmp_path / "lists.parquet")))[0], X)


def test_sparse_matrices_stay_sparse(tmp_path):
    X = sparse.random(20, 30, density=0.1, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "x.npz", X)
    read = read_matrix(Choice("DATA", str(tmp_path / "x.npz")))[0]
    assert sparse.issparse(read)
    assert abs(read - X).max() == 0


def test_columns_are_found_by_name_and_the_key_kept_apart(tmp_path):
    (tmp_path / "x.csv").write_text('a,"name, long",b\n1,"x ""1""",2\n3,"y\nz",4\n')
    table = read_matrix(Choice("DATA", str(tmp_path / "x.csv"), id="name, long", features=("b", "a")))
    np.testing.assert_array_equal(table.X, [[2, 1], [4, 3]])
    assert table.ids == ['x "1"', "y\nz"]
    assert table.names == ("b", "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cells; the first has 2"),
        ("a,b\n1,2\n3,x\n", "line 3, column b: 'x' is not a finite number (--id b if it names"),
        ("1,2\n3,nan\n", "line 2, column 2: 'nan' is not a finite number."),
        ("a,b\n1,\n", "column b: '' is not"),
        ("a,a\n1,2\n", "two columns with the same name"),
        ("", "has no rows"),
        ("a,b\n", "has no rows"),
        (b"a,b\n1,\xff\n", "not UTF-8 text"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
    ],
)
def test_what_is_wrong_in_a_csv_file_is_named(tmp_path, text, message):
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match="^DATA=") as error:
        read_matrix(Choice("DATA", str(path)))
    assert message in str(error.value)


def test_what_is_wrong_in_an_array_is_named(tmp_path):
    X = np.zeros((4, 2))
    X[3, 1] = np.inf
    np.save(tmp_path / "inf.npy", X)
    np.save(tmp_path / "flat.npy", np.zeros(3))
    np.save(tmp_path / "texts.npy", np.array([["a"]]))
    (tmp_path / "noise.npy").write_bytes(b"\x93NUMPY noise")
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 noise")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name, message in (
        ("inf.npy", "row 3 holds a NaN or an infinity"),
        ("flat.npy", "shape (3,)"),
        ("texts.npy", "dtype <U1"),
        ("noise.npy", "is not readable"),
        ("noise.npz", "is not readable"),
        ("empty.npy", "is not readable"),
    ):
        with pytest.raises(ValueError, match="^DATA=") as error:
            read_matrix(Choice("DATA", str(tmp_path / name)))
        assert message in str(error.value)


def test_what_is_wrong_in_a_parquet_file_is_named(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, None]}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"a": [True, None]}), tmp_path / "flag.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "text.parquet")
    pq.write_table(pa.table({"a": [[1.0], [1.0, 2.0]]}), tmp_path / "ragged.parquet")
    (tmp_path / "noise.parquet").write_bytes(b"PAR1 noise")
    for name, message in (
        ("null.parquet", "row 1, column a: nan"),
        ("flag.parquet", "row 1, column a: nan"),
        ("text.parquet", "column 'a' holds string, not numbers"),
        ("ragged.parquet", "different lengths"),
        ("noise.parquet", "is not a Parquet file"),
    ):
        with pytest.raises(ValueError, match="^DATA=") as error:
            read_matrix(Choice("DATA", str(tmp_path / name)))
        assert message in str(error.value)
