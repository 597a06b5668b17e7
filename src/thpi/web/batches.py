"""Requests that wait at the same moment are worked on together, in a fixed number of threads, within a limit of time.

A request begins at once if a thread is free. Else it waits, and the next thread that is free takes all that wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from starlette.types import Receive
from threadpoolctl import threadpool_limits

from thpi.web.errors import RequestError
from thpi.web.settings import Settings

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Check = Callable[[], None]

_MOST = 256  # requests that are taken together,
_MOST_BYTES = 2**18  # and bytes of their bodies; a larger one is taken alone
_SOON = 0.1  # seconds after which it is looked whether the client is still there


class GivenUp(BaseException):
    """Nobody waits for these answers any more."""


class _Waiting(Generic[Asked, Answer]):
    def __init__(self, asked: Asked, size: int, receive: Receive, loop: asyncio.AbstractEventLoop) -> None:
        self.asked, self.size, self.receive = asked, size, receive
        self.future: asyncio.Future[Answer] = loop.create_future()
        self.begin = loop.time()
        self.watch: asyncio.Task[None] | None = None
        self.given_up = False

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Batches(Generic[Asked, Answer]):
    """Runs ``work(asked, check)`` in at most ``n_threads`` threads, each time for all that wait, within bounds.

    Its result has an answer or an exception for each that was asked; None stands for one that is to wait again. It
    calls ``check`` between blocks, which raises :class:`GivenUp` if nobody waits. Work that runs keeps its thread to
    its end, also if it is given up.
    """

    def __init__(
        self, work: Callable[[Sequence[Asked], Check], Sequence[Answer | BaseException | None]], settings: Settings
    ) -> None:
        self._work, self._limit, self._free = work, settings.time_limit, settings.n_threads
        # OpenMP keeps its number of threads per thread, so each of these has to be told.
        self._pool = ThreadPoolExecutor(
            settings.n_threads, "thpi-search", initializer=threadpool_limits, initargs=(settings.library_threads,)
        )
        self._queue: deque[_Waiting[Asked, Answer]] = deque()
        self._open: dict[_Waiting[Asked, Answer], None] = {}
        self._looking: asyncio.AbstractEventLoop | None = None  # whose timer calls _look
        self._pause = min(_SOON, settings.time_limit / 4)

    async def run(self, asked: Asked, size: int, receive: Receive) -> Answer:
        """Return the answer; ``size`` is the number of bytes of the body.

        After the time limit, or if the client of ``receive`` has gone, this raises an error at once.
        """
        loop = asyncio.get_running_loop()
        waiting = _Waiting[Asked, Answer](asked, size, receive, loop)
        self._open[waiting] = None
        if self._looking is not loop:
            self._looking = loop
            loop.call_later(self._pause, self._look, loop)
        self._queue.append(waiting)
        loop.call_soon(self._start, loop)  # after the requests that have arrived together with this one
        try:
            return await waiting.future
        finally:
            waiting.given_up = True
            del self._open[waiting]
            if waiting.watch is not None:
                waiting.watch.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look after the requests that take long. One timer for all of them: most are answered before it."""
        now = loop.time()
        for waiting in self._open:
            if now - waiting.begin >= self._limit:
                waiting.fail(RequestError(503, f"the search took longer than {self._limit:g} seconds."))
            elif waiting.watch is None and now - waiting.begin >= self._pause:
                waiting.watch = loop.create_task(_watch(waiting))
        if self._open:
            loop.call_later(self._pause, self._look, loop)
        else:
            self._looking = None

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give what waits to the threads that are free."""
        while self._free and (batch := self._gather()):
            self._free -= 1
            self._pool.submit(self._run, batch, loop)

    def _gather(self) -> list[_Waiting[Asked, Answer]]:
        batch: list[_Waiting[Asked, Answer]] = []
        size = 0
        while self._queue and len(batch) < _MOST:
            size += self._queue[0].size
            if batch and size > _MOST_BYTES:
                break
            waiting = self._queue.popleft()
            if not waiting.given_up:
                batch.append(waiting)
        return batch

    def _run(self, batch: list[_Waiting[Asked, Answer]], loop: asyncio.AbstractEventLoop) -> None:
        """Work in a thread."""

        def check() -> None:
            if all(waiting.given_up for waiting in batch):
                raise GivenUp

        answers: Sequence[Answer | BaseException | None]
        try:
            answers = self._work([waiting.asked for waiting in batch], check)
        except BaseException as error:  # also GivenUp, which reaches nobody
            answers = [error] * len(batch)
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(self._done, batch, answers, loop)

    def _done(
        self,
        batch: list[_Waiting[Asked, Answer]],
        answers: Sequence[Answer | BaseException | None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._free += 1
        for waiting, answer in zip(reversed(batch), reversed(answers), strict=True):
            if waiting.given_up or waiting.future.done():
                continue
            if answer is None:
                self._queue.appendleft(waiting)
            elif isinstance(answer, BaseException):
                waiting.fail(answer)
            else:
                waiting.future.set_result(answer)
        self._start(loop)


async def _watch(waiting: _Waiting[Any, Any]) -> None:
    """Give up if the client goes."""
    while (await waiting.receive())["type"] != "http.disconnect":
        pass
    waiting.fail(RequestError(499, "the client has closed the connection."))
