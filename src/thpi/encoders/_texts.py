"""Texts become vectors, for training: by the words of the collection itself, or by a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thpi._types import Floats

N_TOPICS = 100


def encode_texts(texts: Sequence[str], encoder: str = "tfidf") -> Floats:
    """Return a vector of unit length for each text; zeros for one without a known word.

    ``tfidf`` learns from these texts alone, in any language: weights ``(1 + log count) (1 + log((1 + n) / (1 + n_w)))``
    of words and of parts of words of 3 to 5 letters, where ``n_w`` of the ``n`` texts have the word, reduced by latent
    semantic analysis (truncated SVD) to at most 100 dimensions. ``minilm`` is the sentence encoder all-MiniLM-L6-v2
    (English), if its package is installed.

    >>> rows = encode_texts(["red wool hat", "blue wool hat", "oak table", "pine table"])
    >>> bool(rows[0] @ rows[1] > 0.3 > rows[0] @ rows[2])
    True
    """
    if encoder not in TEXT_ENCODERS:
        raise ValueError(f"text_encoder={encoder!r} must be one of {', '.join(TEXT_ENCODERS)}.")
    rows = TEXT_ENCODERS[encoder](list(texts))
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float64)


def _tfidf(texts: list[str]) -> Floats:
    from scipy import sparse
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    views = [
        TfidfVectorizer(sublinear_tf=True),
        # Parts of words find inflected and compound words, and languages that do not put spaces between words.
        TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 5)),
    ]
    try:
        counts = sparse.hstack([view.fit_transform(texts) for view in views], format="csr")
    except ValueError:
        raise ValueError("texts: none has a word.") from None
    size = min(N_TOPICS, counts.shape[0] - 1, counts.shape[1] - 1)
    if size < 1:
        raise ValueError(f"texts: {counts.shape[0]} texts with {counts.shape[1]} words; at least 2 are needed.")
    return np.asarray(TruncatedSVD(size, algorithm="arpack", random_state=0).fit_transform(counts))


def _minilm(texts: list[str]) -> Floats:
    from thpi.encoders._minilm import MiniLM

    return MiniLM.installed().vectors(texts)


TEXT_ENCODERS: dict[str, Callable[[list[str]], Floats]] = {"tfidf": _tfidf, "minilm": _minilm}
"""Text encoders by name: functions of all texts."""
