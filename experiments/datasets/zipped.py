"""Pictures that are kept in a zip archive."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from thpi._types import Ints


@dataclass(frozen=True)
class ZippedPictures(Sequence[bytes]):
    """Image files in a zip archive, read when they are used."""

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

    def __iter__(self) -> Iterator[bytes]:
        # Opening the archive again for each picture takes a hundred times as long.
        with zipfile.ZipFile(self.archive) as archive:
            for member in self.members:
                yield archive.read(member)

    def take(self, index: Ints) -> ZippedPictures:
        """Select pictures without reading them."""
        return ZippedPictures(self.archive, tuple(self.members[i] for i in index.tolist()))
