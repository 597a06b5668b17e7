"""The data that comes with the package, for a first try: 2,000 digits, and a small shop of 1,000 drawings.

Each is a :class:`PairedDataset`. The two can be written as csv files, too. Research data, which have to be fetched,
are in ``experiments.datasets`` of the repository. This room imports only shared types and file writing.
"""

from thpi.datasets._sets import SHOP_ROLES, Item, PairedDataset, ShopTask, load_digits_views, load_shop, shop_task
from thpi.datasets._tables import EXAMPLE_FILES, SHOP_TABLES, write_example, write_shop_tables

__all__ = ["EXAMPLE_FILES", "Item", "PairedDataset", "SHOP_ROLES", "SHOP_TABLES", "ShopTask", "load_digits_views"]
__all__ += ["load_shop", "shop_task", "write_example", "write_shop_tables"]
