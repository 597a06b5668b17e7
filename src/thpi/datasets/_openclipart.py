"""Drawings of the Open Clip Art Library and their tags."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from thpi.datasets._files import locate
from thpi.datasets._paired import PairedDataset

__all__ = ["load_openclipart"]


@dataclass(frozen=True)
class ZippedPictures(Sequence[bytes]):
    """Image files that are read out of a zip archive when asked for."""

    archive: Path
    members: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> ZippedPictures: ...
    def __getitem__(self, index: int | slice) -> bytes | ZippedPictures:
        if isinstance(index, slice):
            return ZippedPictures(self.archive, self.members[index])
        with zipfile.ZipFile(self.archive) as archive:
            return archive.read(self.members[index])

    def take(self, index: npt.NDArray[np.int64]) -> ZippedPictures:
        """Select pictures without reading them."""
        return ZippedPictures(self.archive, tuple(self.members[i] for i in index.tolist()))


def load_openclipart(*, data_home: str | os.PathLike[str] | None = None, verify: bool = True) -> PairedDataset:
    """Load 7,804 drawings: 225 colour moments (target), 645 tags (source), 22 categories, WebP thumbnails.

    Parameters
    ----------
    data_home : folder that holds the folder ``openclipart``.
    verify : compare checksums.

    >>> load_openclipart(data_home="nowhere")
    Traceback (most recent call last):
        ...
    thpi.datasets._errors.DataNotFoundError: openclipart_cm225_tags.npz of data set 'openclipart' is missing. ...
    """
    table, thumbnails = locate(
        "openclipart", ["openclipart_cm225_tags.npz", "thumbnails.zip"], data_home, verify=verify
    )
    with np.load(table, allow_pickle=False) as archive:
        moments, tags, vocabulary = archive["image_cm225"], archive["tags"], archive["vocab"]
        categories, paths = archive["category"], archive["path"]
    label_names, labels = np.unique(categories, return_inverse=True)
    return PairedDataset(
        name="openclipart",
        target=moments.astype(np.float64),
        source=sparse.csr_array(tags, dtype=np.float64),
        names=tuple(paths.tolist()),
        labels=labels.astype(np.int64),
        label_names=tuple(label_names.tolist()),
        tags=tags,
        tag_names=tuple(vocabulary.tolist()),
        pictures=ZippedPictures(thumbnails, tuple(f"{row:05d}.webp" for row in range(len(labels)))),
    )
