"""MediaMill: shots of television news and the concepts seen in them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from experiments.datasets.entry import DatasetInfo, PaperRole, TransferRole, pipelines
from thpi._types import PathLike
from thpi.datasets import PairedDataset


def load_mediamill(*, data_home: PathLike | None = None, verify: bool = True) -> PairedDataset:
    """Load 43,907 shots: 120 visual features (target), 101 concepts (source, and ``tags``); no classes.

    ``data_home`` holds the folder ``mediamill``; ``verify`` compares checksums.
    The file numbers the concepts without naming them.
    """
    (path,) = ENTRY.locate(["mediamill.npz"], data_home, verify=verify)
    with np.load(path, allow_pickle=False) as archive:
        visual, concepts = archive["visual"], archive["concepts"]
    target, source = visual.astype(np.float64), sparse.csr_array(concepts, dtype=np.float64)
    names = tuple(f"shot-{row:05d}" for row in range(len(visual)))
    tag_names = tuple(f"concept {number}" for number in range(1, concepts.shape[1] + 1))
    return PairedDataset("mediamill", target, source, names, tags=concepts, tag_names=tag_names)


ENTRY = DatasetInfo(
    name="mediamill",
    title="MediaMill: video shots and their concepts",
    home_page="https://mulan.sourceforge.net/datasets-mlc.html",
    licence="Not stated by its authors; for research use",
    citation="Snoek, C. G. M. et al. The challenge problem for automated detection of 101 semantic concepts "
    "in multimedia. ACM Multimedia 2006",
    target="120 visual features",
    source="101 concepts",
    loader=load_mediamill,
    preprocessing="target standardised; source 60 LDA topics (about a minute)",
    pipelines=pipelines("standardised", "lda_topics"),
    folder="mediamill",
    files={"mediamill.npz": "e477c506addf7b0c215968fb2fb7d5f4aad5b815b187a0019e69e1d71463980b"},
    labelled=False,
    large=True,
    paper=PaperRole("NUS-WIDE", "stand-in"),
    transfer=TransferRole("confirmation"),
)
