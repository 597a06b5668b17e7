"""The rows that a method learns from: target, privileged and further rows, labels, and a cluster that reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thpi._types import Array, InMemory, Matrix
from thpi.cli._columns import column_of, read_labels
from thpi.cli._tables import Names, read_matrix

if TYPE_CHECKING:
    from thpi.rows import Rows


class Labelled(NamedTuple):
    """Rows, their labels as texts, if any, and the names of their columns, if they have names."""

    X: InMemory
    labels: Array | None
    names: tuple[str, ...] | None = None


def read_labelled(
    argument: str, spec: str, labels: str | None, option: str = "--labels", ignore: Names = None, features: Names = None
) -> Labelled:
    """Read rows and their labels, which are a column of the table or a file of their own."""
    key = column_of(spec, labels)
    X, values, names = read_matrix(argument, spec, key=key, ignore=ignore, features=features)
    if labels is not None and key is None:
        values = read_labels(option, labels, argument, X.shape[0])
    # As texts, labels from csv files and from arrays of integers are equal.
    return Labelled(X, None if values is None else np.array([str(value) for value in values]), names)


def read_rows(
    argument: str, spec: str, *, ignore: Names = None, features: Names = None, client: object = None
) -> tuple[Matrix, tuple[str, ...] | None]:
    """Return rows and the names of their columns; rows of a folder, or of a cluster, are not read into memory."""
    folder = Path(spec).is_dir()
    if client is not None and not (folder or spec.endswith(".parquet")):
        raise ValueError(f"{argument}={spec!r} must be a folder of parquet files or one such file with --scheduler.")
    if client is None and not folder:
        X, _, names = read_matrix(argument, spec, ignore=ignore, features=features)
        return X, names
    from thpi.rows import Parquet, dask_parquet

    found = Parquet(spec).names
    left_out = ignore or ()
    for name in left_out:
        if name not in found:
            raise ValueError(f"{argument}={spec!r} has no column {name!r}.")
    columns = list(features or [name for name in found if name not in left_out])
    rows: Rows = Parquet(spec, columns) if client is None else dask_parquet(spec, columns)
    # A single column of vectors has no names of features.
    return rows, None if len(columns) == 1 else tuple(columns)


def read_other_views(
    X: Matrix, names: Names, privileged: str | None, source: str | None, target: str | None, client: object = None
) -> dict[str, Matrix | None]:
    """Read the rows beside DATA, under the names that ``fit`` gives them; refuse those that do not fit together."""
    S = None if privileged is None else read_rows("--privileged", privileged)[0]
    S_U = None if source is None else read_rows("--source", source, client=client)[0]
    X_U = None if target is None else read_rows("--target", target, features=names)[0]
    n = X.shape[0]
    if S is not None and S.shape[0] != n:
        raise ValueError(
            f"--privileged {privileged!r} has {S.shape[0]} rows and DATA {n}; row i must be the same item."
        )
    further = ("--source", source, S_U, "--privileged", S), ("--target", target, X_U, "DATA", X)
    for option, spec, rows, other, like in further:
        if rows is not None and like is not None and (d := rows.shape[1]) != like.shape[1]:
            raise ValueError(f"{option} {spec!r} has {d} columns and {other} {like.shape[1]}; they must be the same.")
    return {"privileged": S, "source": S_U, "target": X_U}


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
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"--scheduler {address!r} does not answer ({error}).") from None
    try:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise ValueError(f"--scheduler {address!r} has no workers.")
        yield client
    finally:
        client.close(timeout=2)
