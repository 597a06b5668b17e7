"""MediaMill: shots of television news and the concepts seen in them."""

from __future__ import annotations

import os

import numpy as np
from scipy import sparse

from thpi.datasets._files import locate
from thpi.datasets._paired import PairedDataset

__all__ = ["load_mediamill"]


def load_mediamill(*, data_home: str | os.PathLike[str] | None = None, verify: bool = True) -> PairedDataset:
    """Load 43,907 shots: 120 visual features (target), 101 concepts (source, and ``tags``); no classes.

    Parameters
    ----------
    data_home : folder that holds the folder ``mediamill``.
    verify : compare checksums.

    The file numbers the concepts without naming them.

    >>> load_mediamill(data_home="nowhere")
    Traceback (most recent call last):
        ...
    thpi.datasets._errors.DataNotFoundError: mediamill.npz of data set 'mediamill' is missing. ...
    """
    (path,) = locate("mediamill", ["mediamill.npz"], data_home, verify=verify)
    with np.load(path, allow_pickle=False) as archive:
        visual, concepts = archive["visual"], archive["concepts"]
    return PairedDataset(
        name="mediamill",
        target=visual.astype(np.float64),
        source=sparse.csr_array(concepts, dtype=np.float64),
        names=tuple(f"shot-{row:05d}" for row in range(len(visual))),
        tags=concepts,
        tag_names=tuple(f"concept {number}" for number in range(1, concepts.shape[1] + 1)),
    )
