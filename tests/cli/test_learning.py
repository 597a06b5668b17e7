"""Tables of the commands that learn, joined by id."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import thpi
from thpi.cli import run

PAIRS, TARGET = slice(10, 40), slice(0, 40)  # of 60 items; the source has all but the first ten
IDS = {"text": [f"item {i}" for i in range(60)], "number": list(range(1000, 940, -1))}
QUICK = ("m.thpi", "pictures.csv", "--bits", "4", "--method", "TransferITQ")


@pytest.fixture(scope="module")
def items():
    """Sixty items: target features, source features, kinds."""
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 4))
    X = S @ rng.standard_normal((4, 6)) + 0.1 * rng.standard_normal((60, 6))
    return X, S, [f"k{i % 3}" for i in range(60)]


def _write(path, columns, order=None):
    rows = list(zip(*columns.values(), strict=True))
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(rows if order is None else [rows[i] for i in order])


def _features(name, values):
    return {f"{name}{j}": column.tolist() for j, column in enumerate(values.T)}


@pytest.fixture(params=["text", "number"])
def tables(request, items, tmp_path):
    """The target in order, the source shuffled; the columns of a second part of the source in another order."""
    X, S, kinds = items
    ids = IDS[request.param]
    rng = np.random.RandomState(1)
    _write(tmp_path / "pictures.csv", {"id": ids[TARGET], **_features("x", X[TARGET])})
    _write(tmp_path / "named.csv", {"kind": kinds[TARGET], "id": ids[TARGET], **_features("x", X[TARGET])})
    texts = {**_features("s", S), "id": ids}
    _write(tmp_path / "texts.csv", texts, 10 + rng.permutation(50))
    _write(tmp_path / "some.csv", texts, 10 + rng.permutation(20))
    turned = {name: texts[name] for name in ("s2", "s0", "id", "s3", "s1")}
    _write(tmp_path / "more.csv", turned, 30 + rng.permutation(30))
    _write(tmp_path / "kinds.csv", {"id": ids, "kind": kinds}, rng.permutation(60))
    return tmp_path


def _build(folder, *words):
    return run(["build", *(str(folder / word) if word.endswith((".csv", ".npy", ".thpi")) else word for word in words)])


def _hasher(folder):
    with thpi.open(folder / "m.thpi") as made:
        return made.hasher


def _check(folder, items):
    """The model is that of the rows joined by hand; it does not depend on the order of rows without a partner."""
    X, S, _ = items
    expected = thpi.TransferITQ(4, random_state=0)
    expected.fit(X[PAIRS], privileged=S[PAIRS], source=S[40:], target=X[:10])
    with thpi.open(folder / "m.thpi") as made:
        model = made.hasher
        assert len(made) == 40
        by_id = dict(zip(map(str, made.ids), made.codes_of(made.ids), strict=True))
    ids = [line.split(",")[0] for line in (folder / "pictures.csv").read_text().splitlines()[1:]]
    np.testing.assert_array_equal([by_id[name] for name in ids], expected.transform(X[TARGET]))
    assert model.feature_names_in_.tolist() == [f"x{j}" for j in range(6)]
    np.testing.assert_allclose(model.projection_, expected.projection_, atol=1e-6)


def test_two_tables_are_sorted_out_by_id(tables, items, capsys):
    assert _build(tables, *QUICK, "--privileged", "texts.csv", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pairs"] == {"n_pairs": 30, "n_target": 10, "n_source": 20}
    assert (facts["evidence"]["rows"], facts["items"]) == (30, 40)
    _check(tables, items)
    assert _build(tables, *QUICK, "--privileged", "texts.csv", "--force") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "pairs by id: 30 pairs, 10 target rows without a source, 20 source rows without a target" in words


def test_source_rows_are_matched_too_and_their_columns_found_by_name(tables, items, refused):
    assert _build(tables, *QUICK, "--privileged", "some.csv", "--source", "more.csv") == 0
    _check(tables, items)
    command = ["build", tables / "n", tables / "pictures.csv", "--bits", 4, "--privileged", tables / "texts.csv"]
    assert "more.csv': 30 ids occur more than once: " in refused([*command, "--source", tables / "more.csv"])
    (tables / "few.csv").write_text("id,s0,s1,s3\nnew,1,2,3\n")
    assert "has no column 's2', which is one of the features" in refused([*command, "--source", tables / "few.csv"])
    (tables / "many.csv").write_text("id,s0,s1,s2,s3,s4\nnew,1,2,3,4,5\n")
    assert "has a column 's4', which is not one of the features" in refused([*command, "--source", tables / "many.csv"])
    ignored = [*command, "--force", "--method", "TransferITQ", "--source", tables / "many.csv", "--ignore", "s4"]
    assert run([str(word) for word in ignored]) == 0


def test_further_target_rows_are_matched_too(tables, items):
    lines = (tables / "pictures.csv").read_text().splitlines()
    (tables / "a.csv").write_text("\n".join([lines[0], *lines[1:31]]))
    (tables / "b.csv").write_text("\n".join([lines[0], *lines[31:]]))
    words = ("--privileged", "texts.csv", "--target", "b.csv", "--method", "TransferITQ", "--bits", "4")
    assert _build(tables, "m.thpi", "a.csv", *words) == 0
    _check(tables, items)


def test_any_column_may_hold_the_ids(tables, items):
    for name in ("pictures.csv", "texts.csv"):
        text = (tables / name).read_text()
        (tables / name).write_text(text.replace("id", "sku", 1))
    assert _build(tables, *QUICK, "--privileged", "texts.csv", "--id", "sku") == 0
    _check(tables, items)


def test_ids_are_no_features_of_later_tables_either(tables, items, capsys):
    X = items[0][TARGET]
    np.save(tables / "x.npy", X[:30])
    assert _build(tables, "m.thpi", "x.npy", "--bits", "4") == 0  # a model that knows no names
    path, table = str(tables / "m.thpi"), str(tables / "pictures.csv")
    capsys.readouterr()
    assert run(["search", path, table, "-k", "1", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ids = [line.split(",")[0] for line in (tables / "pictures.csv").read_text().splitlines()[1:]]
    assert [str(answer["query"]) for answer in answers] == ids
    if ids[0].isdigit():
        assert run(["add", path, table]) == 0
        with thpi.open(path) as made:
            np.testing.assert_array_equal(made.codes_of([int(name) for name in ids]), made.hasher.transform(X))


def test_columns_in_another_order_give_the_same_codes(tables):
    assert _build(tables, "m.thpi", "pictures.csv", "--bits", "4") == 0
    rows = [line.split(",") for line in (tables / "pictures.csv").read_text().splitlines()]
    turned = [row[::-1] for row in rows]
    (tables / "turned.csv").write_text("\n".join(",".join([*row[:-1], f"9{i}"]) for i, row in enumerate(turned)))
    text = (tables / "turned.csv").read_text().replace("90", "id", 1)
    (tables / "turned.csv").write_text(text)
    assert run(["add", str(tables / "m.thpi"), str(tables / "turned.csv")]) == 0
    with thpi.open(tables / "m.thpi") as made:
        np.testing.assert_array_equal(made.codes_of(made.ids[:40]), made.codes_of(made.ids[40:]))


def test_files_without_names_stay_by_position(tables, items, refused, capsys):
    X, S, _ = items
    np.save(tables / "s.npy", S[TARGET])
    np.savetxt(tables / "plain.csv", S[TARGET], delimiter=",", fmt="%.17g")
    _write(tables / "no_id.csv", _features("s", S[TARGET]))
    expected = thpi.TransferITQ(4, random_state=0).fit(X[TARGET], privileged=S[TARGET]).projection_
    for name, more in (("s.npy", ()), ("plain.csv", ()), ("no_id.csv", ("--ignore", "id"))):
        assert _build(tables, *QUICK, "--privileged", name, "--force", *more) == 0
        assert "by position: row i of both is one item" in " ".join(capsys.readouterr().out.split())
        np.testing.assert_allclose(_hasher(tables).projection_, expected, atol=1e-9)
    text = refused(["build", tables / "n", tables / "pictures.csv", "--bits", 4, "--privileged", tables / "no_id.csv"])
    assert "DATA has the column of ids 'id', but --privileged" in text
    assert "--ignore id pairs rows by position" in text
    assert "so no column 'sku'" in refused(["build", tables / "n", tables / "s.npy", "--id", "sku", "--bits", 4])


def test_ids_that_cannot_be_joined_are_named(tables, refused):
    command = ["build", tables / "n", tables / "pictures.csv", "--bits", 4, "--privileged"]
    lines = (tables / "texts.csv").read_text().splitlines()
    (tables / "twice.csv").write_text("\n".join([*lines, lines[1], lines[2]]))
    assert "twice.csv': 2 ids occur more than once: " in refused([*command, tables / "twice.csv"])
    (tables / "blank.csv").write_text("\n".join([*lines, "1,2,3,4,"]))
    assert "blank.csv' has no id in row 50" in refused([*command, tables / "blank.csv"])
    (tables / "other.csv").write_text("\n".join([lines[0], "1,2,3,4,someone else"]))
    assert "no id of DATA is in --privileged" in refused([*command, tables / "other.csv"])
    assert "has no column 'sku', only id, x0" in refused([*command, tables / "texts.csv", "--id", "sku"])
    assert not (tables / "n").exists()


def test_labels_are_a_column_a_file_by_id_or_a_file_by_position(tables, items):
    (tables / "lines.txt").write_text("\n".join(items[2][TARGET]))
    found = []
    for data, labels in (
        ("named.csv", "kind"),
        ("pictures.csv", f"{tables}/kinds.csv:kind"),
        ("pictures.csv", f"{tables}/kinds.csv"),
        ("pictures.csv", f"{tables}/lines.txt"),
    ):
        words = ("m.thpi", data, "--bits", "4", "--labels", labels, "--force", "--method", "ClassITQ")
        assert _build(tables, *words, "--privileged", "texts.csv") == 0
        found.append(_hasher(tables).projection_)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_blank_labels_and_labels_of_one_row_are_refused(tables, refused):
    command = ["build", tables / "n", tables / "named.csv", "--bits", 4, "--method", "ClassITQ"]
    lines = (tables / "named.csv").read_text().splitlines()
    lines[5] = lines[5].replace("k1", " ", 1)
    (tables / "named.csv").write_text("\n".join(lines))
    assert "--labels 'kind': 1 of 40 rows have none (" in refused([*command, "--labels", "kind"])
    # The row has no text: it is no pair, and needs no label.
    joined = [*command, "--labels", "kind", "--privileged", tables / "texts.csv"]
    assert run([str(word) for word in joined]) == 0
    kinds = (tables / "kinds.csv").read_text().splitlines()
    (tables / "kinds.csv").write_text("\n".join(kinds[:41]))
    by_id = [*command, "--force", "--ignore", "kind", "--labels"]
    assert "of 40 rows have none (" in refused([*by_id, f"{tables}/kinds.csv:kind"])
    assert "--labels 'id': all 40 rows have labels of their own" in refused([*by_id, "id"])


def test_a_method_that_uses_no_pairs_learns_from_all_target_rows(tables, capsys):
    words = ("m.thpi", "pictures.csv", "--bits", "3", "--privileged", "texts.csv", "--force", "--json", "--method")
    assert _build(tables, *words, "ITQ") == 0
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert (facts["evidence"]["rows"], facts["items"]) == (40, 40)
    assert "--privileged is not used" in captured.err
    assert _build(tables, *words, "ITQPlus") == 0
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert (facts["evidence"]["rows"], facts["items"]) == (30, 40)
    told = "10 target rows without a source are coded, but not learned from: ITQPlus learns from pairs only"
    assert told in captured.err


def test_parquet_tables_are_joined_alike(tables, items, refused):
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    for name in ("pictures", "texts"):
        pq.write_table(pc.read_csv(tables / f"{name}.csv"), tables / f"{name}.parquet")
    words = ["build", tables / "m.thpi", tables / "pictures.parquet", "--privileged", tables / "texts.parquet"]
    assert run([str(word) for word in [*words, "--bits", 4, "--method", "TransferITQ"]]) == 0
    _check(tables, items)
    (tables / "folder").mkdir()
    (tables / "pictures.parquet").rename(tables / "folder" / "a.parquet")
    words[2] = tables / "folder"
    assert "DATA is not read into memory, and cannot be joined" in refused([*words, "--force"])
    assert run(["build", str(tables / "f.thpi"), str(tables / "folder"), "--bits", "4"]) == 0
    lines = (tables / "pictures.csv").read_text().splitlines()[1:]
    with thpi.open(tables / "f.thpi") as made:
        assert made.hasher.n_features_in_ == 6
        assert [str(name) for name in made.ids] == [line.split(",")[0] for line in lines]


def test_further_rows_without_ids_cannot_be_items_beside_those_with(tables, items, refused):
    np.save(tables / "more.npy", items[0][:5])
    command = ["build", tables / "n", tables / "pictures.csv", "--bits", 4, "--target", tables / "more.npy"]
    text = "--target has no column of ids, and DATA has one"
    assert text in refused([*command, "--method", "TransferITQ", "--privileged", tables / "texts.csv"])


@pytest.mark.slow
def test_diagnose_joins_too(tables, capsys):
    words = ["diagnose", str(tables / "pictures.csv"), "--privileged", str(tables / "texts.csv"), "--bits", "4"]
    words += ["--folds", "2", "--relevance", "labels", "--labels", f"{tables}/kinds.csv:kind"]
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["joined"] == {"n_pairs": 30, "n_target": 10, "n_source": 20}
    assert (found["n_pairs"], found["n_target"], found["n_source"], found["related"]) == (30, 10, 20, True)
