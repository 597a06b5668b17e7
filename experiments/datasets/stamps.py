"""Tux Paint's stamps: pictures and what they are called in ten languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from experiments.datasets.entry import DatasetInfo, TransferRole, check_choice, pipelines
from experiments.datasets.texts import Sparse, number_classes
from experiments.datasets.zipped import ZippedPictures
from thpi._types import PathLike
from thpi.datasets import PairedDataset

_LANGUAGES = ("en", "fr", "de", "es", "it", "ja", "pl", "pt", "ru", "nl")
_SOURCES = ("minilm", *_LANGUAGES)
_CLASSES = ("category", "subcategory")


def load_stamps(
    source: str = "minilm", *, classes: str = "category", data_home: PathLike | None = None, verify: bool = True
) -> PairedDataset:
    """Load 785 pictures, 1,280 features of MobileNetV2 (target), and their captions (source); WebP thumbnails.

    Parameters
    ----------
    source : ``"minilm"`` for the embedding of the English caption by all-MiniLM-L6-v2 (384 numbers), or the tf-idf of
        the caption in a language: ``"en"``, ``"fr"``, ``"de"``, ``"es"``, ``"it"``, ``"ja"``, ``"pl"``, ``"pt"``,
        ``"ru"``, ``"nl"``. Terms are words; of Japanese, which has no spaces, single characters and pairs of them.
        Vocabulary and idf come from all captions.
    classes : ``"category"`` (16 classes) or ``"subcategory"`` (121 folders).
    data_home, verify : folder that holds the folder ``stamps``; whether to compare checksums.

    The stamps are under the GNU General Public License. The package loads them and does not contain them.
    """
    check_choice(_SOURCES, source=source)
    check_choice(_CLASSES, classes=classes)
    table, thumbnails = ENTRY.locate(["stamps.npz", "thumbnails.zip"], data_home, verify=verify)
    language = "en" if source == "minilm" else source
    with np.load(table, allow_pickle=False) as archive:
        features, paths, categories = archive["picture_mobilenet"], archive["path"], archive[classes]
        captions = archive[f"caption_{language}"].tolist()
        embedded = archive["caption_minilm"] if source == "minilm" else None
    return PairedDataset(
        ENTRY.name,
        features.astype(np.float64),
        _tfidf(captions, language) if embedded is None else embedded.astype(np.float64),
        tuple(paths.tolist()),
        *number_classes(categories),
        pictures=ZippedPictures(thumbnails, tuple(f"{row:05d}.webp" for row in range(len(paths)))),
        source_texts=tuple(captions),
    )


def _tfidf(captions: Sequence[str], language: str) -> Sparse:
    """Return scikit-learn's tf-idf of the captions; words of one letter count, because letters are among the stamps."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms: dict[str, Any] = {"token_pattern": r"(?u)\b\w+\b"}
    if language == "ja":
        terms = {"analyzer": "char", "ngram_range": (1, 2)}
    return sparse.csr_array(TfidfVectorizer(**terms).fit_transform(captions), dtype=np.float64)


ENTRY = DatasetInfo(
    name="stamps",
    title="Tux Paint stamps: pictures and their captions in ten languages",
    home_page="https://tuxpaint.org/stamps/",
    licence="GPL-2.0-or-later",
    citation="Tux Paint stamps, https://tuxpaint.org/stamps/ (Debian package tuxpaint-stamps-default)",
    target="1,280 features of the picture (MobileNetV2)",
    source="384 numbers of the English caption (MiniLM), or tf-idf of the caption in one of ten languages",
    loader=load_stamps,
    preprocessing="both unchanged",
    pipelines=pipelines("unchanged", "unchanged"),
    folder="stamps",
    files={
        "stamps.npz": "3158c7681bbffe88d43023bf9f1ebd212cc35bfa582ae6ca2de6544dea8b8f09",
        "thumbnails.zip": "0cc784266443068119aad0c9e1b2283e5a218545f4f67dbe931aa3cb1967b575",
    },
    transfer=TransferRole("further"),
)
