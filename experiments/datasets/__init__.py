"""Data sets of paired target and source rows, for the experiments.

:data:`DATASETS` is the registry. :func:`load` loads a set by name, :func:`info` returns its entry, :func:`verify`
checks its files; :func:`data_home_path` says where they are. The digits and the shop are part of the package
(:mod:`thpi.datasets`). The preprocessing is in :mod:`experiments.datasets.preprocessing`.

To add a data set, write a file with a loader and an ``ENTRY`` and list it in ``registry.py``.
"""

from experiments.datasets.bbc import load_bbc
from experiments.datasets.ddtp import load_ddtp
from experiments.datasets.entry import (
    DataAlteredError,
    DataNotFoundError,
    DatasetInfo,
    OtherEditions,
    PaperRole,
    TransferRole,
    data_home_path,
)
from experiments.datasets.mediamill import load_mediamill
from experiments.datasets.nuswide import load_nuswide
from experiments.datasets.openclipart import load_openclipart
from experiments.datasets.openclipart_mobilenet import load_openclipart_mobilenet
from experiments.datasets.paired import checked, take
from experiments.datasets.registry import DATASETS, UnknownDatasetError, info, list_datasets, load, verify
from experiments.datasets.reuters import load_reuters
from experiments.datasets.stamps import load_stamps
from experiments.datasets.wikipedia import load_wikipedia

__all__ = [
    "DATASETS",
    "DataAlteredError",
    "DataNotFoundError",
    "DatasetInfo",
    "OtherEditions",
    "PaperRole",
    "TransferRole",
    "UnknownDatasetError",
    "checked",
    "data_home_path",
    "info",
    "list_datasets",
    "load",
    "load_bbc",
    "load_ddtp",
    "load_mediamill",
    "load_nuswide",
    "load_openclipart",
    "load_openclipart_mobilenet",
    "load_reuters",
    "load_stamps",
    "load_wikipedia",
    "take",
    "verify",
]
