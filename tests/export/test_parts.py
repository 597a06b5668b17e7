from __future__ import annotations

import json

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.export import encode_parts, read_parquet, read_parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COLUMNS = [f"x{j}" for j in range(6)]


@pytest.fixture
def rows(tmp_path):
    """Five parts of 2-D rows with an id column."""
    folder = tmp_path / "rows"
    folder.mkdir()
    X = np.random.RandomState(0).standard_normal((53, 6))
    for i, at in enumerate(np.array_split(np.arange(53), 5)):
        columns = {"sku": [f"A{j}" for j in at]} | {f"x{j}": X[at, j] for j in range(6)}
        pq.write_table(pa.table(columns), folder / f"part-{i}.parquet")
    return folder, X


@pytest.fixture
def hasher(rows):
    return thpi.ITQ(5, random_state=0).fit(rows[1])


def test_one_part_an_input_part_and_the_codes_of_the_rows(rows, hasher, tmp_path):
    folder, X = rows
    told = []
    report = encode_parts(
        hasher, folder, tmp_path / "codes", ids="sku", progress=lambda done, total: told.append((done, total))
    )
    assert report == (5, 0, 53)
    assert told == [(i, 5) for i in range(6)]
    assert sorted(p.name for p in (tmp_path / "codes").glob("*.parquet")) == [f"part-{i}.parquet" for i in range(5)]
    table = read_parts(tmp_path / "codes")
    np.testing.assert_array_equal(table.codes, hasher.transform(X))
    assert list(table.ids) == [f"A{j}" for j in range(53)]
    assert table.n_bits == 5


def test_what_is_there_is_kept_and_what_is_missing_or_stale_is_made(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS)
    first = tmp_path / "codes" / "part-0.parquet"
    stamp = first.stat().st_mtime_ns
    (tmp_path / "codes" / "part-3.parquet").unlink()
    # Part 4 has got one row less since.
    pq.write_table(pq.read_table(folder / "part-4.parquet").slice(1), folder / "part-4.parquet")
    assert encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS) == (5, 3, 52)
    assert first.stat().st_mtime_ns == stamp
    np.testing.assert_array_equal(read_parquet(tmp_path / "codes" / "part-3.parquet").ids, np.arange(33, 43))
    np.testing.assert_array_equal(read_parts(tmp_path / "codes").codes, hasher.transform(np.delete(X, 43, axis=0)))


def _put(folder, name, X):
    columns = {"sku": [f"{name} {i}" for i in range(len(X))]} | dict(zip(COLUMNS, X.T, strict=True))
    pq.write_table(pa.table(columns), folder / name)


def test_rows_that_changed_are_coded_again_though_their_number_is_the_same(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS)
    X = X.copy()
    X[11:22] = -X[11:22]
    _put(folder, "part-1.parquet", X[11:22])
    assert encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS) == (5, 4, 53)
    np.testing.assert_array_equal(read_parts(tmp_path / "codes").codes, hasher.transform(X))


def test_a_part_of_another_model_is_not_kept_even_under_the_right_name(rows, hasher, tmp_path):
    folder, X = rows
    other = thpi.ITQ(5, random_state=1).fit(-X[:, ::-1])
    encode_parts(other, folder, tmp_path / "others", columns=COLUMNS)
    encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS)
    (tmp_path / "others" / "part-2.parquet").replace(tmp_path / "codes" / "part-2.parquet")
    assert encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS).kept == 4
    np.testing.assert_array_equal(read_parts(tmp_path / "codes").codes, hasher.transform(X))


def test_a_new_file_in_front_does_not_shift_numbers_silently(rows, hasher, tmp_path):
    folder, X = rows
    codes = tmp_path / "codes"
    encode_parts(hasher, folder, codes, columns=COLUMNS)
    before = {part.name: part.read_bytes() for part in codes.iterdir()}
    new = np.random.RandomState(1).standard_normal((7, 6))
    _put(folder, "a-new.parquet", new)
    with pytest.raises(ValueError, match=r"'part-0.parquet' are numbered from 0 in .* and would now be from 7: "):
        encode_parts(hasher, folder, codes, columns=COLUMNS)
    assert {part.name: part.read_bytes() for part in codes.iterdir()} == before
    assert encode_parts(hasher, folder, codes, columns=COLUMNS, renumber=True) == (6, 0, 60)
    table = read_parts(codes)
    np.testing.assert_array_equal(table.ids, np.arange(60))
    np.testing.assert_array_equal(table.codes, hasher.transform(np.concatenate([new, X])))
    # At the end it shifts nothing, and with a column of ids it shifts nothing anywhere.
    _put(folder, "z-new.parquet", new)
    assert encode_parts(hasher, folder, codes, columns=COLUMNS) == (7, 6, 67)
    encode_parts(hasher, folder, tmp_path / "named", columns=COLUMNS, ids="sku")
    _put(folder, "0-new.parquet", new)
    assert encode_parts(hasher, folder, tmp_path / "named", columns=COLUMNS, ids="sku") == (8, 7, 74)


def test_renumbering_that_was_interrupted_is_never_read_as_codes(rows, hasher, tmp_path):
    folder, _ = rows
    codes = tmp_path / "codes"
    encode_parts(hasher, folder, codes, columns=COLUMNS)
    _put(folder, "a-new.parquet", np.ones((7, 6)))

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_parts(hasher, folder, codes, columns=COLUMNS, renumber=True, progress=stop)
    with pytest.raises(ValueError, match="are not numbered 0, 1, 2, ...: thpi encode has not finished it"):
        read_parts(codes)
    assert encode_parts(hasher, folder, codes, columns=COLUMNS, renumber=True) == (6, 2, 60)
    np.testing.assert_array_equal(read_parts(codes).ids, np.arange(60))


def test_codes_of_a_file_that_is_gone_are_an_error_not_a_leftover(rows, hasher, tmp_path):
    folder, _ = rows
    encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS)
    (folder / "part-4.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-4.parquet' has codes of rows that are gone; delete it"):
        encode_parts(hasher, folder, tmp_path / "codes", columns=COLUMNS)


def test_codes_of_two_models_do_not_mix(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    other = thpi.ITQ(5, random_state=1).fit(X)
    with pytest.raises(ValueError, match=f"is of model {hasher.fingerprint_}, but MODEL is of model"):
        encode_parts(other, folder, tmp_path / "codes", ids="sku")
    with pytest.raises(ValueError, match="holds codes of another column of ids"):
        encode_parts(hasher, folder, tmp_path / "codes", ids="x0")
    with pytest.raises(ValueError, match="holds Parquet files that are not parts of codes"):
        encode_parts(hasher, folder, folder)
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        encode_parts(hasher, folder, tmp_path / "new", columns=["nothing"])


def test_commands_take_folders(rows, tmp_path, capsys):
    folder, _ = rows
    model, codes = str(tmp_path / "m.thpi"), str(tmp_path / "codes")
    assert run(["fit", str(folder), model, "--ignore", "sku", "--bits", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 53
    assert run(["encode", model, str(folder), codes, "--ids", "sku", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["parts"], facts["kept"], facts["rows"]) == (5, 0, 53)
    assert run(["encode", model, str(folder), codes, "--ids", "sku", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 5
    _put(folder, "a-new.parquet", np.ones((2, 6)))
    by_number = ["encode", model, str(folder), str(tmp_path / "numbered"), "--json"]
    assert run(by_number) == 0
    _put(folder, "0-new.parquet", np.ones((3, 6)))
    capsys.readouterr()
    assert run(by_number) == 2
    assert "number them anew with --force" in capsys.readouterr().err
    assert run([*by_number, "--force"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 0
    for name in ("a-new.parquet", "0-new.parquet"):
        (folder / name).unlink()
    assert run(["info", codes]) == 0
    assert "53" in capsys.readouterr().out
    assert run(["index", "build", codes, str(tmp_path / "i.index")]) == 0
    capsys.readouterr()
    assert run(["fit", str(folder), str(tmp_path / "n.thpi"), "--ignore", "nothing"]) == 2
    assert "there is no column 'nothing'" in capsys.readouterr().err
    assert run(["encode", model, str(folder), str(folder)]) == 2
    assert "is also an input of this command" in capsys.readouterr().err
    assert run(["encode", model, str(folder), model]) == 2
    assert "is a file; it must be a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named(rows, tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("thpi.cli._views._PATIENCE", "1s")
    folder, _ = rows
    command = ["fit", str(folder), str(tmp_path / "m.thpi"), "--scheduler", "tcp://127.0.0.1:9", "--ignore", "sku"]
    assert run(command) == 2
    assert "--scheduler 'tcp://127.0.0.1:9' does not answer" in capsys.readouterr().err
    assert not (tmp_path / "m.thpi").exists()
    assert run(["fit", "rows.csv", str(tmp_path / "m.thpi"), "--scheduler", "bad"]) == 2
