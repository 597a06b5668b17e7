"""The light query side: the codes of ``thpi.load``, bit by bit, with numpy and safetensors alone."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save
from scipy import sparse

import thpi
from thpi.base import BaseHasher
from thpi.codes import pack_signs
from thpi.datasets import load_digits_views
from thpi.encoder import Encoder
from thpi.hash_functions import HASH_FUNCTIONS, ONE_BLOCK
from thpi.model_file import _digest
from thpi.registry import unregister
from thpi.rows import Blocks
from thpi.solvers.blocks import centred_product, row_blocks

HEAVY = "[name for name in ('sklearn', 'scipy', 'pandas', 'rich', 'faiss', 'numba') if name in sys.modules]"


@pytest.fixture(scope="module")
def digits():
    views = load_digits_views(target="kar", source="fou")
    return views.target, views.source, views.labels


def fitted(name: str, X, S, y) -> BaseHasher:
    method = thpi.HASHERS[name]
    kernel = {"relevance": "groups", "kernel": True} if name == "AutoHasher" else {}
    return method(n_bits=20, random_state=0, **kernel).fit(X[:150], y[:150], privileged=S[:150])


@pytest.fixture(scope="module", params=list(thpi.HASHERS))
def saved(request, digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "shop.thpi"
    fitted(request.param, *digits).save(path)
    return path


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_are_those_of_the_method(saved, digits, dtype):
    X = digits[0].astype(dtype)
    encoder, hasher = thpi.load_encoder(saved), thpi.load(saved)
    assert isinstance(encoder, Encoder)
    assert encoder.method_name == type(hasher).__name__ == hasher.method_name
    assert encoder.get_params() == hasher.get_params()
    assert encoder.fingerprint_ == hasher.fingerprint_
    assert encoder.n_bits == hasher.n_bits
    assert encoder.n_features_in_ == hasher.n_features_in_
    assert not hasattr(encoder, "feature_names_in_")
    np.testing.assert_array_equal(encoder.transform(X), hasher.transform(X))
    np.testing.assert_array_equal(encoder.signs(X), hasher.signs(X))
    values = encoder.decision_function(X)
    assert values.dtype == hasher.decision_function(X).dtype
    digits_of_type = {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(values, hasher.decision_function(X), **digits_of_type)


def test_sparse_rows(saved, digits):
    rows = sparse.csr_array(np.where(digits[0] > 0.5, digits[0], 0.0))
    encoder, hasher = thpi.load_encoder(saved), thpi.load(saved)
    for given in (rows, rows.tocsc(), sparse.csr_matrix(rows), rows.astype(np.float32), rows.astype(np.int32)):
        np.testing.assert_array_equal(encoder.transform(given), hasher.transform(given))


def test_every_hash_function_is_that_of_some_method(digits):
    names = {fitted(name, *digits).hash_name for name in ("ITQ", "DSH", "SpectralHashing", "AutoHasher")}
    assert names == set(HASH_FUNCTIONS)


@pytest.mark.parametrize("kind", ["list", "int", "fortran", "frame", "big-endian", "mapped"])
def test_other_kinds_of_rows(digits, tmp_path, kind):
    X = np.round(10 * digits[0])
    hasher = thpi.ITQ(n_bits=16, random_state=0).fit(X)
    hasher.save(tmp_path / "m")
    np.save(tmp_path / "x.npy", X)
    rows = {
        "list": X.tolist(),
        "int": X.astype(np.int16),
        "fortran": np.asfortranarray(X),
        "frame": pd.DataFrame(X),
        "big-endian": X.astype(">f8"),
        "mapped": np.load(tmp_path / "x.npy", mmap_mode="r"),
    }[kind]
    np.testing.assert_array_equal(thpi.load_encoder(tmp_path / "m").transform(rows), hasher.transform(rows))


def test_rows_that_are_not_in_memory(digits, tmp_path):
    X = digits[0]
    hasher = thpi.ITQ(n_bits=16, random_state=0).fit(X)
    hasher.save(tmp_path / "m")
    rows = Blocks([X[:300], X[300:]])
    np.testing.assert_array_equal(thpi.load_encoder(tmp_path / "m").transform(rows), hasher.transform(rows))


def test_names_of_columns_are_checked(digits, tmp_path):
    frame = pd.DataFrame(digits[0][:, :4], columns=list("abcd"))
    thpi.ITQ(n_bits=4, random_state=0).fit(frame).save(tmp_path / "m")
    encoder = thpi.load_encoder(tmp_path / "m")
    assert list(encoder.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(encoder.transform(frame), encoder.transform(frame.to_numpy()))
    with pytest.raises(ValueError, match="other feature names, or another order.*a, b, c"):
        encoder.transform(frame[list("bacd")])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(4), r"X has shape \(4,\); it must be 2-D"),
        (np.zeros((0, 4)), r"X has shape \(0, 4\)"),
        (np.zeros((2, 3)), "X has 3 columns; the model was fitted on 4"),
        (np.array([["a", "b", "c", "d"]]), "X holds texts, such as 'a'; it must hold numbers"),
        (np.array([[{}, 0, 0, 0]]), "X must hold numbers"),
        (np.zeros((2, 4), dtype=complex), "X holds complex numbers"),
        (np.array([[0, 0, np.nan, 0]]), "X holds NaN or infinity"),
        (np.array([[0, 0, np.inf, 0]]), "X holds NaN or infinity"),
    ],
)
def test_wrong_rows_are_one_clear_error(tmp_path, rows, message):
    thpi.LSH(n_bits=4, random_state=0).fit(np.eye(4)).save(tmp_path / "m")
    for code in (thpi.load_encoder(tmp_path / "m").transform, thpi.load_encoder(tmp_path / "m").decision_function):
        with pytest.raises(ValueError, match=message):
            code(rows)


def rewritten(path, change):
    raw = path.read_bytes()
    header = json.loads(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["thpi"])
    arrays = load_file(path)
    header.pop("sha256")
    change(header, arrays)
    header["sha256"] = _digest(header, arrays)
    path.write_bytes(save(arrays, metadata={"thpi": json.dumps(header)}))


def test_a_file_of_an_earlier_version_is_loaded_by_its_method(digits, tmp_path):
    hasher = thpi.ITQ(n_bits=16, random_state=0).fit(digits[0])
    hasher.save(tmp_path / "m")
    rewritten(tmp_path / "m", lambda header, arrays: header.pop("hash"))
    loaded = thpi.load_encoder(tmp_path / "m")
    assert type(loaded) is thpi.ITQ
    np.testing.assert_array_equal(loaded.transform(digits[0]), hasher.transform(digits[0]))


def test_a_hash_function_of_the_methods_own_is_loaded_by_its_method(digits, tmp_path):
    class Squares(thpi.ITQ):
        summary = "signs of squares"

        def _project(self, X):
            return super()._project(X) ** 2 - 1

    thpi.register(Squares)
    try:
        hasher = Squares(n_bits=16, random_state=0).fit(digits[0])
        hasher.save(tmp_path / "m")
        loaded = thpi.load_encoder(tmp_path / "m")
        assert type(loaded) is Squares
        np.testing.assert_array_equal(loaded.transform(digits[0]), hasher.transform(digits[0]))
    finally:
        unregister("Squares")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h["params"].update(n_bits=-1), "n_bits"),
        (lambda h, a: h["params"].update(n_bits=17), "do not fit"),
        (lambda h, a: h["scalars"].update(transform="x"), "'transform'"),
        (lambda h, a: h["scalars"].update(offset_=float(a.pop("offset_")[0])), "do not fit"),
        (lambda h, a: a.pop("offset_"), "offset_"),
        (lambda h, a: a.update(mean_=np.zeros(3)), "do not fit"),
        (lambda h, a: h.update(params=[]), "DSH"),
    ],
)
def test_a_forged_file_is_refused(digits, tmp_path, change, message):
    thpi.DSH(n_bits=8, random_state=0).fit(digits[0][:100]).save(tmp_path / "m")

    rewritten(tmp_path / "m", change)
    with pytest.raises(thpi.ModelFileError, match=f"not a usable thpi model.*{message}"):
        thpi.load_encoder(tmp_path / "m")


def test_a_damaged_file_is_refused(digits, tmp_path):
    path = tmp_path / "m"
    thpi.ITQ(n_bits=8, random_state=0).fit(digits[0]).save(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(thpi.ModelFileError, match="not a usable thpi model"):
        thpi.load_encoder(path)
    with pytest.raises(FileNotFoundError):
        thpi.load_encoder(tmp_path / "nothing")


def run(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_encoder_is_seven_files_and_numpy(saved):
    code = (
        "import sys, numpy as np, thpi\n"
        "encoder = thpi.load_encoder(sys.argv[1])\n"
        "encoder.transform(np.zeros((1, encoder.n_features_in_)))\n"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] == 'thpi'))"
    )
    files = {
        "thpi",
        *(f"thpi.{name}" for name in ("_types", "codes", "encoder", "hash_functions", "identity", "model_file")),
    }
    assert set(run(code, saved).split()) == files


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_direct_way_of_few_rows_gives_the_codes_of_the_blocks(digits, tmp_path, dtype):
    X = np.tile(digits[0], (4, 1)).astype(dtype)
    hasher = thpi.DSH(n_bits=20, random_state=0).fit(X[:150])
    hasher.save(tmp_path / "m")
    encoder, most = thpi.load_encoder(tmp_path / "m"), ONE_BLOCK // X[0].nbytes
    assert len(list(row_blocks(X[:most]))) == 1
    assert X[: most + 1].nbytes > ONE_BLOCK
    for n in (1, most, most + 1, len(X)):
        blocks = centred_product(X[:n], hasher.mean_, hasher.projection_) - hasher.offset_
        np.testing.assert_array_equal(encoder.decision_function(X[:n]), blocks)
        np.testing.assert_array_equal(encoder.transform(X[:n]), pack_signs(blocks))


@pytest.mark.slow
def test_an_encoder_imports_neither_scikit_learn_nor_scipy_nor_pandas(saved, digits, tmp_path):
    np.save(tmp_path / "x.npy", digits[0])
    code = (
        "import sys, numpy as np, thpi\n"
        "np.save(sys.argv[3], thpi.load_encoder(sys.argv[1]).transform(np.load(sys.argv[2])))\n"
        f"print({HEAVY})"
    )
    assert run(code, saved, tmp_path / "x.npy", tmp_path / "codes.npy").strip() == "[]"
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), thpi.load(saved).transform(digits[0]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_commands_that_code_rows_do_not_import_them_either(digits, tmp_path, kind):
    X = digits[0]
    hasher = thpi.AutoHasher(n_bits=16, random_state=0)
    thpi.build(tmp_path / "shop.thpi", X[:60], privileged=digits[1][:60], hasher=hasher).close()
    rows, ids = tmp_path / f"rows.{kind}", tmp_path / "ids.txt"
    np.save(rows, X) if kind == "npy" else np.savetxt(rows, X, delimiter=",")
    ids.write_text("\n".join(str(100 + i) for i in range(len(X))))
    code = f"import sys; from thpi.cli import run; assert run(sys.argv[1:]) == 0; print({HEAVY})"
    shop = tmp_path / "shop.thpi"
    for command in (
        ("info", shop),
        ("add", shop, rows, "--id", ids),
        ("remove", shop, "103"),
        ("search", shop, rows, "--row", "3"),
    ):
        assert run(code, *command).splitlines()[-1] == "[]", command
