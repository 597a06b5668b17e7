"""What holds for every method: kinds of input, determinism, errors."""

from __future__ import annotations

import copy
import subprocess
import sys
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import thpi
from thpi.codes import pack_signs, unpack_signs

METHODS = list(thpi.HASHERS.values())
PAIRED = [method for method in METHODS if method.needs_privileged]


def _marked(method, *others):
    """Mark AutoHasher as slow: it fits many candidates."""
    return pytest.param(method, *others, marks=[pytest.mark.slow] if issubclass(method, thpi.AutoHasher) else [])


MARKED = [_marked(method) for method in METHODS]


@pytest.fixture(scope="module")
def views():
    rng = np.random.RandomState(0)
    latent = rng.standard_normal((130, 6))
    target = latent[:80] @ rng.standard_normal((6, 14)) + 0.3 * rng.standard_normal((80, 14)) + 1
    source = latent @ rng.standard_normal((6, 12)) + 0.3 * rng.standard_normal((130, 12)) - 2
    return target, source[:80], source[80:]


def _fit(method, views, **params):
    X, S, S_U = views
    return method(**{"n_bits": 11, "random_state": 0} | params).fit(X, privileged=S, source=S_U)


@pytest.fixture(scope="module")
def fitted(views):
    """Give a function that gives a method fitted on the views: fitted once, and a copy for each test."""
    once = cache(lambda method, **params: _fit(method, views, **params))
    return lambda method, **params: copy.deepcopy(once(method, **params))


@pytest.mark.parametrize(("method", "kernel"), [*(_marked(m, False) for m in METHODS), _marked(thpi.AutoHasher, True)])
def test_outputs_agree_with_each_other(method, kernel, views, fitted):
    hasher = fitted(method, **({"kernel": kernel} if issubclass(method, thpi.AutoHasher) else {}))
    X = views[0]
    values = hasher.decision_function(X)
    assert values.shape == (80, 11)
    assert values.dtype == np.float64
    signs = hasher.signs(X)
    assert signs.dtype == np.int8
    np.testing.assert_array_equal(signs, np.where(values >= 0, 1, -1))
    codes = hasher.transform(X)
    assert codes.shape == (80, 2)
    np.testing.assert_array_equal(codes, pack_signs(values))
    np.testing.assert_array_equal(unpack_signs(codes, 11), signs)
    assert hasher.codes_.shape == (80, 2)
    if kernel:  # of the kernels of a row and the landmarks, here all rows
        assert hasher.is_kernel_
        assert hasher.projection_.shape == (80, 11)
        np.testing.assert_allclose(hasher.centre_, X.mean(axis=0))
    else:
        assert hasher.projection_.shape == (14, 11)
        np.testing.assert_allclose(hasher.mean_, X.mean(axis=0))
    assert len(hasher.objective_) == hasher.n_iter_
    assert isinstance(hasher.converged_, bool)


BENT = ("SpectralHashing", "DSH", "TwoSidedITQ", "AutoHasher")


@pytest.mark.parametrize("method", [m for m in METHODS if m.__name__ not in BENT])
def test_the_projection_is_the_whole_hash_function(method, views, fitted):
    hasher = fitted(method)
    values = (views[0] - hasher.mean_) @ hasher.projection_
    np.testing.assert_array_equal(hasher.transform(views[0]), pack_signs(values))


@pytest.mark.parametrize("method", MARKED)
def test_float32_stays_float32(method, views):
    hasher = _fit(method, [v.astype(np.float32) for v in views])
    assert hasher.projection_.dtype == hasher.mean_.dtype == np.float32
    assert hasher.decision_function(views[0].astype(np.float32)).dtype == np.float32
    if method.__name__ in ("LSH", "SpectralHashing", "CVH"):  # the others may settle in another local optimum
        same = unpack_signs(hasher.transform(views[0]), 11) == _fit(method, views).signs(views[0])
        assert same.mean() > 0.99


@pytest.mark.parametrize("method", MARKED)
def test_kinds_of_input_give_the_same_codes(method, views, fitted, tmp_path):
    expected = fitted(method).transform(views[0])
    mapped = []
    for i, view in enumerate(views):
        np.save(tmp_path / f"{i}.npy", view)
        mapped.append(np.load(tmp_path / f"{i}.npy", mmap_mode="r"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (
            mapped,
            [view.tolist() for view in views],
            [np.asfortranarray(view) for view in views],
            [pd.DataFrame(view).rename(columns=str) for view in views],
            [pl.DataFrame(view) for view in views],
        ):
            np.testing.assert_array_equal(_fit(method, kind).transform(kind[0]), expected)


@pytest.mark.parametrize("method", MARKED)
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.coo_matrix])
def test_sparse_input_gives_the_same_hash_function(method, container):
    rng = np.random.RandomState(0)
    X, S, S_U = (np.round(np.maximum(rng.standard_normal((n, d)), 0), 3) for n, d in ((60, 14), (60, 12), (40, 12)))
    # LSH, SH and CVH have one answer; for the alternating methods compare what they start from and that they run.
    one = _fit(method, (X, S, S_U))
    other = _fit(method, [container(view) for view in (X, S, S_U)])
    if method.__name__ in ("LSH", "SpectralHashing", "CVH", "ITQ", "CCAITQ"):
        np.testing.assert_allclose(other.decision_function(container(X)), one.decision_function(X), atol=1e-6)
    assert other.transform(container(X)).shape == (60, 2)
    np.testing.assert_array_equal(other.transform(container(X)), other.transform(X))


def _wide_sparse(rng, n=100, d=100_000, per_row=30):
    columns = rng.randint(d, size=n * per_row)
    return sparse.csr_matrix((rng.uniform(size=n * per_row), (np.repeat(np.arange(n), per_row), columns)), shape=(n, d))


@pytest.mark.slow
@pytest.mark.parametrize("method", MARKED)
def test_wide_sparse_input_is_not_made_dense(method):
    rng = np.random.RandomState(0)
    X, S = _wide_sparse(rng), _wide_sparse(rng)
    dense = 8 * X.shape[0] * X.shape[1]  # 80 MB
    tracemalloc.start()
    method(n_bits=8, random_state=0).fit(X, privileged=S).transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * dense


@pytest.mark.parametrize("method", MARKED)
def test_integers_and_repeated_fits_are_deterministic(method, views):
    whole = [np.rint(10 * view).astype(np.int32) for view in views]
    first = _fit(method, whole)
    assert first.projection_.dtype == np.float64
    second = _fit(method, whole)
    assert first.projection_.tobytes() == second.projection_.tobytes()
    assert first.codes_.tobytes() == second.codes_.tobytes()
    if method.__name__ not in ("SpectralHashing", "CVH", "AutoHasher"):  # these may find the same from another state
        assert first.projection_.tobytes() != _fit(method, whole, random_state=1).projection_.tobytes()


@pytest.mark.parametrize("method", MARKED)
@pytest.mark.parametrize("units", [(2.0**20, 1.0), (2.0**-20, 1.0), (1.0, 2.0**20), (1.0, 2.0**-20)])
def test_units_of_target_and_source_do_not_matter(method, units, views, fitted):
    """Powers of two, which change no digit: the codes are the same to the bit."""
    X, S, S_U = views
    in_units = units[0] * X, units[1] * S, units[1] * S_U
    meaning = {"relevance": "source"} if "relevance" in method().get_params() else {}
    expected = fitted(method, **meaning).transform(X)
    np.testing.assert_array_equal(_fit(method, in_units, **meaning).transform(units[0] * X), expected)


@pytest.mark.slow
def test_bytes_are_the_same_in_another_process_with_pinned_threads(views):
    code = """
import sys, hashlib, numpy as np, thpi
from threadpoolctl import threadpool_limits
methods = thpi.HASHERS.values()  # loads scipy's BLAS, which the limit below must find
rng = np.random.RandomState(0)
S = rng.standard_normal((150, 20)); X = S[:100] @ rng.standard_normal((20, 30))
with threadpool_limits(1):
    digest = hashlib.sha256()
    for method in methods:
        hasher = method(n_bits=16, random_state=5).fit(X, privileged=S[:100], source=S[100:])
        digest.update(hasher.projection_.tobytes())
print(digest.hexdigest())
"""
    run = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)]
    assert run[0] == run[1]
    assert len(run[0].strip()) == 64


@pytest.mark.parametrize("method", MARKED)
def test_the_number_of_threads_changes_no_byte_of_a_model(method, tmp_path):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((420, 150)) * np.linspace(2, 0.2, 150)
    X = S @ rng.standard_normal((150, 200)) + rng.standard_normal((420, 200))
    for n in (1, 2):
        with threadpool_limits(n):
            _fit(method, (X[:300], S[:300], S[300:])).save(tmp_path / str(n))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize("method", MARKED)
def test_transform_runs_over_blocks(method, views, fitted, monkeypatch):
    from thpi.solvers import blocks

    hasher = fitted(method)
    whole = hasher.transform(views[0])
    for limit in ("CACHED", "_LARGEST"):
        monkeypatch.setattr(blocks, limit, 8 * 14 * 7)
    np.testing.assert_array_equal(hasher.transform(views[0]), whole)


# ---------------------------------------------------------------- data that look odd but are allowed


@pytest.mark.parametrize("method", MARKED)
def test_constant_and_duplicate_columns_and_rows_work(method, views):
    X, S, S_U = (view.copy() for view in views)
    X[:, 3], X[:, 4] = 7.0, X[:, 5]
    S[:, 0], S_U[:, 0] = 0.0, 0.0
    X[20:40], S[20:40] = X[:20], S[:20]
    hasher = _fit(method, (X, S, S_U), n_bits=5)
    assert np.isfinite(hasher.projection_).all()
    np.testing.assert_array_equal(hasher.transform(X[20:40]), hasher.transform(X[:20]))


@pytest.mark.parametrize("method", MARKED)
def test_source_may_be_left_out_or_empty(method, views):
    X, S, S_U = views
    one = method(n_bits=4, random_state=0).fit(X, privileged=S)
    other = method(n_bits=4, random_state=0).fit(X, privileged=S, source=S_U[:0])
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


@pytest.mark.parametrize("method", [m for m in METHODS if not (m.needs_privileged or m.uses_source)])
def test_methods_without_source_ignore_it(method, views):
    X = views[0]
    plain = method(n_bits=4, random_state=0).fit(X)
    np.testing.assert_array_equal(_fit(method, views, n_bits=4).transform(X), plain.transform(X))
    np.testing.assert_array_equal(
        method(n_bits=4, random_state=0).fit(X, privileged="anything", source=None).transform(X), plain.transform(X)
    )


@pytest.mark.parametrize("method", PAIRED)
def test_a_source_narrower_than_the_code(method, views):
    X, S, S_U = views
    narrow = (X, S[:, :3], S_U[:, :3])
    if method.__name__ in ("CVH", "CCAITQ"):
        with pytest.raises(ValueError, match="n_bits=11 is more than .* can give.*privileged columns=3"):
            _fit(method, narrow)
    else:
        fitted = _fit(method, narrow)
        assert fitted.projection_.shape == (14, 11)
        if method.__name__ not in ("TransferITQ", "TwoSidedITQ"):
            assert fitted.slack_projection_.shape == (3, 11)


# ---------------------------------------------------------------- errors


def _bad(views, **changes):
    X, S, S_U = (view.copy() for view in views)
    arguments = {"X": X, "privileged": S, "source": S_U}
    for name, change in changes.items():
        arguments[name] = change(arguments[name])
    return arguments


def _poke(value):
    def change(array):
        array[2, 1] = value
        return array

    return change


BAD_FOR_ALL = {
    "NaN in X": ({"X": _poke(np.nan)}, "X contains NaN"),
    "infinity in X": ({"X": _poke(np.inf)}, "X contains infinity"),
    "numbers too large to be squared": ({"X": lambda X: X * 1e200}, "X holds .*e\\+200; .* must not exceed"),
    "empty X": ({"X": lambda X: X[:0]}, "X: .*0 sample"),
    "no columns": ({"X": lambda X: X[:, :0]}, "X: .*0 feature"),
    "one row": ({"X": lambda X: X[:1], "privileged": lambda S: S[:1]}, "X: .*1 sample"),
    "strings": ({"X": lambda X: np.full(X.shape, "red")}, "X holds texts, such as 'red'; it must hold numbers"),
    "one dimension": ({"X": lambda X: X[0]}, "X: .*2D array"),
}
BAD_FOR_PAIRED = {
    "privileged missing": ({"privileged": lambda S: None}, "needs privileged=.*privileged=None"),
    "other number of rows": ({"privileged": lambda S: S[1:]}, "privileged has 79 rows and X has 80"),
    "NaN in privileged": ({"privileged": _poke(np.nan)}, "privileged contains NaN"),
    "too large numbers in privileged": ({"privileged": lambda S: S * 1e200}, "privileged holds"),
    "strings in privileged": (
        {"privileged": lambda S: np.full(S.shape, "red")},
        "privileged holds texts, such as 'red'",
    ),
    "empty privileged": ({"privileged": lambda S: S[:0]}, "privileged: .*0 sample"),
}
BAD_FOR_SOURCE = {
    "other width": ({"source": lambda S: S[:, 1:]}, "source has 11 columns and privileged has 12"),
    "a number as source": ({"source": lambda S: 5}, "source: .*2D array"),
    "text as source": ({"source": lambda S: "abc"}, "source holds texts, such as 'abc'"),
    "ragged source": ({"source": lambda S: [[1.0], [1.0, 2.0]]}, "source: "),
    "empty source of another width": ({"source": lambda S: S[:0, 1:]}, "source has 11 columns and privileged has 12"),
    "NaN in source": ({"source": _poke(np.nan)}, "source contains NaN"),
}


@pytest.mark.parametrize(
    ("method", "case"),
    [_marked(m, c) for m in METHODS for c in BAD_FOR_ALL]
    + [_marked(m, c) for m in PAIRED for c in BAD_FOR_PAIRED]
    + [_marked(m, c) for m in METHODS if m.uses_source for c in BAD_FOR_SOURCE],
)
def test_bad_input_is_named_and_leaves_nothing_behind(method, case, views, fitted):
    changes, message = (BAD_FOR_ALL | BAD_FOR_PAIRED | BAD_FOR_SOURCE)[case]
    arguments = _bad(views, **changes)
    fresh = method(n_bits=4, random_state=0)
    with pytest.raises(ValueError, match=message):
        fresh.fit(**arguments)
    assert set(vars(fresh)) == set(method().get_params())
    hasher = fitted(method, n_bits=4)
    before = hasher.transform(views[0])
    with pytest.raises(ValueError, match=message):
        hasher.fit(**arguments)
    np.testing.assert_array_equal(hasher.transform(views[0]), before)


@pytest.mark.parametrize("method", MARKED)
def test_an_interrupted_fit_leaves_nothing_behind(method, views, monkeypatch):
    hasher = method(n_bits=4, random_state=0)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(hasher, "_fit", interrupt)
    names = set(vars(hasher))
    with pytest.raises(KeyboardInterrupt):
        hasher.fit(views[0], privileged=views[1])
    assert set(vars(hasher)) == names


FREE = ("LSH", "SpectralHashing", "TwoSidedITQ")
"""Random directions, several frequencies on one axis, and a frame: their bits need not be orthogonal."""


@pytest.mark.parametrize("method", [m for m in METHODS if m.__name__ not in (*FREE, "DSH")])
@pytest.mark.parametrize("rows", [80, 9])
def test_too_many_bits_say_how_many_there_can_be(method, rows, views):
    X, S, S_U = views
    most = min(rows - 1, 12 if method.__name__ in ("CVH", "CCAITQ") else 14)
    with pytest.raises(ValueError, match=f"n_bits=20 is more than {method.__name__} can give.*at most {most},"):
        method(n_bits=20).fit(X[:rows], privileged=S[:rows], source=S_U)
    method(n_bits=most).fit(X[:rows], privileged=S[:rows], source=S_U)


@pytest.mark.parametrize("method", [m for m in METHODS if m.__name__ in FREE])
def test_bits_that_need_not_be_orthogonal_may_be_more_than_the_columns(method, views):
    X, S, S_U = views
    hasher = method(n_bits=40, random_state=0).fit(X, privileged=S, source=S_U)
    assert len(np.unique(hasher.signs(X), axis=1).T) > 2 * X.shape[1]  # each cuts the rows in its own way


def test_too_many_bits_for_the_groups_of_dsh(views):
    with pytest.raises(ValueError, match="n_bits=40 is more than DSH can give.*at most n_bits="):
        thpi.DSH(n_bits=40, random_state=0).fit(views[0][:6])


@pytest.mark.parametrize("method", MARKED)
def test_errors_of_transform(method, views, fitted):
    with pytest.raises(ValueError, match="not fitted"):
        method().transform(views[0])
    hasher = fitted(method)
    with pytest.raises(ValueError, match="X has 13 features, but .* is expecting 14"):
        hasher.transform(views[0][:, 1:])
    with pytest.raises(ValueError, match="X contains NaN"):
        hasher.decision_function(np.full((1, 14), np.nan))


class _Unusual(np.ndarray):
    """Not quite an array: scikit-learn checks it, whatever is in it."""


def _rows_to_code():
    X = np.random.RandomState(1).standard_normal((4, 14))
    odd = {name: X.copy() for name in ("nan", "inf", "both", "huge")}
    odd["nan"][2, 3], odd["inf"][0, 0], odd["both"][1, :2] = np.nan, np.inf, (np.inf, -np.inf)
    odd["huge"][3, :3] = 1.7e308  # finite, though their sum is not
    kinds = {"float32": X.astype(np.float32), "swapped": X.astype(X.dtype.newbyteorder()), "integers": X.astype(int)}
    kinds |= {"columns first": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=0)[::2], "complex": X + 1j}
    shapes = {"no row": X[:0], "flat": X[0], "narrow": X[:, 1:], "deep": X[None]}
    return {"plain": X} | odd | kinds | shapes


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("output", ["transform", "decision_function"])
@pytest.mark.parametrize("rows", _rows_to_code().values(), ids=_rows_to_code())
def test_an_array_is_coded_or_refused_as_scikit_learn_would(rows, output, views):
    """Arrays that need no check are not checked; the answer is the same, or the error."""

    def answer(X):
        try:
            return getattr(hasher, output)(X).tobytes()
        except ValueError as error:
            return str(error)

    hasher = _fit(thpi.ITQ, views)
    assert answer(rows) == answer(rows.view(_Unusual))


def test_rows_without_names_are_warned_of_if_the_model_knows_names(views):
    X = pd.DataFrame(views[0]).rename(columns=str)
    hasher = thpi.ITQ(n_bits=8, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        codes = hasher.transform(views[0])
    np.testing.assert_array_equal(codes, hasher.transform(X))


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        (thpi.LSH, {"n_bits": 0}, "'n_bits' parameter of LSH .* Got 0"),
        (thpi.LSH, {"n_bits": 8.5}, "Got 8.5"),
        (thpi.ITQ, {"max_iter": 0}, "max_iter"),
        (thpi.ITQPlus, {"lambda1": -1}, "'lambda1' parameter of ITQPlus .* Got -1"),
        (thpi.ITQPlus, {"variant": "free"}, "'variant'.*'free'"),
        (thpi.LapITQPlus, {"lambda2": -0.1}, "'lambda2'"),
        (thpi.LapITQPlus, {"n_neighbors": 0}, "'n_neighbors'"),
        (thpi.LapITQPlus, {"graph_scope": "some"}, "'graph_scope'"),
        (thpi.DSH, {"expansion": 0}, "'expansion'"),
        (thpi.LSH, {"random_state": "seed"}, "'random_state'"),
    ],
)
def test_bad_parameters_are_named_with_what_is_allowed(method, params, message, views):
    with pytest.raises(ValueError, match=message):
        _fit(method, views, **params)


def test_import_is_fast_because_it_is_lazy():
    code = "import sys, thpi; print([m for m in ('sklearn', 'scipy', 'faiss', 'pandas', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert set(thpi.__all__) <= set(dir(thpi))
    with pytest.raises(AttributeError, match="nothing"):
        _ = thpi.nothing
