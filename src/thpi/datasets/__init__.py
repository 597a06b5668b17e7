"""Data sets of paired target and source rows.

:data:`DATASETS` is the registry. :func:`load` loads a set by name, :func:`info` returns its entry, :func:`verify`
checks its files. The digits and the shop are part of the package; for the others see :func:`data_home_path`. The
preprocessing is in :mod:`thpi.datasets.preprocessing`, a separate module because it imports scikit-learn.

To add a data set, write a file with a loader and an ``ENTRY`` and list it in ``_registry.py``.
"""

from thpi.datasets._bbc import load_bbc
from thpi.datasets._ddtp import load_ddtp
from thpi.datasets._digits import load_digits_views
from thpi.datasets._entry import (
    DataAlteredError,
    DataNotFoundError,
    DatasetInfo,
    Demo,
    OtherEditions,
    PaperRole,
    TransferRole,
    data_home_path,
)
from thpi.datasets._example import EXAMPLE_FILES, write_example
from thpi.datasets._mediamill import load_mediamill
from thpi.datasets._nuswide import load_nuswide
from thpi.datasets._openclipart import load_openclipart
from thpi.datasets._openclipart_mobilenet import load_openclipart_mobilenet
from thpi.datasets._paired import Item, PairedDataset
from thpi.datasets._registry import DATASETS, UnknownDatasetError, info, list_datasets, load, verify
from thpi.datasets._reuters import load_reuters
from thpi.datasets._shop import SHOP_ROLES, load_shop
from thpi.datasets._shop_tables import SHOP_TABLES, write_shop_tables
from thpi.datasets._shop_task import ShopTask, shop_task
from thpi.datasets._stamps import load_stamps
from thpi.datasets._wikipedia import load_wikipedia

__all__ = [
    "DATASETS",
    "DataAlteredError",
    "DataNotFoundError",
    "DatasetInfo",
    "Demo",
    "EXAMPLE_FILES",
    "Item",
    "OtherEditions",
    "PairedDataset",
    "PaperRole",
    "SHOP_ROLES",
    "SHOP_TABLES",
    "ShopTask",
    "TransferRole",
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
    "load_openclipart_mobilenet",
    "load_reuters",
    "load_shop",
    "load_stamps",
    "load_wikipedia",
    "shop_task",
    "verify",
    "write_example",
    "write_shop_tables",
]
