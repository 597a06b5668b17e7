"""Wikipedia's featured articles: a section of text and its picture."""

from __future__ import annotations

import numpy as np

from experiments.datasets.entry import DatasetInfo, TransferRole, pipelines
from thpi._types import PathLike
from thpi.datasets import PairedDataset

# The collection numbers its categories in alphabetical order.
_CATEGORIES = (
    "art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare"
)  # fmt: skip


def load_wikipedia(*, data_home: PathLike | None = None, verify: bool = True) -> PairedDataset:
    """Load 2,866 picture and text pairs: 128 picture features (target), 100 text features (source), 10 classes.

    ``data_home`` holds the folder ``wiki``; ``verify`` compares checksums.
    """
    (path,) = ENTRY.locate(["wiki.npz"], data_home, verify=verify)
    with np.load(path, allow_pickle=False) as archive:
        images, texts, labels = archive["image_sift128"], archive["text100"], archive["labels"]
    target, source = images.astype(np.float64), texts.astype(np.float64)
    names = tuple(f"{_CATEGORIES[label]}-{row:04d}" for row, label in enumerate(labels))
    return PairedDataset("wikipedia", target, source, names, labels.astype(np.int64), _CATEGORIES)


ENTRY = DatasetInfo(
    name="wikipedia",
    title="Wikipedia featured articles: pictures and texts",
    home_page="http://www.svcl.ucsd.edu/projects/crossmodal/",
    licence="Not stated by its authors; for research use",
    citation="Rasiwasia, N. et al. A new approach to cross-modal multimedia retrieval. ACM Multimedia 2010",
    target="128 features of the picture (SIFT words)",
    source="100 features of the text",
    loader=load_wikipedia,
    preprocessing="both standardised",
    pipelines=pipelines("standardised", "standardised"),
    folder="wiki",
    files={"wiki.npz": "64976508506486609e30955596b4eaa2249f519e66d19b734aa8f13e0b3bee8d"},
    transfer=TransferRole("development"),
)
