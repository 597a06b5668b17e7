"""A picture encoder that is an ONNX file, run by onnxruntime."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from thpi._types import Array
from thpi.encoders._describe import Description, Preparation
from thpi.encoders._picture import PictureLike, prepared, read_picture


class OnnxEncoder:
    """Vectors of pictures by a network in an ONNX file: one picture at a time, so neighbours in a batch change nothing.

    Threads may share it.

    Attributes
    ----------
    name : what it is called, and what must be given again to search what it made
    digest : SHA-256 of the file and of the preparation
    n_features : length of a vector
    """

    def __init__(self, file: Path, preparation: Preparation, *, name: str | None = None) -> None:
        import onnxruntime

        data = file.read_bytes()
        self.name = f"onnx:{file.name}" if name is None else name
        self.preparation = preparation
        self.digest: str | None = hashlib.sha256(data + repr(tuple(preparation)).encode()).hexdigest()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Weights of eight bits become floating-point numbers once, when the file is read: three times as fast.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has exceptions of its own, without a common base
            raise ValueError(f"{str(file)!r} is no ONNX model that onnxruntime runs ({_one_line(error)}).") from None
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise ValueError(f"{str(file)!r} has {len(inputs)} inputs; a picture encoder has one.")
        self._input = inputs[0].name
        size = preparation.size
        blank = np.full((size, size, 3), 255, dtype=np.uint8)
        self.n_features = len(self.vector(blank))

    @classmethod
    def bundled(cls, about: Description) -> OnnxEncoder:
        """Return an encoder of :data:`ENCODERS`, whose file must have the digest that is written there."""
        found = hashlib.sha256(about.file.read_bytes()).hexdigest()
        if found != about.sha256:
            raise ValueError(f"{str(about.file)!r} was altered; install thpi anew.")
        return cls(about.file, about.preparation, name=about.name)

    def vector(self, picture: PictureLike) -> Array:
        """Return the vector of one picture (float32)."""
        image = read_picture(picture, least=2 * self.preparation.size)
        try:
            found = self._session.run(None, {self._input: prepared(image, self.preparation)[None]})[0]
        except Exception as error:
            raise ValueError(f"the encoder {self.name!r} takes other input ({_one_line(error)}).") from None
        vector = np.asarray(found, dtype=np.float32).reshape(-1)
        if not np.isfinite(vector).all():
            raise ValueError(f"the encoder {self.name!r} makes numbers that are not finite.")
        return vector


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
