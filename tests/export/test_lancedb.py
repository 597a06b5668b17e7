from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import LanceDB
from thpi.index import HammingIndex

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def package() -> Any:
    """Skip without the package. It is imported here because that takes a second."""
    return pytest.importorskip("lancedb", reason="needs lancedb: pip install 'thpi[lancedb]'")


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def test_table_is_found_again(tmp_path: Path) -> None:
    with LanceDB(tmp_path / "shop", "again", 12) as store:
        store.add(pack(np.eye(12, dtype=bool)), [f"{i}" for i in range(12)])
    with LanceDB(tmp_path / "shop", "again") as store:
        assert (store.n_bits, store.id_kind, len(store)) == (12, "string", 12)
    with pytest.raises(ValueError, match=r"n_bits=8 .* 12 bits"):
        LanceDB(tmp_path / "shop", "again", 8)
    with pytest.raises(ValueError, match="n_bits=None"):
        LanceDB(tmp_path / "shop", "not_there")


def test_nothing_is_left_behind_by_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="n_bits=None"):
        LanceDB(tmp_path / "new", "codes")
    for name in ("", "a b", "1a", "../up", "ü", "a" * 129):
        with pytest.raises(ValueError, match="table="):
            LanceDB(tmp_path / "new", name, 8)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="address=.* is a file"):
        LanceDB(tmp_path / "file", "codes", 8)


def test_foreign_table_is_refused(tmp_path: Path, package: Any) -> None:
    package.connect(tmp_path).create_table("orders", data=[{"id": 1, "price": 2.5}])
    with pytest.raises(ValueError, match="the table 'orders' has no readable description of codes"):
        LanceDB(tmp_path, "orders", 8)


def test_ids_at_the_edges(tmp_path: Path) -> None:
    ends = [-(2**63), -1, 0, 2**63 - 1]
    with LanceDB(tmp_path / "shop", "numbers", 8) as store:
        store.add(random_codes(4, 8), ends)
        np.testing.assert_array_equal(store.get_codes(ends[::-1]), random_codes(4, 8)[::-1])
        with pytest.raises(ValueError, match="beyond 64 bits"):
            store.add(random_codes(1, 8))
        store.remove(ends[:1])
        assert [item for item, _ in store] == ends[1:]
    odd = ["a\0b", "a", "line\nline", "--", "/* */", "''", "\\'"]
    with LanceDB(tmp_path / "shop", "texts", 8) as store:
        store.add(random_codes(7, 8), odd)
        np.testing.assert_array_equal(store.get_codes(odd), random_codes(7, 8))
        store.remove(odd[::2])
        assert [item for item, _ in store] == odd[1::2]


def test_many_ties_and_an_index_of_the_users(tmp_path: Path, package: Any) -> None:
    """Far more items at the k-th distance than the first answer holds; an approximate index is not used."""
    codes, queries = random_codes(3000, 6), random_codes(4, 6, seed=1)
    index = HammingIndex(6)
    index.add(codes)
    with LanceDB(tmp_path / "shop", "codes", 6) as store:
        for start in range(0, 3000, 1000):
            store.add(codes[start : start + 1000])
        for k in (1, 10, 500):
            np.testing.assert_array_equal(store.search(queries, k).ids, index.search(queries, k).ids)
        from lancedb.index import IvfFlat

        table = package.connect(tmp_path / "shop").open_table("codes")
        table.create_index("code", config=IvfFlat(distance_type="hamming", num_partitions=4))
        table.optimize()
        np.testing.assert_array_equal(store.search(queries, 300).ids, index.search(queries, 300).ids)
        assert [item for item, _ in store] == list(range(3000))


def test_what_another_connection_adds_is_seen(tmp_path: Path) -> None:
    with LanceDB(tmp_path / "shop", "codes", 8) as one:
        one.add(random_codes(2, 8))
        with LanceDB(tmp_path / "shop", "codes") as two:
            two.add(random_codes(2, 8), [7, 8])
        assert len(one) == 4
        assert one.add(random_codes(1, 8)).tolist() == [9]
        assert [item for item, _ in one] == [0, 1, 7, 8, 9]


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(ImportError, match=r"thpi\[lancedb\]"):
        LanceDB("x", "codes", 8)
