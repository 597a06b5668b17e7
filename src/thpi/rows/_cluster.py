"""Computations on a Dask cluster: a cluster that goes away is one clear error, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from thpi._optional import require

Client: TypeAlias = Any
"""A ``distributed.Client``; Dask is optional and has no types."""
Future: TypeAlias = Any
"""A ``distributed.Future``."""

PATIENCE = "60s"
"""How long a computation waits for a worker if there is none; ``thpi.no-workers-timeout`` of Dask's configuration."""

_LOOK_EVERY = 1.0

# Compared by name, because distributed need not be installed where Dask runs on threads.
_LOST = {"CancelledError", "CommClosedError", "FutureCancelledError"}
_LOST |= {"KilledWorker", "NoValidWorkerError", "NoWorkerError", "ShutdownError"}
_ADDRESS = re.compile(r"'?\w+://[^\s']+'?")


class ClusterLostError(ConnectionError):
    """The Dask scheduler, or all of its workers, went away during a computation."""


@contextmanager
def cluster_errors(done: Callable[[], str] = lambda: "nothing was changed") -> Iterator[None]:
    """Turn the errors of Dask that mean a lost cluster into ``ClusterLostError``; ``done`` says what has been done."""
    try:
        yield
    except Exception as error:
        lost = not _LOST.isdisjoint(kind.__name__ for kind in type(error).__mro__)
        # Dask looks up a worker that has just died by its address, and the KeyError holds nothing else.
        if not (lost or _ADDRESS.fullmatch(str(error)) or isinstance(error, ClusterLostError)):
            raise
        cause = str(error) if isinstance(error, ClusterLostError) else f"{type(error).__name__}: {error}"
        text = f"the Dask cluster went away during the computation ({cause})"
        raise ClusterLostError(f"{text}; {done()}, start again when it is back.") from error


def computed(collection: Any) -> Any:
    """Return ``collection.compute()``; ``ClusterLostError`` if the cluster is lost meanwhile."""
    client = _client()
    with cluster_errors():
        return collection.compute() if client is None else next(cluster_results(client, [client.compute(collection)]))


def cluster_results(client: Client, futures: Sequence[Future]) -> Iterator[Any]:
    """Yield the results of tasks as they come; ``ClusterLostError`` if no worker is there for ``PATIENCE``.

    If workers die that held a result, the next ones compute it again.
    """
    loop = client.loop.asyncio_loop
    # Not Future.result: after its time limit it would begin anew, and a dead worker is called for half a minute.
    coming = [asyncio.run_coroutine_threadsafe(_gathered(client, future), loop) for future in futures]
    ready: SimpleQueue[concurrent.futures.Future[Any]] = SimpleQueue()
    for future in coming:
        future.add_done_callback(ready.put)
    try:
        for _ in coming:
            yield _next(client, ready).result()
    finally:
        for future in coming:
            future.cancel()


async def _gathered(client: Client, future: Future) -> Any:
    return await client.gather(future, asynchronous=True)


def _next(client: Client, ready: SimpleQueue[concurrent.futures.Future[Any]]) -> concurrent.futures.Future[Any]:
    seen = time.monotonic()
    while True:
        try:
            return ready.get(timeout=_LOOK_EVERY)
        except Empty:
            seen = _last_seen(client, seen)


def _last_seen(client: Client, seen: float) -> float:
    """Return when there were workers last, now or at ``seen``."""
    try:
        workers = client.nthreads()
    except (OSError, asyncio.TimeoutError) as error:
        raise ClusterLostError(f"its scheduler does not answer: {error}") from error
    if workers:
        return time.monotonic()
    dask, utils = require("dask", "dask"), require("dask.utils", "dask")
    patience = float(utils.parse_timedelta(dask.config.get("thpi.no-workers-timeout", PATIENCE)))
    if time.monotonic() - seen > patience:
        raise ClusterLostError(f"it has had no workers for {patience:g} seconds")
    return seen


def _client() -> Client | None:
    """Return the client that Dask would compute with; None on threads, and within a task, which must not block."""
    client = getattr(require("dask.base", "dask").get_scheduler(), "__self__", None)
    if client is None or not hasattr(client, "nthreads"):
        return None
    try:
        require("distributed", "dask").get_worker()
    except ValueError:
        return client
    return None
