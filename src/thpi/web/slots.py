"""Searches in threads: a fixed number at a time, each with a limit of time, ended early if nobody waits any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.types import Receive

from thpi.web.errors import RequestError
from thpi.web.settings import Settings

T = TypeVar("T")


class Slots:
    """Runs work in at most ``n_threads`` threads. Work that runs keeps its slot to its end, also if it is given up."""

    def __init__(self, settings: Settings) -> None:
        self._limit, self._threads = settings.time_limit, anyio.CapacityLimiter(settings.n_threads)
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[Callable[[], None]], T], receive: Receive) -> T:
        """Return the result of ``work``, which calls its argument between blocks.

        After the time limit, or if the client of ``receive`` has gone, this raises an error at once, and the call ends
        the work.
        """
        scope = anyio.CancelScope()

        async def hold() -> T | None:
            with scope:
                return await anyio.to_thread.run_sync(work, anyio.from_thread.check_cancelled, limiter=self._threads)
            return None

        task, gone = asyncio.create_task(hold()), asyncio.create_task(_gone(receive))
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            await asyncio.wait({task, gone}, timeout=self._limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            scope.cancel()
            gone.cancel()
        if task.done():
            return task.result()  # type: ignore[return-value]
        if gone.done():
            raise RequestError(499, "the client has closed the connection.")
        raise RequestError(503, f"the search took longer than {self._limit:g} seconds.")

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # of work that was given up nobody asks for it, and asyncio would complain


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
