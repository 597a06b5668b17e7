"""Running the application: one process, or several workers on one socket."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from threadpoolctl import threadpool_limits

from thpi.web.app import create_app
from thpi.web.catalogue import Catalogue
from thpi.web.connections import guarded
from thpi.web.logs import speak_seldom
from thpi.web.settings import Settings
from thpi.web.workers import STOPPING, Workers

_ACCEPTED = 100  # connections that asyncio accepts at a time, before it tells the guard of any
_QUEUE = 2048  # connections that wait to be accepted


class _Stop:
    """Whether a signal came that ends the server, also before uvicorn can handle it."""

    def __init__(self) -> None:
        self.came = False
        for each in STOPPING:
            if signal.getsignal(each) is not signal.SIG_IGN:  # in the background of a script, say: it stays ignored
                signal.signal(each, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    def _note(self, sig: int, frame: FrameType | None) -> None:
        self.came = True


class _Server(uvicorn.Server):
    """uvicorn's server, which calls ``ready`` once, and also stops if ``pipe`` is closed at its other end."""

    def __init__(self, config: uvicorn.Config, stop: _Stop, ready: Callable[[], object], pipe: int | None) -> None:
        super().__init__(config)
        self._stop, self._ready, self._pipe = stop, ready, pipe
        self._ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, unless the signal was ignored at the start."""
        if not (self._ignored and sig == signal.SIGINT):
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen with a longer queue, unless the server is to stop already."""
        await super().startup(sockets)
        for listening in (each for server in self.servers for each in server.sockets):
            with listening.dup() as twin:
                twin.listen(_QUEUE)  # asyncio has one number for both
        if self._pipe is not None:
            asyncio.get_running_loop().add_reader(self._pipe, self._orphaned)
        self._ready()
        self.should_exit |= self._stop.came

    def _orphaned(self) -> None:
        assert self._pipe is not None
        asyncio.get_running_loop().remove_reader(self._pipe)
        self.should_exit = True


def serve(
    catalogue: Catalogue,
    settings: Settings,
    address: tuple[str, int],
    announce: Callable[[str], object],
    workers: int = 1,
) -> int:
    """Serve until a signal comes; ``announce`` gets the address in the form of browsers. Return the exit code."""
    with _bound(*address) as listening:
        for engine in catalogue.engines:
            engine.index.warm_up()
        name, port = listening.getsockname()[:2]
        where = f"http://{f'[{name}]' if ':' in name else name}:{port}"
        if workers == 1:
            _serve(catalogue, settings, listening, lambda: announce(where))
            return 0
        share = max(1, (os.cpu_count() or 1) // workers)
        settings = replace(settings, n_threads=share, library_threads=share)

        def work(number: int, pipe: int) -> None:
            os.environ["OMP_NUM_THREADS"] = str(share)  # of libraries that are not loaded yet
            with threadpool_limits(share):
                _serve(catalogue, settings, listening, lambda: None, pipe)

        crew = Workers(workers, work, mark_process_dead)
        announce(where)
        return crew.run()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once (TCP_NODELAY) only if the protocol is named.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    listening.listen(_QUEUE)
    return listening


def _serve(
    catalogue: Catalogue,
    settings: Settings,
    listening: socket.socket,
    ready: Callable[[], object],
    pipe: int | None = None,
) -> None:
    stop = _Stop()
    config = uvicorn.Config(
        create_app(catalogue, settings),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody asks for the address of the client
        lifespan="on",
        http=guarded(settings),
        ws="none",  # a web socket would leave the guard
        backlog=_ACCEPTED,
        timeout_keep_alive=math.ceil(settings.idle_limit),
        # Reading a body and searching have a limit each; a request within both is finished.
        timeout_graceful_shutdown=int(2 * settings.time_limit) + 1,
    )
    speak_seldom()
    # What is there now stays: a full collection need not go through it while requests wait.
    gc.collect()
    gc.freeze()
    _Server(config, stop, ready, pipe).run(sockets=[listening])
