from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import thpi
from thpi.pairing import Items, default_id, pair

ID = np.array([f"item {i}" for i in range(40)])


@pytest.fixture(scope="module")
def views():
    """Features of 40 items, a target row for the first 30 and a source row for the last 25."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((40, 3))
    return S @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((40, 5)), S


@pytest.fixture(scope="module")
def tables(views):
    """The same as two shuffled pandas frames."""
    X, S = views
    rng = np.random.RandomState(1)
    some = rng.permutation(30), 15 + rng.permutation(25)
    names = [f"x{j}" for j in range(5)], [f"s{j}" for j in range(3)]
    return tuple(
        pd.DataFrame(rows[at], columns=columns).assign(id=ID[at])
        for rows, columns, at in zip((X, S), names, some, strict=True)
    )


def _check(paired, views):
    """The 15 pairs, 15 target rows and 10 source rows are what the items say, whatever the order of the tables."""
    X, S = views
    at = [int(name.split()[1]) for name in paired.ids]
    assert sorted(at) == list(range(15, 30))
    np.testing.assert_array_equal(np.asarray(paired.X), X[at])
    np.testing.assert_array_equal(np.asarray(paired.privileged), S[at])
    for rows, expected in ((paired.target, X[:15]), (paired.source, S[30:])):
        np.testing.assert_array_equal(np.sort(np.asarray(rows), axis=0), np.sort(expected, axis=0))
    assert paired.report == (15, 15, 10)
    assert str(paired.report) == "15 pairs, 15 target rows without a source, 10 source rows without a target"


def _polars(table):
    return pl.from_pandas(table)


def _renamed(table):
    return table.rename(columns={"id": "sku"})


def _indexed(table):
    return table.set_index("id")


def _items(table):
    return Items(table.drop(columns="id").to_numpy(), table["id"].tolist())


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda t: t, None),
        (lambda t: t, "id"),
        (_renamed, "sku"),
        (_indexed, None),
        (_indexed, "id"),
        (_polars, None),
        (lambda t: _polars(_renamed(t)), "sku"),
        (_items, None),
    ],
)
def test_every_kind_of_table_is_joined(tables, views, change, column):
    target, privileged = map(change, tables)
    _check(pair(target, privileged, id=column), views)


def test_kinds_may_be_mixed_and_sparse(tables, views):
    target, privileged = tables
    dense = privileged.drop(columns="id").to_numpy()
    paired = pair(_polars(target), Items(sparse.csr_matrix(dense), privileged["id"].tolist()))
    assert sparse.issparse(paired.privileged)
    _check(paired._replace(privileged=paired.privileged.toarray(), source=paired.source.toarray()), views)


def test_what_is_joined_is_what_fit_takes(tables, views):
    X, S = views
    paired = pair(*tables)
    hasher = thpi.TransferITQ(4, random_state=0).fit(paired.X, paired.y, **paired.views)
    assert hasher.feature_names_in_.tolist() == [f"x{j}" for j in range(5)]
    at = [int(name.split()[1]) for name in paired.ids]
    rest = {"source": paired.source.to_numpy(), "target": paired.target.to_numpy()}
    expected = thpi.TransferITQ(4, random_state=0).fit(X[at], privileged=S[at], **rest)
    np.testing.assert_allclose(hasher.projection_, expected.projection_, atol=1e-9)


@pytest.mark.parametrize("change", [lambda t: t, _polars])
def test_more_source_rows_are_matched_too_and_their_columns_found_by_name(tables, views, change):
    target, privileged = tables
    turned = privileged.iloc[7:][["s2", "id", "s0", "s1"]]
    _check(pair(change(target), change(privileged.iloc[:7]), source=change(turned)), views)
    without_ids = privileged.drop(columns="id").iloc[:4]
    paired = pair(change(target), change(privileged), source=change(without_ids[["s1", "s2", "s0"]]))
    assert paired.report.n_source == 14
    np.testing.assert_array_equal(np.asarray(paired.source)[-4:], without_ids.to_numpy())
    with pytest.raises(ValueError, match="^source has no column 's1', which privileged has"):
        pair(change(target), change(privileged), source=change(without_ids.drop(columns="s1")))
    with pytest.raises(ValueError, match="privileged and source: 18 ids occur more than once: 'item"):
        pair(change(target), change(privileged), source=change(turned))


def test_labels_come_along(tables):
    target, privileged = tables
    kinds = {name: f"kind {int(name.split()[1]) % 3}" for name in ID}
    expected = [kinds[name] for name in pair(target, privileged).ids]
    in_table = target.assign(kind=target["id"].map(kinds))
    series = pd.Series(kinds).sample(frac=1, random_state=0)
    for table, labels in (
        (target, kinds),
        (target, series),
        (target, in_table["kind"].tolist()),
        (target, in_table["kind"]),
        (in_table, "kind"),
        (_polars(in_table), "kind"),
    ):
        paired = pair(table, _polars(privileged), labels=labels)
        assert paired.y.tolist() == expected
        assert paired.X.shape[1] == 5
    del kinds["item 20"]
    with pytest.raises(ValueError, match="labels: 1 of 15 rows have none \\('item 20'\\)"):
        pair(target, privileged, labels=kinds)
    with pytest.raises(ValueError, match="1 of 15 rows have none"):
        pair(target, privileged, labels=kinds | {"item 20": float("nan")})
    with pytest.raises(ValueError, match="labels has 2 entries and target 30 rows"):
        pair(target, privileged, labels=["a", "b"])
    with pytest.raises(ValueError, match="labels='kind' must be a column of target"):
        pair(target, privileged, labels="kind")
    # Rows without a partner need no label.
    assert pair(target, privileged, labels={**kinds, "item 20": "x", "item 0": None}).y is not None


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "b", "c"],
        ["Größe 42", "日本", "a\u0301"],
        [-5, 0, 2**63 - 1],
        ["x, y", "x\ny", ' "x" '],
        ["-5", "007", "7"],
    ],
)
def test_ids_of_every_kind(ids):
    paired = pair(Items(np.eye(3), ids), Items(np.arange(3)[:, None], ids[::-1]))
    assert paired.ids.tolist() == ids
    assert paired.privileged.ravel().tolist() == [2, 1, 0]
    assert (paired.source, paired.target) == (None, None)


def test_numbers_and_their_texts_are_the_same_id():
    numbers, texts = pd.DataFrame({"id": [3, 1], "x": [0.3, 0.1]}), pd.DataFrame({"id": ["1", "3"], "s": [1.0, 3.0]})
    paired = pair(numbers, texts)
    assert paired.privileged["s"].tolist() == [3, 1]
    assert paired.X.index.equals(paired.privileged.index)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["b", "a", "b", "a"], "privileged: 2 ids occur more than once: 'b', 'a'"),
        (["a", "", "c", "d"], "privileged has no id in row 1"),
        (["a", None, "c", "d"], "privileged has no id in row 1"),
        ([1.0, 2.0, 3.0, 4.0], "privileged has the id 1.0 in row 0; ids must be whole numbers or texts"),
        (
            ["x", "y", "z", "w"],
            "no id of target is in privileged: target has 'a', 'b', 'c' and 1 more; priv",
        ),
    ],
)
def test_ids_that_cannot_be_joined_are_named(ids, message):
    with pytest.raises(ValueError, match="id") as error:
        pair(Items(np.eye(4), ["a", "b", "c", "d"]), Items(np.eye(4), ids))
    assert message in str(error.value)


def test_tables_without_ids_are_refused(views):
    X, S = views
    with pytest.raises(ValueError, match="target has no ids: it must be a pandas or polars frame"):
        pair(X, S)
    with pytest.raises(ValueError, match="target has no column called id, nor an index of ids"):
        pair(pd.DataFrame(X), pd.DataFrame(S))
    with pytest.raises(ValueError, match="privileged has no column 'sku'; it has 's'"):
        pair(pl.DataFrame({"sku": [1]}), pl.DataFrame({"s": [1]}), id="sku")


def test_the_default_column_of_ids():
    assert default_id(["a", "Id"]) == "Id"
    assert default_id(["ID", "id"]) == "id"
    assert default_id(["ID", "Id"]) is None
    assert default_id([0, "video"]) is None


class TestFit:
    """``fit`` pairs by position, and refuses frames whose indexes say otherwise."""

    @pytest.fixture
    def frames(self, views):
        X, S = views
        return pd.DataFrame(X, index=ID), pd.DataFrame(S, index=ID)

    def test_indexes_that_disagree_are_refused(self, frames):
        X, S = frames
        hasher = thpi.TransferITQ(4, random_state=0)
        with pytest.raises(
            ValueError, match="privileged has the index 'item 39' in row 0 and X has 'item 0'.*thpi.pair"
        ):
            hasher.fit(X, privileged=S[::-1])
        # Shifted by one.
        whole = S.reset_index(drop=True)
        with pytest.raises(ValueError, match="privileged has the index 1 in row 0 and X has 0"):
            hasher.fit(X.iloc[:39].reset_index(drop=True), privileged=whole.iloc[1:])
        with pytest.raises(ValueError, match="y has the index 'item 39'"):
            thpi.ClassITQ(4).fit(X, pd.Series(np.arange(40) % 2, index=ID[::-1]))
        assert not hasattr(hasher, "projection_")

    def test_the_same_index_a_default_one_and_arrays_are_taken_by_position(self, frames):
        X, S = frames
        expected = thpi.TransferITQ(4, random_state=0).fit(X.to_numpy(), privileged=S.to_numpy()).codes_
        for privileged in (S, S.reset_index(drop=True), S.to_numpy(), pl.from_pandas(S)):
            hasher = thpi.TransferITQ(4, random_state=0).fit(X, privileged=privileged)
            np.testing.assert_array_equal(hasher.codes_, expected)
        thpi.ITQ(4).fit(X, privileged=S[::-1])  # which it does not use

    def test_columns_of_source_are_found_by_name(self, tables):
        paired = pair(*tables)
        hasher = thpi.TransferITQ(4, random_state=0).fit(paired.X, **paired.views)
        turned = {**paired.views, "source": thpi.Whole(paired.source[["s1", "s2", "s0"]])}
        again = thpi.TransferITQ(4, random_state=0).fit(paired.X, **turned)
        np.testing.assert_array_equal(again.projection_, hasher.projection_)
