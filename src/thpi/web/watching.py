"""Keeping up with index files that other processes change, while requests are answered."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from fastapi import FastAPI

    from thpi.index import HammingIndex

INTERVAL = 0.25
"""Seconds between two looks at a file."""
_LONGEST = 5.0
_log = logging.getLogger("thpi.web")


class Watch:
    """Looks at the files of indexes as long as the application runs; ``problem`` says why one cannot be followed."""

    def __init__(self, indexes: list[HammingIndex]) -> None:
        self._indexes = [index for index in indexes if index.version is not None]
        self.problem: str | None = None

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Watch while the application runs."""
        async with anyio.create_task_group() as group:
            if self._indexes:
                group.start_soon(self._run)
            yield
            group.cancel_scope.cancel()

    async def _run(self) -> None:
        wait, thread = INTERVAL, anyio.CapacityLimiter(1)
        while True:
            await anyio.sleep(wait)
            try:
                for index in self._indexes:
                    await anyio.to_thread.run_sync(index.refresh, limiter=thread)
            except (OSError, ValueError, KeyError) as error:
                # Requests are answered from what was read before. It is said once, and tried less and less often.
                if self.problem is None:
                    _log.warning("the index file cannot be followed: %s", error)
                self.problem, wait = str(error), min(2 * wait, _LONGEST)
            else:
                self.problem, wait = None, INTERVAL
