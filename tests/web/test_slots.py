from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from thpi.web.errors import RequestError
from thpi.web.settings import Settings
from thpi.web.slots import Slots


async def stays() -> Any:
    await asyncio.Event().wait()


def endless(running: set[int]) -> Callable[[Callable[[], None]], None]:
    def work(check: Callable[[], None]) -> None:
        running.add(threading.get_ident())
        while True:
            check()
            time.sleep(0.001)

    return work


def test_a_result_and_an_error_come_through() -> None:
    async def run() -> None:
        slots = Slots(Settings())
        assert await slots.run(lambda _: 42, stays) == 42
        with pytest.raises(ZeroDivisionError):
            await slots.run(lambda _: 1 // 0, stays)

    asyncio.run(run())


def test_work_that_takes_too_long_ends_at_its_next_check_and_frees_its_slot() -> None:
    async def run() -> None:
        slots, running = Slots(Settings(time_limit=0.1, n_threads=2)), set[int]()
        for _ in range(5):
            answers = await asyncio.gather(
                *(slots.run(endless(running), stays) for _ in range(6)), return_exceptions=True
            )
            assert [answer.status for answer in answers if isinstance(answer, RequestError)] == [503] * 6
        await asyncio.sleep(0.05)
        assert await slots.run(lambda _: 42, stays) == 42
        assert len(running) <= 2

    asyncio.run(run())


def test_work_that_does_not_check_keeps_its_slot_to_its_end() -> None:
    async def run() -> None:
        slots, go, done = Slots(Settings(time_limit=0.1, n_threads=1)), threading.Event(), []
        with pytest.raises(RequestError, match=r"0\.1 seconds"):
            await slots.run(lambda _: (go.wait(10), done.append("first")), stays)
        with pytest.raises(RequestError):
            await slots.run(lambda _: done.append("second"), stays)
        assert done == []
        go.set()
        await slots.run(lambda _: done.append("third"), stays)
        assert done == ["first", "third"]

    asyncio.run(run())


def test_work_for_a_client_that_has_gone_ends() -> None:
    async def run() -> None:
        left, running = asyncio.Event(), set[int]()

        async def leaves() -> Any:
            await left.wait()
            return {"type": "http.disconnect"}

        slots = Slots(Settings(n_threads=1))
        asked = asyncio.create_task(slots.run(endless(running), leaves))
        await asyncio.sleep(0.05)
        left.set()
        with pytest.raises(RequestError, match="client") as caught:
            await asked
        assert caught.value.status == 499
        assert await slots.run(lambda _: 42, stays) == 42

    asyncio.run(run())
