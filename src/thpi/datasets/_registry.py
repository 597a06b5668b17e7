"""The registry of data sets, and what works on any of them by name."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from thpi._types import PathLike
from thpi.datasets import _bbc, _ddtp, _digits, _mediamill, _nuswide, _openclipart, _reuters, _wikipedia
from thpi.datasets._entry import DatasetInfo
from thpi.datasets._errors import UnknownDatasetError
from thpi.datasets._files import check_file, dataset_folder, sha256_of
from thpi.datasets._paired import PairedDataset

Status: TypeAlias = Literal["ok", "missing", "altered", "unchecked"]

DATASETS: dict[str, DatasetInfo] = {
    entry.name: entry
    for entry in (
        _digits.ENTRY,
        _bbc.ENTRY,
        _wikipedia.ENTRY,
        _reuters.ENTRY,
        _ddtp.ENTRY,
        _nuswide.ENTRY,
        _openclipart.ENTRY,
        _mediamill.ENTRY,
    )
}
"""The data sets by name, in the order of tables and reports. Assign an entry to add a data set of your own."""


def list_datasets() -> tuple[str, ...]:
    """Return the names of the data sets, the bundled one first.

    >>> list_datasets()[:2]
    ('digits', 'bbc')
    """
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

    >>> load("digits", source="kar").d_source
    64
    """
    entry = info(name)
    if entry.folder is not None:
        options["data_home"] = data_home
    return entry.loader(**options)


def verify(name: str, data_home: PathLike | None = None, *, strict: bool = False) -> dict[str, Status]:
    """Compare the files of a data set with their checksums.

    Returns
    -------
    dict from the file's path within the data set's folder to ``"ok"``, ``"missing"``, ``"altered"``, or
    ``"unchecked"`` (present, but no checksum is known). Files of the full public collection are listed only
    if present, because it is an alternative. With ``strict``, an altered file raises :class:`DataAlteredError`.

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
            check_file(name, path, file.sha256)
            report[file.path] = "ok"
        else:
            report[file.path] = "ok" if sha256_of(path) == file.sha256 else "altered"
    return report
