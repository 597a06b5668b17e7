"""Connecting to milvus-lite, the engine that Milvus offers for a file: a process that starts with the connection."""

from __future__ import annotations

import time
from typing import Any

from thpi._optional import require

_PATIENCE = 60.0  # seconds for the engine to start


def open_file(path: str) -> Any:
    """Return a client of the engine for a file. On a busy machine the first attempts to reach it may fail."""
    pymilvus = require("pymilvus", "milvus")
    require("milvus_lite", "milvus")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return pymilvus.MilvusClient(path, timeout=_PATIENCE)
        except pymilvus.MilvusException as error:
            if "Open local milvus failed" in str(error):
                # Not tried again: milvus-lite has just removed the lock of the other program.
                raise ConnectionError(f"address={path!r} does not open; another program may have it open.") from error
            if "Fail connecting to server" not in str(error):
                raise
            if time.monotonic() >= deadline:
                text = f"address={path!r}: Milvus does not start in {_PATIENCE:g} s ({error})."
                raise ConnectionError(text) from error
        time.sleep(0.25)
