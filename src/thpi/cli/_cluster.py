"""A Dask cluster for the commands that can use one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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
