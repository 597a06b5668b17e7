from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import thpi
from thpi.rows import MAPPED_FROM, Blocks, Mapped, Parquet, _rows, as_rows
from thpi.solvers.moments import shifted_moments


def _cut(X, sizes=(1, 3000, 0, 9000, 20_000)):
    return [X[start : start + size] for start, size in zip(np.cumsum((0, *sizes[:-1])), sizes, strict=True)]


def _parquet(X, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for i, part in enumerate(np.array_split(X, 3)):
        pq.write_table(pa.table({f"x{j}": part[:, j] for j in range(X.shape[1])}), folder / f"part-{i}.parquet")
    return Parquet(folder)


def _mapping(X, folder):
    np.save(folder / "X.npy", X)
    return Mapped(np.load(folder / "X.npy", mmap_mode="r"))


KINDS = {
    "list": lambda X, folder: Blocks(_cut(X)),
    "function": lambda X, folder: Blocks(lambda: iter(_cut(X))),
    "parquet": _parquet,
    "memory map": _mapping,
    "below": lambda X, folder: Blocks(_cut(X[100:])).below(X[:100]),
    "beside": lambda X, folder: Blocks(_cut(X[:, :5])).beside(Blocks(_cut(X[:, 5:], (500, 7000, 20_000)))),
}


@pytest.fixture(params=KINDS)
def rows(request, data, tmp_path):
    return KINDS[request.param](data, tmp_path)


def test_shape_moments_take_and_gather_are_those_of_the_array(rows, data):
    assert rows.shape == data.shape
    assert rows.dtype == data.dtype
    moments = rows.moments()
    np.testing.assert_allclose(moments.mean, data.mean(axis=0), rtol=1e-12)
    centred = data - data.mean(axis=0)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, rtol=1e-9)
    wanted = np.array([0, 1, 2999, 3001, 12_001, 20_002])
    np.testing.assert_array_equal(rows.take(wanted), data[wanted])
    np.testing.assert_array_equal(rows.gather(), data)


@pytest.mark.parametrize("spill", [False, True])
@pytest.mark.parametrize("method", ["LSH", "ITQ", "SpectralHashing"])
def test_the_model_is_that_of_the_array(method, spill, rows, data, monkeypatch):
    if spill:
        monkeypatch.setattr(_rows, "IN_MEMORY", 1000)
    # n is above the number of rows from which ITQ begins on samples of them.
    in_memory = thpi.HASHERS[method](n_bits=8, random_state=0).fit(data)
    streamed = thpi.HASHERS[method](n_bits=8, random_state=0).fit(rows)
    np.testing.assert_allclose(streamed.projection_, in_memory.projection_, atol=1e-8)
    np.testing.assert_allclose(streamed.objective_, in_memory.objective_, rtol=1e-9)
    np.testing.assert_array_equal(streamed.codes_, in_memory.codes_)
    np.testing.assert_array_equal(streamed.transform(rows), in_memory.transform(data))
    np.testing.assert_allclose(streamed.decision_function(rows), in_memory.decision_function(data), atol=1e-7)
    assert streamed.n_features_in_ == 12


@pytest.mark.parametrize("method", ["CVH", "CCAITQ"])
@pytest.mark.parametrize("kind", ["rows", "array"])
def test_pairs_are_read_side_by_side(method, kind, data):
    X, S = data[:, :7], np.tanh(data[:, 5:] / 4)
    privileged = Blocks(_cut(S, (500, 7000, 20_000))) if kind == "rows" else S
    streamed = thpi.HASHERS[method](4, random_state=0).fit(Blocks(_cut(X)), privileged=privileged)
    in_memory = thpi.HASHERS[method](4, random_state=0).fit(X, privileged=S)
    np.testing.assert_allclose(streamed.correlations_, in_memory.correlations_, rtol=1e-8)
    np.testing.assert_allclose(streamed.projection_, in_memory.projection_, atol=1e-7)
    np.testing.assert_array_equal(streamed.codes_, in_memory.codes_)
    for wrong, word in ((S[:-1], "fewer"), (np.vstack([S, S[:1]]), "more")):
        with pytest.raises(ValueError, match=f"privileged has {word} rows than X"):
            thpi.HASHERS[method](4).fit(Blocks(_cut(X)), privileged=Blocks(_cut(wrong, (500, 7000, 20_000))))


@pytest.mark.parametrize("method", ["DSH", "ITQPlus", "LapITQPlus"])
def test_methods_that_need_all_pairs_bring_them_into_memory(method, data):
    X, S = data[:300], data[:300, ::-1] ** 2
    options = {"n_bits": 4, "random_state": 0}
    streamed = thpi.HASHERS[method](**options).fit(
        Blocks([X[:100], X[100:]]), privileged=Blocks([S[:50], S[50:]]), source=Blocks([S[:10]])
    )
    in_memory = thpi.HASHERS[method](**options).fit(X, privileged=S, source=S[:10])
    np.testing.assert_array_equal(streamed.codes_, in_memory.codes_)


def test_a_mean_of_ten_thousand_times_the_spread_costs_nothing(data):
    """In float32, with the mean where its spacing is a thousandth of the spread."""
    spread = (data[:20_000] / 16).astype(np.float32)
    # Both are exact in float32: multiples of 2**-9, below 2**15.
    spread = np.round(spread * 512) / np.float32(512)
    far = spread + np.float32(16_384)
    np.testing.assert_array_equal(far - np.float32(16_384), spread)
    for method, options in (("LSH", {}), ("ITQ", {"max_iter": 4})):
        fits = [
            thpi.HASHERS[method](8, random_state=0, **options).fit(Blocks(np.array_split(X, 7))) for X in (spread, far)
        ]
        differing = np.unpackbits(fits[0].codes_ ^ fits[1].codes_).mean()
        assert differing < 5e-3, method  # the mean itself is rounded to float32
    moments = shifted_moments(far, far[:1000].mean(axis=0))
    exact = spread.astype(np.float64) - spread.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(moments.scatter, exact.T @ exact, rtol=1e-4, atol=1e-4 * np.diag(moments.scatter).max())


def test_as_rows_takes_large_maps_only(tmp_path, monkeypatch, data):
    np.save(tmp_path / "X.npy", data)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert as_rows(mapped) is None
    monkeypatch.setattr("thpi.rows.MAPPED_FROM", 1000)
    assert isinstance(as_rows(mapped), Mapped)
    assert as_rows(data) is None
    assert as_rows([[1.0]]) is None


def test_lists_in_one_parquet_column_are_vectors(tmp_path, data):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = data[:50].astype(np.float32)
    pq.write_table(pa.table({"id": range(50), "vector": list(X)}), tmp_path / "X.parquet")
    rows = Parquet(tmp_path / "X.parquet", columns=["vector"])
    np.testing.assert_array_equal(rows.gather(), X)
    assert rows.dtype == np.float32
    with pytest.raises(ValueError, match="column 'vector' holds list<.*>, not numbers"):
        Parquet(tmp_path / "X.parquet").gather()
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        Parquet(tmp_path / "X.parquet", columns=["nothing"]).gather()


def test_errors_say_what_is_wrong(data, tmp_path):
    with pytest.raises(ValueError, match="blocks is an iterator, which can be read only once"):
        Blocks(iter([data]))
    with pytest.raises(ValueError, match="X holds NaN, infinity"):
        thpi.ITQ(4).fit(Blocks([data[:100], np.where(data[:50] > 8, np.nan, data[:50])]))
    with pytest.raises(ValueError, match=r"block of shape \(10, 5\); every block must be 2-D with 12 columns"):
        thpi.ITQ(4).fit(Blocks([data[:100], data[:10, :5]]))
    with pytest.raises(ValueError, match="X has no rows"):
        thpi.ITQ(4).fit(Blocks([]))
    with pytest.raises(ValueError, match="X has 1 row; at least 2"):
        thpi.ITQ(4).fit(Blocks([data[:1]]))
    with pytest.raises(ValueError, match="X has 5 columns; the model was fitted on 12"):
        thpi.ITQ(4, random_state=0).fit(data[:100]).transform(Blocks([data[:10, :5]]))
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        thpi.ITQ(4, random_state=0).fit(data[:100]).transform(Blocks([data[:10], np.full((2, 12), np.nan)]))
    with pytest.raises(ValueError, match="at most 12, the smaller of n_features=12"):
        thpi.ITQ(13).fit(Blocks([data]))
    with pytest.raises(ValueError, match="X has 5000 columns; rows that are not in memory may have 4096"):
        thpi.ITQ(4).fit(Blocks([np.zeros((3, 5000))]))
    with pytest.raises(ValueError, match="does not exist"):
        Parquet(tmp_path / "nothing.parquet")
    with pytest.raises(ValueError, match=r"has no \*.parquet files"):
        Parquet(tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    with pytest.raises(ValueError, match=r"bad.parquet' is not a Parquet file"):
        Parquet(tmp_path).gather()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of resident memory from /proc")
def test_memory_stays_far_below_the_size_of_the_file(tmp_path):
    """A file of 400 MiB, mapped, at most 160 MiB above the start: interpreter and libraries are loaded before."""
    script = """
        import re, sys
        import numpy as np
        import thpi
        from thpi.rows import _rows
        peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
        thpi.ITQ(16, random_state=0).fit(np.random.RandomState(0).standard_normal((20_000, 32)))
        _rows.IN_MEMORY = 2**20
        before = peak()
        X = np.load(sys.argv[1], mmap_mode="r")
        hasher = thpi.ITQ(16, max_iter=10, random_state=0).fit(X)
        assert len(hasher.codes_) == len(X)
        print(peak() - before)
    """
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(1_638_400, 64))
    part = np.random.RandomState(0).standard_normal((65_536, 64)).astype(np.float32) * np.linspace(2, 1, 64)
    for start in range(0, len(X), len(part)):
        X[start : start + len(part)] = part
    X.flush()
    del X
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "X.npy")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 160
    assert MAPPED_FROM < 400 * 2**20
