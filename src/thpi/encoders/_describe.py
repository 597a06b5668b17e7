"""Descriptions of picture encoders: what they are called, where they come from, and how a picture is prepared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple


class Preparation(NamedTuple):
    """How a picture becomes the input of a network: ``(x - mean) / scale`` of a square of ``size`` pixels.

    ``fit`` is "pad", which puts the whole picture on a white square, or "crop", which takes the square in its middle.
    ``mean`` and ``scale`` are per channel (red, green, blue), in units of pixels from 0 to 255.
    """

    size: int = 224
    fit: str = "pad"
    mean: tuple[float, float, float] = (127.0, 127.0, 127.0)
    scale: tuple[float, float, float] = (128.0, 128.0, 128.0)

    @classmethod
    def read(cls, path: Path) -> Preparation:
        """Read a JSON object with any of these names; an error names the file and the value."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in found.items()
            }
            return cls(**values).checked()
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{str(path)!r} must be JSON with any of {', '.join(cls._fields)} ({error}).") from None

    def checked(self) -> Preparation:
        """Refuse values that cannot be meant."""
        if self.fit not in ("pad", "crop"):
            raise ValueError(f"fit={self.fit!r} must be 'pad' or 'crop'")
        if not isinstance(self.size, int) or not 8 <= self.size <= 2048:
            raise ValueError(f"size={self.size!r} must be an integer from 8 to 2048")
        for name in ("mean", "scale"):
            values: Any = getattr(self, name)
            three = isinstance(values, tuple) and len(values) == 3
            if not (three and all(isinstance(x, (int, float)) for x in values)) or (name == "scale" and 0 in values):
                raise ValueError(f"{name}={values!r} must be three numbers{', none of them 0' * (name == 'scale')}")
        return self


class Description(NamedTuple):
    """An encoder: a file of the package (ONNX) with its digest, the length of its vectors, and its licence."""

    name: str
    title: str
    n_features: int
    licence: str
    file: Path
    sha256: str
    preparation: Preparation = Preparation()


_MODELS = Path(__file__).parent / "models"

ENCODERS = {
    each.name: each
    for each in [
        Description(
            "lite0",
            "EfficientNet-Lite0, trained on ImageNet, weights of eight bits",
            1280,
            "Apache-2.0",
            _MODELS / "lite0.onnx",
            "b8a7404abbaf59370092541604177aefbe4f5b4e464f0f447a255d233652ad2c",
        )
    ]
}
"""Bundled picture encoders by name."""
