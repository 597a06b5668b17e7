"""Tables of rows from files and standard input: what their columns are, and rows joined by id.

It may import pairing and rows, and pyarrow; it knows no methods and no commands. Errors name the file, the line or row,
the column and the value, and the option that helps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thpi.tables._choice import Choice, Columns, Names, Value, column_of, some, split_spec

if TYPE_CHECKING:
    from thpi.tables._arrays import load_array
    from thpi.tables._columns import as_ids, label_texts, read_column, read_labels
    from thpi.tables._learning import Files, Learning, check_ignored, check_positions, cluster, labels_of, read_learning
    from thpi.tables._tables import Batch, Table, TableRows, open_table, read_matrix, read_stdin

_HOMES = {
    "_arrays": ("load_array",),
    "_columns": ("as_ids", "label_texts", "read_column", "read_labels"),
    "_learning": ("Files", "Learning", "check_ignored", "check_positions", "cluster", "labels_of", "read_learning"),
    "_tables": ("Batch", "Table", "TableRows", "open_table", "read_matrix", "read_stdin"),
}

__all__ = ["Batch", "Choice", "Columns", "Files", "Learning", "Names", "Table", "TableRows", "Value", "as_ids"]
__all__ += ["check_ignored", "check_positions", "cluster", "column_of", "label_texts", "labels_of", "load_array"]
__all__ += ["open_table", "read_column", "read_labels", "read_learning", "read_matrix", "read_stdin", "some"]
__all__ += ["split_spec"]


def __getattr__(name: str) -> Any:
    # numpy and pyarrow are imported when something is read: the help of a command comes without them.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"thpi.tables.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
