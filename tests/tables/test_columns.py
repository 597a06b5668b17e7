from __future__ import annotations

import numpy as np
import pytest

from thpi.tables import as_ids, read_column


def test_a_column_reads_the_same_from_every_format(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = ["b", "a c", "007"]
    np.save(tmp_path / "x.npy", np.array(names))
    np.savez(tmp_path / "x.npz", other=np.zeros(2), names=np.array(names))
    (tmp_path / "x.txt").write_text("b\na c\n\n007\n")
    (tmp_path / "x.csv").write_text("n,names\n1,b\n2,a c\n3,007\n")
    (tmp_path / "one.csv").write_text("names\nb\na c\n007\n")
    pq.write_table(pa.table({"n": [1, 2, 3], "names": names}), tmp_path / "x.parquet")
    for spec in ("x.npy", "x.npz:names", "x.txt", "x.csv:names", "one.csv", "x.parquet:names"):
        assert read_column("--ids", str(tmp_path / spec)) == names
    (tmp_path / "id.csv").write_text("n,id\n1,b\n2,a c\n3,007\n")
    assert read_column("--from", str(tmp_path / "id.csv")) == names
    (tmp_path / "short.csv").write_text("n,names\n1,b\n2\n")
    with pytest.raises(ValueError, match="line 3 has 1 cells; the first has 2"):
        read_column("--ids", str(tmp_path / "short.csv:names"))
    with pytest.raises(ValueError, match="must name one of the columns n, names, as FILE:NAME"):
        read_column("--ids", str(tmp_path / "x.csv"))


def test_only_canonical_whole_numbers_become_integers():
    np.testing.assert_array_equal(as_ids(["0", "-5", str(2**63 - 1)]), [0, -5, 2**63 - 1])
    for texts in (["1", "01"], ["1", "+1"], ["1.0"], ["-0"], [str(2**63)], ["1", "x"], [" 1"]):
        assert as_ids(texts) == texts
