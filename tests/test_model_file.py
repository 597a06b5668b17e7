from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import thpi
from thpi import ModelFileError


@pytest.fixture(scope="module")
def views():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((80, 10))
    return S[:50] @ rng.standard_normal((10, 12)), S[:50], S[50:]


@pytest.mark.parametrize("method", thpi.HASHERS.values())
def test_what_is_loaded_is_what_was_saved(method, views, tmp_path):
    X, S, S_U = views
    saved = method(n_bits=9, random_state=0).fit(X, privileged=S, source=S_U)
    saved.save(tmp_path / "model.thpi")
    loaded = thpi.load(tmp_path / "model.thpi")
    assert type(loaded) is method
    assert loaded.get_params() == saved.get_params()
    np.testing.assert_array_equal(loaded.transform(X), saved.transform(X))
    for name in (name for name in vars(saved) if name.endswith("_") and not name.startswith("_")):
        one, other = getattr(saved, name), getattr(loaded, name)
        if name == "graph_":
            one, other = one.toarray(), other.toarray()
        np.testing.assert_array_equal(one, other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


def test_feature_names_float32_and_random_state_objects_survive(views, tmp_path):
    X, *_ = views
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"colour {i}" for i in range(12)])
    thpi.ITQ(n_bits=4, random_state=np.random.RandomState(0)).fit(frame).save(tmp_path / "m")
    loaded = thpi.load(tmp_path / "m")
    assert loaded.projection_.dtype == np.float32
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.random_state is None
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"colour 0": "size"}))


def test_the_same_model_gives_the_same_bytes(views, tmp_path):
    hasher = thpi.LSH(n_bits=4, random_state=0).fit(views[0])
    for i in range(10):
        hasher.save(tmp_path / str(i))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_arrays_are_plain_safetensors(views, tmp_path):
    hasher = thpi.ITQ(n_bits=4, random_state=0).fit(views[0])
    hasher.save(tmp_path / "m")
    np.testing.assert_array_equal(load_file(tmp_path / "m")["projection_"], hasher.projection_)


@pytest.fixture
def model(views, tmp_path):
    path = tmp_path / "shop.thpi"
    X, S, S_U = views
    thpi.LapITQPlus(n_bits=9, random_state=0).fit(X, privileged=S, source=S_U).save(path)
    return path


def test_every_truncation_is_one_clear_error(model):
    whole = model.read_bytes()
    for length in sorted({*range(0, 200), *range(0, len(whole), 997), len(whole) - 1}):
        model.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"shop\.thpi.*not a usable thpi model"):
            thpi.load(model)


def test_every_flipped_bit_is_one_clear_error_or_changes_nothing(model, views):
    whole, expected = model.read_bytes(), thpi.load(model).transform(views[0])
    rng = np.random.RandomState(0)
    places = np.r_[0:300, rng.randint(0, len(whole), size=700)]
    errors = 0
    for place, bit in zip(places, rng.randint(0, 8, size=len(places)), strict=True):
        altered = bytearray(whole)
        altered[place] ^= 1 << bit
        model.write_bytes(altered)
        try:
            np.testing.assert_array_equal(thpi.load(model).transform(views[0]), expected)
        except ModelFileError:
            errors += 1
    assert errors == len(places)  # here every byte of the file is guarded


def test_foreign_files_give_one_clear_error(model, tmp_path):
    foreign = {
        "empty": b"",
        "text": b"hello, world",
        "pickle": pickle.dumps({"a": 1}),
        "json": json.dumps({"a": 1}).encode(),
        "huge header": (2**63 - 1).to_bytes(8, "little") + b"{}",
        "deep json": (100_000).to_bytes(8, "little") + b"[" * 100_000,
    }
    for name, content in foreign.items():
        model.write_bytes(content)
        with pytest.raises(ModelFileError, match="not a usable thpi model"):
            thpi.load(model)
        assert name
    save_file({"weights": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="thpi did not write it"):
        thpi.load(tmp_path / "other.safetensors")
    with pytest.raises(FileNotFoundError):
        thpi.load(tmp_path / "nothing here")


def _rewrite(path, change_header=lambda h: None, change_arrays=lambda a: None):
    """Write a file with a right checksum but another content, as somebody with bad intent could."""
    from safetensors.numpy import save

    from thpi.model_file import _digest

    raw = path.read_bytes()
    header = json.loads(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["thpi"])
    arrays = load_file(path)
    change_header(header)
    change_arrays(arrays)
    header.pop("sha256")
    header["sha256"] = _digest(header, arrays)
    path.write_bytes(save(arrays, metadata={"thpi": json.dumps(header)}))


@pytest.mark.parametrize(
    ("change_header", "change_arrays", "message"),
    [
        (lambda h: h.update(version=2), lambda a: None, "version 2; this thpi reads version 1"),
        (lambda h: h.update({"class": "os.system"}), lambda a: None, "'os.system'.*knows LSH"),
        (lambda h: h["params"].update(n_bits=-1), lambda a: None, "n_bits"),
        (lambda h: h["params"].update(evil=1), lambda a: None, "evil"),
        (lambda h: h["params"].update(n_bits=17), lambda a: None, "do not fit"),
        (lambda h: h["scalars"].update(__class__="x"), lambda a: None, "__class__"),
        (lambda h: h["scalars"].update(transform="x"), lambda a: None, "'transform'"),
        (lambda h: None, lambda a: a.pop("projection_"), "projection_"),
        (lambda h: None, lambda a: a.update(mean_=np.zeros(3)), "do not fit"),
        (lambda h: None, lambda a: a.pop("graph_.data"), "graph_"),
    ],
)
def test_a_forged_file_is_refused(model, change_header, change_arrays, message):
    _rewrite(model, change_header, change_arrays)
    with pytest.raises(ModelFileError, match=message):
        thpi.load(model)


def test_a_failed_save_leaves_the_old_file(model, monkeypatch):
    before = model.read_bytes()
    hasher = thpi.load(model)

    def no_space(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        hasher.save(model)
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_an_unfitted_hasher_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        thpi.ITQ().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
