"""Searches that wait at the same moment are worked on together, in a fixed number of threads, within a limit of time.

A search begins at once if a thread is free. Else it waits, and the next thread that is free takes all that wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from thpi.web.errors import RequestError
from thpi.web.settings import Settings

Check = Callable[[], None]


class GivenUp(BaseException):
    """Nobody waits for these answers any more."""


class _Waiting(NamedTuple):
    asked: Any
    weight: int
    future: asyncio.Future[Any]

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Batches:
    """Runs ``work(asked, check)`` in at most ``n_threads`` threads, each time for all that wait.

    Its result has an answer or an exception for each that was asked. It calls ``check`` between blocks, which raises
    :class:`GivenUp` if nobody waits. Work that runs keeps its thread to its end, also if it is given up. What is taken
    together has a ``weight`` of at most ``most``; a heavier request is taken alone.
    """

    def __init__(self, work: Callable[[Sequence[Any], Check], Sequence[Any]], settings: Settings, most: int) -> None:
        self._work, self._limit, self._free, self._most = work, settings.time_limit, settings.n_threads, most
        self._pool = ThreadPoolExecutor(settings.n_threads, "thpi-search")
        self._queue: deque[_Waiting] = deque()

    async def run(self, asked: Any, weight: int) -> Any:
        """Return the answer, or raise an error after the time limit."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(asked, weight, loop.create_future())
        self._queue.append(waiting)
        loop.call_soon(self._start, loop)  # after the requests that have arrived together with this one
        timer = loop.call_later(self._limit, self._give_up, waiting)
        try:
            return await waiting.future
        finally:
            timer.cancel()

    def _give_up(self, waiting: _Waiting) -> None:
        waiting.fail(RequestError(503, f"the search took longer than {self._limit:g} seconds."))

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give what waits to the threads that are free."""
        while self._free and (batch := self._gather()):
            self._free -= 1
            self._pool.submit(self._run, batch, loop)

    def _gather(self) -> list[_Waiting]:
        batch, weight = list[_Waiting](), 0
        while self._queue:
            weight += self._queue[0].weight
            if batch and weight > self._most:
                break
            waiting = self._queue.popleft()
            if not waiting.future.done():
                batch.append(waiting)
        return batch

    def _run(self, batch: list[_Waiting], loop: asyncio.AbstractEventLoop) -> None:
        """Work in a thread."""

        def check() -> None:
            if all(waiting.future.done() for waiting in batch):
                raise GivenUp

        try:
            answers = self._work([waiting.asked for waiting in batch], check)
        except BaseException as error:  # also GivenUp, which reaches nobody
            answers = [error] * len(batch)
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(self._done, batch, answers, loop)

    def _done(self, batch: list[_Waiting], answers: Sequence[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._free += 1
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, BaseException):
                waiting.fail(answer)
            elif not waiting.future.done():
                waiting.future.set_result(answer)
        self._start(loop)
