"""Finding the files of a data set and checking them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files as package_files
from pathlib import Path

from thpi._types import PathLike
from thpi.datasets._entry import DatasetInfo
from thpi.datasets._errors import DataAlteredError, DataNotFoundError


def data_home_path(data_home: PathLike | None = None) -> Path:
    """Return the folder that holds the data sets, one folder per set.

    ``data_home`` if given, else the environment variable ``THPI_DATA``, else ``~/thpi_data``.

    >>> data_home_path("somewhere").name
    'somewhere'
    """
    chosen = data_home if data_home is not None else os.environ.get("THPI_DATA") or "~/thpi_data"
    return Path(chosen).expanduser()


def dataset_folder(entry: DatasetInfo, data_home: PathLike | None) -> Path:
    """Return the folder of a data set."""
    if entry.folder is None:
        return Path(str(package_files("thpi.datasets._bundled")))
    return data_home_path(data_home) / entry.folder


def sha256_of(path: Path) -> str:
    """Return the sha256 checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def locate(
    entry: DatasetInfo,
    candidates: Iterable[str | Sequence[str]],
    data_home: PathLike | None,
    *,
    verify: bool = True,
) -> list[Path]:
    """Find files of a data set, and with ``verify`` compare the checksums that are known.

    If a candidate is a sequence of paths, the first that exists is taken.
    """
    folder = dataset_folder(entry, data_home)
    known = {file.path: file.sha256 for file in entry.files + entry.public_files}
    found = []
    for candidate in candidates:
        options = (candidate,) if isinstance(candidate, str) else tuple(candidate)
        present = next((option for option in options if (folder / option).is_file()), None)
        if present is None:
            raise DataNotFoundError(
                f"{' or '.join(options)} of data set {entry.name!r} is missing. Get it from {entry.home_page} and put "
                f"it at {folder / options[0]} (the folder above is data_home, else the environment variable "
                "THPI_DATA, else ~/thpi_data)."
            )
        if verify:
            check_file(entry.name, folder / present, known.get(present))
        found.append(folder / present)
    return found


def check_file(name: str, path: Path, expected: str | None) -> None:
    """Raise :class:`DataAlteredError` if the file does not have the expected checksum (None: any)."""
    if expected is not None and (actual := sha256_of(path)) != expected:
        raise DataAlteredError(
            f"{path} of data set {name!r} has sha256 {actual}, expected {expected}: it is damaged or another "
            "edition. Fetch it again, or pass verify=False to read it as it is."
        )
