"""Finding the files of a data set and checking them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Literal, TypeAlias

from thpi.datasets._errors import DataAlteredError, DataNotFoundError
from thpi.datasets._registry import DatasetInfo, info

__all__ = ["data_home_path", "locate", "verify"]

Status: TypeAlias = Literal["ok", "missing", "altered", "unchecked"]


def data_home_path(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Give the folder that holds the data sets, one folder a set.

    ``data_home`` if given, else the environment variable ``THPI_DATA``, else ``~/thpi_data``.

    >>> data_home_path("somewhere").name
    'somewhere'
    """
    chosen = data_home if data_home is not None else os.environ.get("THPI_DATA") or "~/thpi_data"
    return Path(chosen).expanduser()


def dataset_folder(entry: DatasetInfo, data_home: str | os.PathLike[str] | None) -> Path:
    """Give the folder of a data set."""
    if entry.folder is None:
        return Path(str(package_files("thpi.datasets._bundled")))
    return data_home_path(data_home) / entry.folder


def sha256_of(path: Path) -> str:
    """Give the sha256 checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def locate(
    name: str,
    candidates: Iterable[str | Sequence[str]],
    data_home: str | os.PathLike[str] | None,
    *,
    verify: bool = True,
) -> list[Path]:
    """Find files of a data set, and with ``verify`` compare the checksums that are known.

    Where a candidate is a sequence of paths, the first that exists is taken.
    """
    entry = info(name)
    folder = dataset_folder(entry, data_home)
    known = {file.path: file.sha256 for file in entry.files + entry.public_files}
    found = []
    for candidate in candidates:
        options = (candidate,) if isinstance(candidate, str) else tuple(candidate)
        present = next((option for option in options if (folder / option).is_file()), None)
        if present is None:
            raise DataNotFoundError(
                f"{' or '.join(options)} of data set {name!r} is missing. Get it from {entry.home_page} and put it "
                f"at {folder / options[0]} (the folder above is data_home, else the environment variable "
                "THPI_DATA, else ~/thpi_data)."
            )
        if verify:
            _check(name, folder / present, known.get(present))
        found.append(folder / present)
    return found


def _check(name: str, path: Path, expected: str | None) -> None:
    if expected is None:
        return
    actual = sha256_of(path)
    if actual != expected:
        raise DataAlteredError(
            f"{path} of data set {name!r} has sha256 {actual}, expected {expected}: it is damaged or another "
            "edition. Fetch it again, or pass verify=False to read it as it is."
        )


def verify(name: str, data_home: str | os.PathLike[str] | None = None, *, strict: bool = False) -> dict[str, Status]:
    """Compare the files of a data set with their checksums.

    Returns
    -------
    dict from the file's path within the data set's folder to ``"ok"``, ``"missing"``, ``"altered"``, or
    ``"unchecked"`` (present, but no checksum is known). Files of the full public collection are listed only
    where present, for it is an alternative. With ``strict``, an altered file raises :class:`DataAlteredError`.

    >>> verify("digits")
    {'digits.npz': 'ok'}
    """
    entry = info(name)
    folder = dataset_folder(entry, data_home)
    report: dict[str, Status] = {}
    for file in entry.files + entry.public_files:
        path = folder / file.path
        if not path.is_file():
            if file in entry.files:
                report[file.path] = "missing"
        elif file.sha256 is None:
            report[file.path] = "unchecked"
        elif strict:
            _check(name, path, file.sha256)
            report[file.path] = "ok"
        else:
            report[file.path] = "ok" if sha256_of(path) == file.sha256 else "altered"
    return report
