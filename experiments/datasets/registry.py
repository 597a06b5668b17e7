"""The registry of data sets, and what works on any of them by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

from experiments.datasets import (
    bbc,
    bundled,
    ddtp,
    mediamill,
    nuswide,
    openclipart,
    openclipart_mobilenet,
    reuters,
    stamps,
    wikipedia,
)
from experiments.datasets.entry import DataAlteredError, DatasetInfo
from experiments.datasets.paired import checked
from thpi._types import PathLike
from thpi.datasets import PairedDataset

Status: TypeAlias = Literal["ok", "missing", "altered", "unchecked"]

DATASETS: dict[str, DatasetInfo] = {
    entry.name: entry
    for entry in (
        bundled.DIGITS,
        bundled.SHOP,
        bbc.ENTRY,
        wikipedia.ENTRY,
        reuters.ENTRY,
        ddtp.ENTRY,
        nuswide.ENTRY,
        openclipart.ENTRY,
        mediamill.ENTRY,
        stamps.ENTRY,
        openclipart_mobilenet.ENTRY,
    )
}
"""The data sets by name, in the order of tables and reports. Assign an entry to add a data set of your own."""


class UnknownDatasetError(KeyError):
    """No data set of this name is registered."""

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0])


def list_datasets() -> tuple[str, ...]:
    """Return the names of the data sets, the bundled ones first."""
    return tuple(DATASETS)


def info(name: str) -> DatasetInfo:
    """Return the registry entry of a data set.

    >>> info("digits").licence
    'CC BY 4.0'
    """
    if name not in DATASETS:
        raise UnknownDatasetError(f"name={name!r} is not a data set; known: {', '.join(DATASETS)}.")
    return DATASETS[name]


def load(name: str, data_home: PathLike | None = None, **options: Any) -> PairedDataset:
    """Load a data set by its name in the registry; ``options`` go to its loader.

    >>> load("digits", source="kar").source.shape
    (2000, 64)
    """
    entry = info(name)
    if entry.folder is not None:
        options["data_home"] = data_home
    return checked(entry.loader(**options))


def verify(name: str, data_home: PathLike | None = None, *, strict: bool = False) -> dict[str, Status]:
    """Compare the files of a data set with their checksums.

    Returns ``"ok"``, ``"missing"``, ``"altered"``, or ``"unchecked"`` (no checksum is known) for each path within the
    data set's folder. Files of the full public collection are listed only if present, because it is an alternative.
    The files of another edition are "unchecked" if their structure is sound, otherwise "altered". With ``strict``, an
    altered file raises :class:`DataAlteredError`.

    >>> verify("digits")
    {'digits.npz': 'ok'}
    """
    entry = info(name)
    folder = entry.folder_in(data_home)
    report: dict[str, Status] = {}
    other = _check_other_edition(entry, folder, strict)
    for path, sha256 in entry.all_files.items():
        if not (folder / path).is_file():
            if path in entry.files:
                report[path] = "missing"
            continue
        try:
            entry.check_file(folder / path, sha256)
            report[path] = "unchecked" if sha256 is None else "ok"
        except DataAlteredError:
            if strict and other is None:
                raise
            report[path] = other or "altered"
    return report


def _check_other_edition(entry: DatasetInfo, folder: Path, strict: bool) -> Status | None:
    """Return the status of files with other checksums; None if the folder does not hold another edition."""
    if entry.other_editions is None or not entry.is_other_edition(folder):
        return None
    try:
        entry.other_editions.check(folder)
    except DataAlteredError:
        if strict:
            raise
        return "altered"
    return "unchecked"
