"""Tables of rows from files and standard input: what their columns are, and rows joined by id.

It may import pairing and rows, and pyarrow; it knows no methods and no commands. Errors name the file, the line or row,
the column and the value, and the option that helps.
"""

from thpi.tables._arrays import load_array
from thpi.tables._choice import Choice, Columns, Names, Value, split_spec
from thpi.tables._learning import Files, Learning, check_width, cluster, read_learning
from thpi.tables._tables import Batch, Table, TableRows, as_ids, open_table, read_column, read_matrix, read_stdin

__all__ = ["Batch", "Choice", "Columns", "Files", "Learning", "Names", "Table", "TableRows", "Value", "as_ids"]
__all__ += ["check_width", "cluster", "load_array", "open_table", "read_column", "read_learning", "read_matrix"]
__all__ += ["read_stdin", "split_spec"]
