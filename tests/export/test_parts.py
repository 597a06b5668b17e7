from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thpi
from thpi.export import encode_parts, read_parquet
from thpi.identity import ModelMismatchError

COLUMNS = [f"x{j}" for j in range(6)]


def _put(folder, name, X, ids=None):
    columns = {"sku": ids or [f"{name} {i}" for i in range(len(X))]} | dict(zip(COLUMNS, X.T, strict=True))
    pq.write_table(pa.table(columns), folder / name)


@pytest.fixture
def rows(tmp_path):
    """Five parts of 2-D rows with an id column."""
    folder = tmp_path / "rows"
    folder.mkdir()
    X = np.random.RandomState(0).standard_normal((53, 6))
    for i, at in enumerate(np.array_split(np.arange(53), 5)):
        _put(folder, f"part-{i}.parquet", X[at], [f"A{j}" for j in at])
    return folder, X


@pytest.fixture
def hasher(rows):
    return thpi.ITQ(5, random_state=0).fit(rows[1])


def _codes(report):
    return np.concatenate([read_parquet(file).codes for file in report.files])


def test_one_part_an_input_part_and_the_codes_of_the_rows(rows, hasher, tmp_path):
    folder, X = rows
    told = []
    report = encode_parts(
        hasher, folder, tmp_path / "codes", ids="sku", progress=lambda done, total: told.append((done, total))
    )
    assert report.kept == 0
    assert told == [(i, 5) for i in range(6)]
    assert [file.name for file in report.files] == [f"part-{i}.parquet" for i in range(5)]
    assert sorted(report.files) == sorted((tmp_path / "codes").iterdir())
    np.testing.assert_array_equal(_codes(report), hasher.transform(X))
    assert [item for file in report.files for item in read_parquet(file).ids] == [f"A{j}" for j in range(53)]
    assert {(read_parquet(file).n_bits, read_parquet(file).model) for file in report.files} == {
        (5, hasher.fingerprint_)
    }


def test_a_collection_takes_the_parts(rows, tmp_path):
    folder, X = rows
    shop = thpi.build(tmp_path / "shop.thpi", X[:10], bits=5, ids=[f"first {i}" for i in range(10)])
    for file in encode_parts(shop.hasher, folder, tmp_path / "codes", ids="sku").files:
        part = read_parquet(file)
        shop.add_codes(part.codes, part.ids)
    assert len(shop) == 63
    np.testing.assert_array_equal(shop.codes_of(["A52", "A7"]), shop.hasher.transform(X[[52, 7]]))


def test_what_is_there_is_kept_and_what_is_missing_or_stale_is_made(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku", columns=COLUMNS)
    first = tmp_path / "codes" / "part-0.parquet"
    stamp = first.stat().st_mtime_ns
    (tmp_path / "codes" / "part-3.parquet").unlink()
    # Part 4 has got one row less since.
    pq.write_table(pq.read_table(folder / "part-4.parquet").slice(1), folder / "part-4.parquet")
    report = encode_parts(hasher, folder, tmp_path / "codes", ids="sku", columns=COLUMNS)
    assert report.kept == 3
    assert first.stat().st_mtime_ns == stamp
    np.testing.assert_array_equal(_codes(report), hasher.transform(np.delete(X, 43, axis=0)))


def test_rows_that_changed_are_coded_again_though_their_number_is_the_same(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    X = X.copy()
    X[11:22] = -X[11:22]
    _put(folder, "part-1.parquet", X[11:22])
    report = encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    assert report.kept == 4
    np.testing.assert_array_equal(_codes(report), hasher.transform(X))


def test_other_columns_are_coded_again(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    report = encode_parts(hasher, folder, tmp_path / "codes", ids="sku", columns=COLUMNS[::-1])
    assert report.kept == 0
    np.testing.assert_array_equal(_codes(report), hasher.transform(X[:, ::-1]))


def test_an_interrupted_run_goes_on_where_it_stopped(rows, hasher, tmp_path):
    folder, X = rows

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_parts(hasher, folder, tmp_path / "codes", ids="sku", progress=stop)
    report = encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    assert report.kept == 2
    np.testing.assert_array_equal(_codes(report), hasher.transform(X))


def test_codes_of_two_models_do_not_mix(rows, hasher, tmp_path):
    folder, X = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    other = thpi.ITQ(5, random_state=1).fit(X)
    with pytest.raises(ModelMismatchError, match=f"is of model {hasher.fingerprint_}, but hasher is of model"):
        encode_parts(other, folder, tmp_path / "codes", ids="sku")
    with pytest.raises(ValueError, match="is not a part of codes; name another folder"):
        encode_parts(hasher, folder, folder, ids="sku")
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        encode_parts(hasher, folder, tmp_path / "new", ids="sku", columns=["nothing"])
    with pytest.raises(ValueError, match="has no column 'ean'"):
        encode_parts(hasher, folder, tmp_path / "new", ids="ean", columns=COLUMNS)


def test_codes_of_a_file_that_is_gone_are_an_error_not_a_leftover(rows, hasher, tmp_path):
    folder, _ = rows
    encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
    (folder / "part-4.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-4.parquet' has codes of rows that are gone; delete it"):
        encode_parts(hasher, folder, tmp_path / "codes", ids="sku")
