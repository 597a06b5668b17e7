"""Dask with real workers in processes of their own."""

from __future__ import annotations

import numpy as np
import pytest

import thpi
from thpi.rows import DaskRows

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(data):
    """Fewer of the rows: each goes to the workers and back."""
    return data[:8_003]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_models_and_codes_are_those_in_memory(client, data):
    X = da.from_array(data, chunks=(1700, 5))  # chunks along the columns too
    for method in ("ITQ", "LSH", "SpectralHashing"):
        options = {"max_iter": 10} if method == "ITQ" else {}
        there = thpi.HASHERS[method](8, random_state=0, **options).fit(X)
        here = thpi.HASHERS[method](8, random_state=0, **options).fit(data)
        np.testing.assert_allclose(there.projection_, here.projection_, atol=1e-8)
        codes = there.transform(X)
        assert isinstance(codes, da.Array)
        assert codes.chunks[0] == X.chunks[0]
        np.testing.assert_array_equal(codes.compute(), here.codes_)
        assert there.codes_.shape == (0, 1)


def test_pairs_on_a_cluster_stay_there(client, data):
    X, S = data[:, :7], data[:, 7:]
    there = thpi.CCAITQ(4, max_iter=10, random_state=0).fit(
        da.from_array(X, chunks=(3000, -1)), privileged=da.from_array(S, chunks=(1234, -1))
    )
    here = thpi.CCAITQ(4, max_iter=10, random_state=0).fit(X, privileged=S)
    np.testing.assert_allclose(there.projection_, here.projection_, atol=1e-7)
    with pytest.raises(ValueError, match="privileged has 8002 rows and X has 8003"):
        thpi.CCAITQ(4).fit(da.from_array(X), privileged=da.from_array(S[1:]))


def test_source_rows_of_lap_itq_plus_are_hashed_where_they_are(client, data):
    X, S, more = data[:200, :6], data[:200, 6:], data[200:, 6:]
    options = {"n_bits": 4, "random_state": 0, "max_iter": 10}
    here = thpi.LapITQPlus(**options).fit(X, privileged=S, source=more)
    there = thpi.LapITQPlus(**options).fit(X, privileged=S, source=da.from_array(more, chunks=(3000, -1)))
    np.testing.assert_array_equal(there.graph_.toarray(), here.graph_.toarray())
    np.testing.assert_array_equal(there.codes_, here.codes_)


def test_only_sums_travel(client, data, monkeypatch):
    """No row reaches this process but the samples that ITQ begins with."""
    X = da.from_array(data, chunks=(1000, -1))
    monkeypatch.setattr(DaskRows, "gather", lambda self: pytest.fail("all rows were asked for"))
    monkeypatch.setattr(DaskRows, "blocks", lambda self: pytest.fail("rows were asked for, block by block"))
    taken = []
    take = DaskRows.take
    monkeypatch.setattr(DaskRows, "take", lambda self, rows: taken.append(len(rows)) or take(self, rows))
    thpi.ITQ(4, random_state=0).fit(X)
    assert sum(taken) <= (64 + 256) * 4


def test_errors_say_what_is_wrong(data):
    with pytest.raises(ValueError, match="must be a 2-D dask array"):
        DaskRows(da.zeros(5))
    X = da.from_array(data, chunks=(5000, -1))
    with pytest.raises(ValueError, match="unknown length; call its compute_chunk_sizes"):
        DaskRows(X[X[:, 0] > 3])
    with pytest.raises(ValueError, match="it must hold numbers"):
        DaskRows(da.from_array(np.array([["a"]])))
    with pytest.raises(ValueError, match="X holds NaN"):
        thpi.ITQ(4).fit(da.where(X > 20, np.nan, X))
    codes = thpi.ITQ(4, random_state=0).fit(data[:100]).transform(da.where(X > 20, np.nan, X))
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        codes.compute()


def test_integers_become_floats(data):
    whole = np.round(data * 10).astype(np.int64)
    there = thpi.ITQ(4, max_iter=10, random_state=0).fit(da.from_array(whole, chunks=(4000, -1)))
    here = thpi.ITQ(4, max_iter=10, random_state=0).fit(whole)
    np.testing.assert_allclose(there.projection_, here.projection_, atol=1e-8)
