from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from thpi.web.batches import Batches, Check
from thpi.web.errors import RequestError
from thpi.web.settings import Settings

Work = Callable[[Check], Any]


def made_of(work: Callable[..., Any], settings: Settings, most: int = 10**9) -> Batches:
    return Batches(work, settings, most)


def one_by_one(asked: Sequence[Work], check: Check) -> list[Any]:
    """Work for tests: what is asked is a function."""
    answers: list[Any] = []
    for each in asked:
        try:
            answers.append(each(check))
        except Exception as error:
            answers.append(error)
    return answers


def endless(running: set[int]) -> Work:
    def work(check: Check) -> None:
        running.add(threading.get_ident())
        while True:
            check()
            time.sleep(0.001)

    return work


def test_a_result_and_an_error_come_through() -> None:
    async def run() -> None:
        made = made_of(one_by_one, Settings())
        assert await made.run(lambda _: 42, 1) == 42
        with pytest.raises(ZeroDivisionError):
            await made.run(lambda _: 1 // 0, 1)
        broken = made_of(lambda asked, check: [1 // 0], Settings())
        with pytest.raises(ZeroDivisionError):
            await broken.run(1, 1)
        assert await made.run(lambda _: 42, 1) == 42

    asyncio.run(run())


def counted(sizes: list[list[int]], go: threading.Event) -> Callable[[Sequence[int], Check], list[Any]]:
    def work(asked: Sequence[int], check: Check) -> list[Any]:
        sizes.append(list(asked))
        if len(sizes) == 1:
            go.wait(10)
        return [10 * each for each in asked]

    return work


def test_what_waits_is_taken_together_and_a_lone_request_does_not_wait() -> None:
    async def run() -> None:
        taken: list[list[int]] = []
        go = threading.Event()
        made = made_of(counted(taken, go), Settings(n_threads=1))
        first = asyncio.create_task(made.run(0, 1))
        while not taken:
            await asyncio.sleep(0.001)
        rest = [asyncio.create_task(made.run(i, 1)) for i in range(1, 30)]
        await asyncio.sleep(0.01)
        assert taken == [[0]], "it began at once, alone"
        go.set()
        assert await asyncio.gather(first, *rest) == [10 * i for i in range(30)]
        assert taken == [[0], list(range(1, 30))]

    asyncio.run(run())


def test_requests_of_one_moment_are_taken_together() -> None:
    async def run() -> None:
        taken: list[list[int]] = []
        go = threading.Event()
        go.set()
        made = made_of(counted(taken, go), Settings(n_threads=2))
        assert await asyncio.gather(*(made.run(i, 1) for i in range(8))) == [10 * i for i in range(8)]
        assert taken == [list(range(8))]

    asyncio.run(run())


def test_a_batch_has_bounds() -> None:

    async def run() -> None:
        taken: list[list[int]] = []
        go = threading.Event()
        go.set()
        made = made_of(counted(taken, go), Settings(n_threads=1), 10)
        sizes = [1, 1, 1, 1, 1, 6, 6, 100, 1]
        await asyncio.gather(*(made.run(i, size) for i, size in enumerate(sizes)))
        assert taken == [[0, 1, 2, 3, 4], [5], [6], [7], [8]]

    asyncio.run(run())


def test_work_that_takes_too_long_ends_at_its_next_check_and_frees_its_thread() -> None:
    async def run() -> None:
        made, running = made_of(one_by_one, Settings(time_limit=0.1, n_threads=2)), set[int]()
        for _ in range(5):
            answers = await asyncio.gather(*(made.run(endless(running), 1) for _ in range(6)), return_exceptions=True)
            assert [answer.status for answer in answers if isinstance(answer, RequestError)] == [503] * 6
        await asyncio.sleep(0.05)
        assert await made.run(lambda _: 42, 1) == 42
        assert len(running) <= 2

    asyncio.run(run())


def test_work_that_does_not_check_keeps_its_thread_to_its_end() -> None:
    async def run() -> None:
        made = made_of(one_by_one, Settings(time_limit=0.1, n_threads=1))
        go, done = threading.Event(), list[str]()
        with pytest.raises(RequestError, match=r"0\.1 seconds"):
            await made.run(lambda _: (go.wait(10), done.append("first")), 1)
        with pytest.raises(RequestError):
            await made.run(lambda _: done.append("second"), 1)
        assert done == []
        go.set()
        await made.run(lambda _: done.append("third") or 0, 1)
        assert done == ["first", "third"]

    asyncio.run(run())


def test_the_limit_holds_in_another_event_loop() -> None:
    """A test client runs each request in a loop of its own."""
    made = made_of(one_by_one, Settings(time_limit=0.2, n_threads=1))

    async def one(work: Work) -> Any:
        return await made.run(work, 1)

    assert asyncio.run(one(lambda _: 42)) == 42  # its timer is never called
    with pytest.raises(RequestError, match=r"longer than 0\.2 seconds"):
        asyncio.run(one(endless(set())))


def test_a_batch_goes_on_as_long_as_anyone_waits_for_it() -> None:
    """Of two requests that are taken together the first is given up by its client."""

    async def run() -> None:
        first, done = threading.Event(), threading.Event()

        def work(asked: Sequence[int], check: Check) -> list[int]:
            first.wait(10)
            while not done.is_set():
                check()
                time.sleep(0.001)
            return [10 * each for each in asked]

        made = made_of(work, Settings(n_threads=1))
        goes, waits = (asyncio.create_task(made.run(i, 1)) for i in range(2))
        await asyncio.sleep(0.05)
        goes.cancel()
        await asyncio.sleep(0.01)
        first.set()
        await asyncio.sleep(0.05)
        assert not waits.done()
        done.set()
        assert await waits == 10

    asyncio.run(run())
