"""Drawings of the Open Clip Art Library and their tags."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from experiments.datasets.entry import DatasetInfo, PaperRole, TransferRole, pipelines
from experiments.datasets.texts import number_classes
from experiments.datasets.zipped import ZippedPictures
from thpi._types import PathLike
from thpi.datasets import PairedDataset


def load_openclipart(*, data_home: PathLike | None = None, verify: bool = True) -> PairedDataset:
    """Load 7,804 drawings: 225 colour moments (target), 645 tags (source), 22 categories, WebP thumbnails.

    ``data_home`` holds the folder ``openclipart``; ``verify`` compares checksums.
    """
    table, thumbnails = ENTRY.locate(["openclipart_cm225_tags.npz", "thumbnails.zip"], data_home, verify=verify)
    with np.load(table, allow_pickle=False) as archive:
        moments, tags, vocabulary = archive["image_cm225"], archive["tags"], archive["vocab"]
        categories, paths = archive["category"], archive["path"]
    target, source = moments.astype(np.float64), sparse.csr_array(tags, dtype=np.float64)
    names, tag_names = tuple(paths.tolist()), tuple(vocabulary.tolist())
    labels, label_names = number_classes(categories)
    pictures = ZippedPictures(thumbnails, tuple(f"{row:05d}.webp" for row in range(len(tags))))
    return PairedDataset(
        "openclipart", target, source, names, labels, label_names, tags=tags, tag_names=tag_names, pictures=pictures
    )


ENTRY = DatasetInfo(
    name="openclipart",
    title="Open Clip Art Library: drawings and their tags",
    home_page="https://openclipart.org/",
    licence="Public domain (CC0)",
    citation="Open Clip Art Library, https://openclipart.org/",
    target="225 colour moments on a 5 x 5 grid",
    source="645 tags",
    loader=load_openclipart,
    preprocessing="target standardised (the published moments of NUS-WIDE are normalised); source 60 LDA topics",
    pipelines=pipelines("standardised", "lda_topics"),
    folder="openclipart",
    files={
        "openclipart_cm225_tags.npz": "b8e26bf32b153bdc8f0948c71d732638c28ef6ee62f928937ce83cb44029daf4",
        "thumbnails.zip": "1995acf577047d6f2fdbc40bc47d4df3958622dde80f0fe531f981609e86c84a",
    },
    large=True,
    paper=PaperRole("NUS-WIDE", "stand-in"),
    transfer=TransferRole("development"),
)
