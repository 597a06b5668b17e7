"""The same rows give the same answer, whatever they come in; what is not a number is refused and named."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import thpi
from thpi import views as views_module
from thpi._types import check_numbers
from thpi.codes import unpack_signs
from thpi.datasets import load_digits_views, shop_task
from thpi.rows import Blocks


def _strided(rows):
    wide = np.full((2 * rows.shape[0], 2 * rows.shape[1]), np.nan)
    wide[::2, ::2] = rows
    return wide[::2, ::2]


def _names(rows):
    return [f"c{i}" for i in range(rows.shape[1])]


CONTAINERS = {
    "fortran": np.asfortranarray,
    "strided": _strided,
    "float32": lambda rows: rows.astype(np.float32),
    "csr": sparse.csr_array,
    "pandas": lambda rows: pd.DataFrame(rows, columns=_names(rows)),
    "polars": lambda rows: pl.DataFrame(rows, schema=_names(rows)),
}


def _digits(target, source):
    digits = load_digits_views(target, source)
    order = np.random.RandomState(0).permutation(digits.n)
    pairs, others = order[:160], order[160:700]
    return digits.target[pairs], digits.source[pairs], digits.source[others], digits.labels[pairs]


def _shop():
    task = shop_task()
    return task.X[task.pairs], task.S[task.pairs], task.S[task.texts], task.labels[task.pairs]


SETS = {"digits": lambda: _digits("kar", "zer"), "shop": _shop}


@pytest.mark.slow
@pytest.mark.parametrize("relevance", thpi.RELEVANCES)
@pytest.mark.parametrize("name", SETS)
def test_the_same_rows_in_another_container_give_the_same_answer(name, relevance):
    X, S, source, y = SETS[name]()

    def fitted(as_given):
        labels = y if relevance == "labels" else None
        views = {"privileged": as_given(S), "source": as_given(source)}
        return thpi.AutoHasher(32, relevance=relevance, random_state=0).fit(as_given(X), labels, **views)

    expected = fitted(np.ascontiguousarray)
    for kind in ("float32", "csr", "pandas"):  # the others are taken for the same array; see below
        as_given = CONTAINERS[kind]
        hasher = fitted(as_given)
        assert hasher.choice_ == expected.choice_, kind
        assert abs(hasher.gain_ - expected.gain_) <= 0.3, kind
        different = unpack_signs(hasher.transform(as_given(X)), 32) != expected.signs(X)
        assert different.mean() < 1e-3, kind


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    return rng.standard_normal((40, 6)), rng.standard_normal((40, 5)), rng.standard_normal((30, 5))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_few_rows_are_learned_from_in_double_precision_and_one_order(rows, kind):
    X, S, source = (CONTAINERS[kind](part) for part in rows)
    views = thpi.TransferITQ(4).check_views(X, None, S, source, X)
    for part, given in zip((views.X, views.S, views.S_U, views.X_more), (*rows, rows[0]), strict=True):
        assert part.dtype == np.float64
        if kind == "csr":
            part = part.toarray()
        assert part.flags.c_contiguous
        np.testing.assert_array_equal(part, given.astype(np.float32) if kind == "float32" else given)
    assert views.dtype == views.given.dtype == views.take(np.arange(3)).dtype
    assert views.dtype == (np.float32 if kind == "float32" else np.float64)


def test_rows_of_double_precision_are_not_copied(rows):
    X, S, source = rows
    views = thpi.TransferITQ(4).check_views(X, None, S, source, None)
    assert np.shares_memory(views.X, X)
    assert np.shares_memory(views.S_U, source)


def test_many_rows_and_rows_in_blocks_stay_in_the_type_of_the_target(rows, monkeypatch):
    X, S, source = rows
    single = X.astype(np.float32)
    blocks = Blocks([source])
    views = thpi.LapITQPlus(4).check_views(single, None, S, blocks, None)
    assert views.X.dtype == views.S.dtype == np.float32
    assert views.S_U is blocks
    n_numbers = X.size + S.size + source.size
    for most, dtype in ((n_numbers - 1, np.float32), (n_numbers, np.float64)):
        monkeypatch.setattr(views_module, "SMALL", most)
        views = thpi.TransferITQ(4).check_views(single, None, S, sparse.csr_array(source), None)
        assert {part.dtype for part in (views.X, views.S, views.S_U)} == {np.dtype(dtype)}


def test_a_model_of_single_precision_is_that_of_the_same_numbers_in_double_precision(rows):
    X, S, source = (part.astype(np.float32) for part in rows)
    single = thpi.TransferITQ(4, random_state=0).fit(X, privileged=S, source=source)
    wide = [part.astype(np.float64) for part in (X, S, source)]
    double = thpi.TransferITQ(4, random_state=0).fit(wide[0], privileged=wide[1], source=wide[2])
    assert single.projection_.dtype == single.mean_.dtype == np.float32
    np.testing.assert_array_equal(single.projection_, double.projection_.astype(np.float32))
    np.testing.assert_array_equal(single.objective_, double.objective_)
    np.testing.assert_array_equal(single.codes_, single.transform(X))


# ---------------------------------------------------------------- what is not a number

DAYS = np.array(["2024-01-01", "2024-01-02"] * 20, dtype="datetime64[D]")[:, None]
MASKED = np.ma.masked_array(np.ones((40, 1)), mask=[[True]] + [[False]] * 39)

NOT_NUMBERS = {
    "dates": (DAYS, "holds dates or times, such as 2024-01-01; it must hold numbers. Turn them into"),
    "time spans": (DAYS - DAYS[0], "holds dates or times, such as 0 days"),
    "dates among numbers": (np.array([[1.0], [datetime.date(2024, 1, 1)]] * 20, dtype=object), "such as 2024-01-01"),
    "texts of numbers": (np.full((40, 1), "1.5"), "holds texts, such as '1.5'; it must hold numbers. Convert them"),
    "bytes of numbers": (np.full((40, 1), b"1.5"), "holds texts, such as b'1.5'"),
    "texts among numbers": (np.array([[1.0], ["1.5"]] * 20, dtype=object), "such as '1.5'"),
    "a list of texts": ([["1.5"]] * 40, "such as '1.5'"),
    "masked entries": (MASKED, "is a masked array: 1 of its 40 entries are masked, not known. Fill them"),
    "a pandas column of dates": (pd.DataFrame({"a": 1.0, "day": DAYS[:, 0]}), r"\(column 'day'\) holds dates"),
    "a pandas column of texts": (pd.DataFrame({"a": 1.0, "size": ["1.5"] * 40}), r"\(column 'size'\) holds texts"),
    "a pandas column of kinds": (
        pd.DataFrame({"a": 1.0, "size": pd.Categorical(["1.5"] * 40)}),
        r"\(column 'size'\) holds texts",
    ),
    "a polars column of dates": (
        pl.DataFrame({"a": [1.0] * 40, "day": [datetime.date(2024, 1, 1)] * 40}),
        r"\(column 'day'\) holds dates",
    ),
    "a polars column of texts": (pl.DataFrame({"a": [1.0] * 40, "size": ["1.5"] * 40}), r"\(column 'size'\) holds"),
}


@pytest.mark.parametrize("argument", ["X", "privileged", "source", "target"])
@pytest.mark.parametrize("case", NOT_NUMBERS)
def test_what_is_not_a_number_is_named(rows, argument, case):
    wrong, message = NOT_NUMBERS[case]
    arguments = {"X": rows[0], "privileged": rows[1], "source": rows[2], "target": rows[0]} | {argument: wrong}
    with pytest.raises(ValueError, match=f"^{argument} .*{message}"):
        thpi.TransferITQ(4).fit(**arguments)


@pytest.mark.parametrize("case", NOT_NUMBERS)
def test_new_rows_too(rows, case, tmp_path):
    wrong, message = NOT_NUMBERS[case]
    wide = hasattr(wrong, "columns") and len(wrong.columns) == 2
    hasher = thpi.LSH(4, random_state=0).fit(rows[0][:, : 1 + wide])
    hasher.save(tmp_path / "model")
    for coder in (hasher, thpi.load_encoder(tmp_path / "model")):
        with pytest.raises(ValueError, match=f"^X .*{message}"):
            coder.transform(wrong)
    quantiser, many = thpi.ResidualQuantiser(2, random_state=0), np.random.RandomState(0).standard_normal((300, 4))
    with pytest.raises(ValueError, match=f"^X .*{message}"):
        quantiser.fit(wrong)
    with pytest.raises(ValueError, match=f"^X .*{message}"):
        quantiser.fit(many).transform(wrong)
    with pytest.raises(ValueError, match=f"^X .*{message}"):
        thpi.compare(wrong)


def test_masked_labels_are_refused(rows):
    X, S, source = rows
    labels = np.ma.masked_array(np.arange(40) % 2, mask=np.arange(40) == 3)
    with pytest.raises(ValueError, match="y is a masked array with masked entries"):
        thpi.ClassITQ(4).fit(X, labels, privileged=S, source=source)


@pytest.mark.parametrize(
    "value",
    [
        np.array([[True, False]]),
        np.array([[1, 2.5]], dtype=object),
        np.ma.masked_array([[1.0, 2.0]]),
        [[1, 2.5]],
        pd.DataFrame({"a": [1], "b": [True]}).astype({"a": "Int64"}),
        pl.DataFrame({"a": [1], "b": [True]}),
        sparse.csr_array([[1.0, 0.0]]),
    ],
)
def test_numbers_pass(value):
    same = check_numbers("X", value)
    assert same is value or isinstance(value, list)
    shown = value if not sparse.issparse(value) else value.toarray()
    np.testing.assert_array_equal(
        np.asarray(same.toarray() if sparse.issparse(same) else same, dtype=float), np.asarray(shown, dtype=float)
    )
