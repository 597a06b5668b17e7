"""The picture encoder that a text names: a bundled one, an ONNX file, or a model of another library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thpi._optional import require
from thpi._types import Array
from thpi.encoders._describe import ENCODERS, Preparation
from thpi.encoders._onnx import OnnxEncoder
from thpi.encoders._picture import PictureLike, read_picture
from thpi.identity import ModelMismatchError


class PictureEncoder(Protocol):
    """What makes a vector of a picture. ``digest`` is that of its file, None if it has none."""

    name: str
    digest: str | None
    n_features: int

    def vector(self, picture: PictureLike) -> Array:
        """Return the vector of one picture (float32); threads may call it at the same time."""


class FunctionEncoder:
    """An encoder that is a function of a list of RGB images."""

    digest: str | None = None

    def __init__(self, name: str, function: Callable[[list[Any]], Any]) -> None:
        self.name, self._function = name, function
        self.n_features = len(self.vector(_test_picture()))

    def vector(self, picture: PictureLike) -> Array:
        """Return the vector of one picture (float32)."""
        found = np.asarray(self._function([read_picture(picture)]), dtype=np.float32)
        if found.ndim != 2 or len(found) != 1 or not np.isfinite(found).all():
            raise ValueError(f"the encoder {self.name!r} must return one row of finite numbers for each picture.")
        row: Array = found[0]
        return row


def picture_encoder(name: str = "lite0") -> PictureEncoder:
    """Return the encoder of a name.

    - ``lite0``, or another of :data:`ENCODERS`;
    - ``model.onnx``: a file. ``model.json`` beside it says how pictures are prepared (:class:`Preparation`);
    - ``fastembed:NAME`` and ``sentence-transformers:NAME``: a model of these libraries, if they are installed;
    - ``python:module:function``: a function that takes a list of RGB images of Pillow and returns one row for each.

    >>> picture_encoder("lite0").n_features
    1280
    """
    kind, _, rest = name.partition(":")
    if name in ENCODERS:
        return OnnxEncoder.bundled(ENCODERS[name])
    if name.lower().endswith(".onnx"):
        return _onnx(Path(name))
    if rest and kind in _LIBRARIES:
        return FunctionEncoder(name, _LIBRARIES[kind](rest))
    ways = "FILE.onnx, fastembed:NAME, sentence-transformers:NAME or python:MODULE:FUNCTION"
    raise ValueError(f"encoder={name!r} must be one of {', '.join(ENCODERS)}, or {ways}.")


def encoder_facts(encoder: PictureEncoder) -> dict[str, Any]:
    """Return what tells an encoder from others, as JSON has it: name, digest, and its vector of a test picture.

    >>> encoder_facts(picture_encoder("lite0"))["name"]
    'lite0'
    """
    sample = encoder.vector(_test_picture())[:_SAMPLE].tolist()
    return {"name": encoder.name, "digest": encoder.digest, "n_features": encoder.n_features, "sample": sample}


def check_encoder(known: Mapping[str, Any], encoder: PictureEncoder) -> None:
    """Refuse an encoder that is not the one of these facts: of another file or, without a file, of other numbers."""
    found = encoder_facts(encoder)
    same = found["n_features"] == known["n_features"] and np.allclose(found["sample"], known["sample"], 1e-2, 1e-2)
    if known["digest"] != found["digest"] or not same:
        raise ModelMismatchError(
            f"encoder={encoder.name!r} is not the one that made the vectors of the items, {known['name']!r}: "
            "its file or its numbers differ."
        )


def _onnx(file: Path) -> OnnxEncoder:
    if not file.exists():
        raise ValueError(f"encoder={str(file)!r} does not exist.")
    about = file.with_suffix(".json")
    return OnnxEncoder(file, Preparation.read(about) if about.exists() else Preparation())


def _fastembed(name: str) -> Callable[[list[Any]], Any]:
    model = require("fastembed", "fastembed").ImageEmbedding(model_name=name)
    return lambda images: np.stack(list(model.embed(images)))


def _sentence_transformers(name: str) -> Callable[[list[Any]], Any]:
    model = require("sentence_transformers", "sentence-transformers").SentenceTransformer(name)
    return lambda images: model.encode(images)


def _python(name: str) -> Callable[[list[Any]], Any]:
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"encoder='python:{name}': {error}.") from None
    if not callable(found):
        raise ValueError(f"encoder='python:{name}': {function!r} is no function.")
    return found  # type: ignore[no-any-return]


_LIBRARIES = {"fastembed": _fastembed, "sentence-transformers": _sentence_transformers, "python": _python}


_SAMPLE = 16  # numbers that are kept of the vector of the test picture


def _test_picture() -> Any:
    """A picture that every model sees differently: two gradients and a disc."""
    y, x = np.mgrid[:224, :224]
    disc = np.where((x - 90) ** 2 + (y - 120) ** 2 < 50**2, 220, 40)
    return np.stack([x, y, disc], axis=-1).astype(np.uint8)
