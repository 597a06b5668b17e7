from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import hamming_distances, pack
from thpi.index import HammingIndex
from thpi.stores import Qdrant

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def package() -> Any:
    """Skip without the package. It is imported here because that takes a second."""
    return pytest.importorskip("qdrant_client", reason="needs qdrant-client: pip install 'thpi[qdrant]'")


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def test_collection_is_found_again(tmp_path: Path) -> None:
    uri = str(tmp_path / "shop")
    with Qdrant(uri, "again", 12) as store:
        store.add(pack(np.eye(12, dtype=bool)), [f"{i}" for i in range(12)])
    with Qdrant(uri, "again") as store:
        assert (store.n_bits, store.id_kind, len(store)) == (12, "string", 12)
        np.testing.assert_array_equal(np.stack([code for _, code in store]), pack(np.eye(12, dtype=bool)))
    with pytest.raises(ValueError, match=r"n_bits=8 .* 12 bits"):
        Qdrant(uri, "again", 8)
    with pytest.raises(ValueError, match="n_bits=None"):
        Qdrant(uri, "not_there")


def test_closing_twice_leaves_other_stores_of_the_folder_open(tmp_path: Path) -> None:
    one, two = Qdrant(str(tmp_path), "one", 8), Qdrant(str(tmp_path), "two", 8)
    one.close()
    one.close()
    assert two.add(random_codes(2, 8)).tolist() == [0, 1]
    two.close()


def test_nothing_is_left_behind_by_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="n_bits=None"):
        Qdrant(str(tmp_path / "new"), "codes")
    for name in ("", "a b", "../up", "ü", "a" * 256):
        with pytest.raises(ValueError, match="collection="):
            Qdrant(str(tmp_path / "new"), name, 8)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="uri=.* is a file"):
        Qdrant(str(tmp_path / "file"), "codes", 8)


def test_foreign_collection_is_refused(tmp_path: Path, package: Any) -> None:
    client, models = package.QdrantClient(path=str(tmp_path)), package.models
    client.create_collection("orders", vectors_config=models.VectorParams(size=8, distance=models.Distance.DOT))
    client.close()
    with pytest.raises(ValueError, match="'orders' exists"):
        Qdrant(str(tmp_path), "orders", 8)


def test_ids_at_the_edges(tmp_path: Path) -> None:
    ends = [-(2**63), -1, 0, 2**63 - 1]
    with Qdrant(str(tmp_path), "numbers", 8) as store:
        store.add(random_codes(4, 8), ends)
        np.testing.assert_array_equal(store.get_codes(ends[::-1]), random_codes(4, 8)[::-1])
        with pytest.raises(ValueError, match="beyond 64 bits"):
            store.add(random_codes(1, 8))
        store.remove(ends[:1])
        assert [item for item, _ in store] == ends[1:]


def test_many_ties_and_more_than_one_batch(qdrant_address: str) -> None:
    codes, queries = random_codes(1300, 6), random_codes(3, 6, seed=1)
    index = HammingIndex(6)
    index.add(codes)
    with Qdrant(qdrant_address, "codes", 6) as store:
        store.add(codes)
        for k in (1, 10, 500):
            np.testing.assert_array_equal(store.search(queries, k).ids, index.search(queries, k).ids)
        assert [item for item, _ in store] == list(range(1300))


def test_a_folder_that_somebody_else_has_open_is_an_error(tmp_path: Path, package: Any) -> None:
    other = package.QdrantClient(path=str(tmp_path))
    with pytest.raises(ConnectionError, match="another program has it open"):
        Qdrant(str(tmp_path), "codes", 8)
    other.close()
    Qdrant(str(tmp_path), "codes", 8).close()


def test_the_engine_of_the_server_gives_exact_hamming_distances(tmp_path: Path) -> None:
    """The same vectors and the same exact search in Qdrant's own engine, which its package for small devices has."""
    edge = pytest.importorskip("qdrant_edge", reason="needs the package qdrant-edge-py")
    codes, queries = random_codes(3000, 64), random_codes(5, 64, seed=1)

    def signs(packed: np.ndarray) -> list[list[float]]:
        return (2.0 * np.unpackbits(packed, axis=1, bitorder="little") - 1.0).tolist()

    shard = edge.EdgeShard.create(
        str(tmp_path), edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=64, distance=edge.Distance.Dot))
    )
    points = [edge.Point(i, vector, {"id": f"item {i}"}) for i, vector in enumerate(signs(codes))]
    shard.update(edge.UpdateOperation.upsert_points(points))
    true = np.sort(hamming_distances(queries, codes), axis=1)
    for row, query in enumerate(signs(queries)):
        exact = edge.SearchParams(exact=True)
        found = shard.query(edge.QueryRequest(limit=50, query=edge.Query.Nearest(query), params=exact))
        assert [round((64 - point.score) / 2) for point in found] == true[row, :50].tolist()
        assert all((64 - point.score) / 2 == true[row, i] for i, point in enumerate(found))
    shard.close()


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(ImportError, match=r"thpi\[qdrant\]"):
        Qdrant("x", "codes", 8)
