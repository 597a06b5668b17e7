"""Data sets of paired target and source rows.

:func:`load` loads a set by name, :func:`info` and :func:`list_datasets` say what there is, :func:`verify` checks
files. The digits come with the package; for the others see :func:`data_home_path`. The preprocessing is in
:mod:`thpi.datasets.preprocessing`, apart, because it imports scikit-learn.
"""

from thpi.datasets._bbc import load_bbc
from thpi.datasets._ddtp import load_ddtp
from thpi.datasets._digits import load_digits_views
from thpi.datasets._errors import DataAlteredError, DataNotFoundError, UnknownDatasetError
from thpi.datasets._files import data_home_path, verify
from thpi.datasets._load import load
from thpi.datasets._mediamill import load_mediamill
from thpi.datasets._nuswide import load_nuswide
from thpi.datasets._openclipart import load_openclipart
from thpi.datasets._paired import Item, PairedDataset
from thpi.datasets._registry import DatasetInfo, FileInfo, info, list_datasets
from thpi.datasets._reuters import load_reuters
from thpi.datasets._wikipedia import load_wikipedia

__all__ = [
    "DataAlteredError",
    "DataNotFoundError",
    "DatasetInfo",
    "FileInfo",
    "Item",
    "PairedDataset",
    "UnknownDatasetError",
    "data_home_path",
    "info",
    "list_datasets",
    "load",
    "load_bbc",
    "load_ddtp",
    "load_digits_views",
    "load_mediamill",
    "load_nuswide",
    "load_openclipart",
    "load_reuters",
    "load_wikipedia",
    "verify",
]
