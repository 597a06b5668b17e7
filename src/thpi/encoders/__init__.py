"""Pictures and texts become vectors: encoders described as data, safe reading of pictures, and many of them at a time.

It may import identity and the shared types; it knows no table, no hasher and no collection.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thpi.encoders._describe import ENCODERS, Description, Preparation
    from thpi.encoders._files import Picture, find_pictures, listed_pictures, picture_ids
    from thpi.encoders._many import Encoded, encode_pictures
    from thpi.encoders._onnx import OnnxEncoder
    from thpi.encoders._own import PictureEncoder, check_encoder, encoder_facts, picture_encoder
    from thpi.encoders._picture import PictureError, read_picture, thumbnail
    from thpi.encoders._texts import TEXT_ENCODERS, encode_texts

_HOMES = {
    "_describe": ("ENCODERS", "Description", "Preparation"),
    "_files": ("Picture", "find_pictures", "listed_pictures", "picture_ids"),
    "_many": ("Encoded", "encode_pictures"),
    "_onnx": ("OnnxEncoder",),
    "_own": ("PictureEncoder", "check_encoder", "encoder_facts", "picture_encoder"),
    "_picture": ("PictureError", "read_picture", "thumbnail"),
    "_texts": ("TEXT_ENCODERS", "encode_texts"),
}

__all__ = [
    "ENCODERS",
    "TEXT_ENCODERS",
    "Description",
    "Encoded",
    "OnnxEncoder",
    "Picture",
    "PictureEncoder",
    "PictureError",
    "Preparation",
    "check_encoder",
    "encode_pictures",
    "encode_texts",
    "encoder_facts",
    "find_pictures",
    "listed_pictures",
    "picture_encoder",
    "picture_ids",
    "read_picture",
    "thumbnail",
]


def __getattr__(name: str) -> Any:
    # Pillow, onnxruntime and scikit-learn are imported when something is to be encoded.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"thpi.encoders.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
