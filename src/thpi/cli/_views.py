"""Labels of rows, rows of a folder, and a cluster that reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thpi.cli._choice import Choice
from thpi.cli._columns import read_labels
from thpi.cli._tables import TableRows, read_matrix

if TYPE_CHECKING:
    from thpi.rows import Rows

_PATIENCE = "10s"  # with a scheduler that does not answer


def labels_of(table: TableRows, argument: str, labels: str | None, option: str, id: str | None) -> Any:
    """Return the labels of the rows of a table: from the table itself, or from the file of labels; None without."""
    if labels is None or table.labels is not None:
        return table.labels
    return read_labels(option, labels, argument, table.X.shape[0], table.ids, id)


def read_rows(choice: Choice, client: object = None) -> TableRows:
    """Read a table; rows of a folder, or of a cluster, are not read into memory, and their ids not at all."""
    spec, folder = choice.spec, Path(choice.spec).is_dir()
    if client is not None and not (folder or spec.endswith(".parquet")):
        raise choice.error("must be a folder of parquet files or one such file with --scheduler.")
    if client is None and not folder:
        return read_matrix(choice)
    from thpi.rows import Parquet, dask_parquet

    columns = choice.of(Parquet(spec).names)
    features = list(columns.features)
    rows: Rows = Parquet(spec, features) if client is None else dask_parquet(spec, features)
    # A single column of vectors has no names of features.
    names = None if len(features) == 1 else columns.features
    return TableRows(rows, None, None, names, columns)


@contextmanager
def cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler, if there is an address; yield its client, or None."""
    if address is None:
        yield None
        return
    from thpi._optional import require

    distributed = require("distributed", "dask")
    # The error reports a lost connection; Dask need not repeat it.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"--scheduler {address!r} does not answer ({error}).") from None
    try:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise ValueError(f"--scheduler {address!r} has no workers.")
        yield client
    finally:
        client.close(timeout=2)
