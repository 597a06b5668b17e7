"""Drawings of the Open Clip Art Library, described by what a network sees in them, and their tags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.datasets import openclipart
from experiments.datasets.entry import DatasetInfo, TransferRole, pipelines
from thpi._types import PathLike
from thpi.datasets import PairedDataset


def load_openclipart_mobilenet(*, data_home: PathLike | None = None, verify: bool = True) -> PairedDataset:
    """Load the drawings of :func:`load_openclipart` with 1,280 features of MobileNetV2 as the target.

    Colour moments tell colours; these features tell what is drawn. Tags (source), categories and thumbnails are the
    same. ``data_home`` holds the folder ``openclipart``; ``verify`` compares checksums.
    """
    (path,) = ENTRY.locate(["mobilenet.npz"], data_home, verify=verify)
    clipart = openclipart.load_openclipart(data_home=data_home, verify=verify)
    with np.load(path, allow_pickle=False) as archive:
        features = archive["mobilenet"].astype(np.float64)
    return replace(clipart, name=ENTRY.name, target=features)


_CLIPART = openclipart.ENTRY

ENTRY = DatasetInfo(
    name="openclipart-mobilenet",
    title="Open Clip Art Library: what is drawn, and tags",
    home_page=_CLIPART.home_page,
    licence=_CLIPART.licence,
    citation=_CLIPART.citation,
    target="1,280 features of the drawing (MobileNetV2)",
    source=_CLIPART.source,
    loader=load_openclipart_mobilenet,
    preprocessing="target unchanged; source 60 LDA topics",
    pipelines=pipelines("unchanged", "lda_topics"),
    folder=_CLIPART.folder,
    files={"mobilenet.npz": "34f2b2cb3ed81424429174b119f29bac8a73c345c0274a39c5db7e2e7001b0ec", **_CLIPART.files},
    large=True,
    transfer=TransferRole("further"),
)
