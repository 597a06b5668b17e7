"""Hash functions as ONNX, so that phones, browsers and other languages code queries.

Input ``rows`` (float32, batch x features); outputs ``codes`` (uint8, batch x bytes, as in :mod:`thpi.codes`) and
``projections`` (float32, batch x bits); a metadata entry ``thpi``, a JSON object. NaN and infinity give some code. The
steps and their precisions are those of :mod:`thpi.hash_functions` for float32 rows. Sums are added up in another order,
so a projection that is zero but for rounding may get the other sign; :func:`check_onnx` counts such bits.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from thpi._files import atomic_write
from thpi._optional import require
from thpi._types import Array, PathLike, is_sparse
from thpi.codes import n_bytes, unpack
from thpi.encoder import Coding

__all__ = ["OnnxCheck", "check_onnx", "onnx_bytes", "write_onnx"]

_OPSET, _IR = 17, 8  # of 2022: old enough for the runtimes that are in use
_FLOAT32 = np.dtype(np.float32)


class OnnxCheck(NamedTuple):
    """Bits compared with those of thpi, and how many differ because the projection is zero but for rounding."""

    rows: int
    bits: int
    at_zero: int


class _Graph:
    """Nodes and constants of a graph; each call adds a node and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []  # onnx is optional
        self.constants: list[Any] = []
        self._helper, self._numpy_helper = require("onnx.helper", "onnx"), require("onnx.numpy_helper", "onnx")

    def __call__(self, operation: str, *inputs: str | Array, output: str = "", **attributes: object) -> str:
        names = []
        for value in inputs:
            names.append(value if isinstance(value, str) else f"constant{len(self.constants)}")
            if not isinstance(value, str):
                self.constants.append(self._numpy_helper.from_array(np.ascontiguousarray(value), names[-1]))
        output = output or f"step{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operation, names, [output], **attributes))
        return output

    def cast(self, name: str, dtype: np.dtype[Any], output: str = "") -> str:
        return self("Cast", name, output=output, to=self._helper.np_dtype_to_tensor_dtype(dtype))


def onnx_bytes(coder: Coding) -> bytes:
    """Return the hash function of a fitted hasher, or of an encoder, as an ONNX model. Needs the extra ``onnx``."""
    from thpi import __version__

    if coder.hash_name is None:
        raise ValueError(f"{coder.method_name} has a hash function of its own, which cannot be written as ONNX.")
    onnx, helper = require("onnx", "onnx"), require("onnx.helper", "onnx")
    graph, fitted, c = _Graph(), vars(coder), coder.n_bits
    values = _projections(graph, coder.hash_name, fitted)
    bits = graph.cast(graph("GreaterOrEqual", values, np.zeros((), dtype=fitted["mean_"].dtype)), _FLOAT32)
    # Bit j is worth 2^(j mod 8) in byte j // 8: a product with a matrix, exact in float32.
    places = np.zeros((c, n_bytes(c)), dtype=np.float32)
    places[np.arange(c), np.arange(c) // 8] = 2.0 ** (np.arange(c) % 8)
    graph.cast(graph("MatMul", bits, places), np.dtype(np.uint8), "codes")
    graph.cast(values, _FLOAT32, "projections")

    def shaped(name: str, kind: type, width: int) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), ["batch", width])

    outputs = [shaped("codes", np.uint8, n_bytes(c)), shaped("projections", np.float32, c)]
    inputs = [shaped("rows", np.float32, coder.n_features_in_)]
    body = helper.make_graph(graph.nodes, f"thpi {coder.method_name}", inputs, outputs, graph.constants)
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(body, producer_name="thpi", ir_version=_IR, opset_imports=opset)
    about = {"format": "thpi-onnx", "version": 1, "thpi": __version__, "class": coder.method_name, "n_bits": c}
    about |= {"bit_order": "little", "fingerprint": coder.fingerprint_}
    helper.set_model_props(model, {"thpi": json.dumps(about, sort_keys=True)})
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def _projections(graph: _Graph, name: str, fitted: dict[str, Any]) -> str:
    """Add the nodes of a hash function, in the precision of the model; its projections have that precision, too."""
    dtype = fitted["mean_"].dtype
    rows = graph.cast("rows", dtype)
    if name == "kernel":
        rows = _kernel(graph, rows, fitted)
    # thpi multiplies float32 rows by a projection in float32 and rounds the product to float32.
    weights = fitted["projection_"].astype(np.float32).astype(dtype)
    values = graph("MatMul", graph("Sub", rows, fitted["mean_"]), weights)
    values = graph.cast(graph.cast(values, _FLOAT32), dtype)
    if name in ("offset", "kernel"):
        return graph("Sub", values, fitted["offset_"])
    if name == "eigenfunction":
        return graph("Cos", graph("Mul", graph("Sub", values, fitted["lower_"]), fitted["frequency_"]))
    return values


def _kernel(graph: _Graph, rows: str, fitted: dict[str, Any]) -> str:
    centre, landmarks, dtype = fitted["centre_"], fitted["landmarks_"], fitted["mean_"].dtype
    others = np.asarray(landmarks.toarray() if is_sparse(landmarks) else landmarks) - centre
    least = np.asarray(np.finfo(np.float32).tiny, dtype=dtype)
    two, none = np.asarray(2, dtype=dtype), np.zeros((), dtype=dtype)
    norms = np.einsum("ij,ij->i", others, others)
    centred = graph("Sub", rows, centre)
    squares = graph("ReduceSum", graph("Mul", centred, centred), np.array([1]), keepdims=1)
    products = graph("MatMul", centred, others.T)
    kinds: list[str] = []

    def add_three_widths(squared: str, exponent: float) -> None:
        wide = graph("Exp", graph("Mul", graph("Max", squared, none), np.asarray(-exponent, dtype=dtype)))
        middle = graph("Mul", graph("Mul", wide, wide), wide)
        kinds.append(graph("Sum", wide, middle, graph("Mul", graph("Mul", middle, middle), middle)))

    if fitted["gamma_"] > 0:
        squared = graph("Sub", graph("Add", squares, norms), graph("Mul", products, two))
        add_three_widths(squared, fitted["gamma_"])
    if fitted["unit_gamma_"] > 0:
        length, lengths = graph("Max", graph("Sqrt", squares), least), np.maximum(np.sqrt(norms), least)
        cosine = graph("Div", graph("Div", products, length), lengths)
        add_three_widths(graph("Sub", two, graph("Mul", cosine, two)), fitted["unit_gamma_"])
    total = graph("Sum", *kinds) if kinds else graph("Mul", products, none)
    values = graph("Div", total, np.asarray(3 * max(1, len(kinds)), dtype=dtype))
    return graph.cast(graph.cast(values, _FLOAT32), dtype)


def check_onnx(data: bytes, coder: Coding, rows: Array) -> OnnxCheck:
    """Compare an ONNX model with thpi. Needs onnxruntime.

    ``ValueError`` unless its codes are the signs of its projections, and these are those of thpi up to 1e-4 of the
    typical size of a bit's projection: a hundred times what another order of adding up makes of float32.
    """
    runtime = require("onnxruntime", "onnx")
    given = np.ascontiguousarray(rows, dtype=np.float32)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    codes, projections = session.run(["codes", "projections"], {"rows": given})
    values = coder.decision_function(given)
    typical = np.sqrt(np.mean(np.square(values, dtype=np.float64), axis=0))
    wrong = np.abs(projections - values) > 1e-4 * typical
    wrong |= unpack(codes, coder.n_bits) != (projections >= 0)
    if wrong.any():
        row, bit = np.argwhere(wrong)[0]
        raise ValueError(f"the ONNX model differs from thpi in {wrong.sum()} bits, first in bit {bit} of row {row}.")
    different = unpack(codes, coder.n_bits) != unpack(coder.transform(given), coder.n_bits)
    return OnnxCheck(len(given), different.size, int(different.sum()))


def write_onnx(coder: Coding, path: PathLike) -> OnnxCheck | None:
    """Write the hash function to ``path`` in one step. If onnxruntime is installed, it is checked on random rows first.

    >>> import tempfile, pathlib
    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((50, 6))
    >>> hasher = thpi.ITQ(n_bits=6, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_onnx(hasher, pathlib.Path(folder) / "shop.onnx")
    OnnxCheck(rows=1000, bits=6000, at_zero=0)
    """
    data, fitted = onnx_bytes(coder), vars(coder)
    centre = fitted.get("centre_", fitted["mean_"])
    noise = np.random.RandomState(0).standard_normal((1000, coder.n_features_in_))
    checked = None
    with suppress(ImportError):
        checked = check_onnx(data, coder, centre + (float(np.abs(centre).mean()) or 1.0) * noise)
    atomic_write(path, data)
    return checked
