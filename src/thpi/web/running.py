"""Running the application with granian: one worker process or several, each with the collection open."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import Server

import thpi
from thpi.web.app import create_app
from thpi.web.settings import Settings


def serve(
    path: Path,
    settings: Settings,
    address: tuple[str, int],
    announce: Callable[[str], object],
    *,
    workers: int = 1,
    idle_limit: float = 10.0,
    max_connections: int = 512,
) -> None:
    """Serve until a signal comes; ``announce`` gets the address in the form of browsers when it is answered."""
    if workers > 1:
        share = max(1, (os.cpu_count() or 1) // workers)
        settings = replace(settings, n_threads=share)
        for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # read by the workers when they load it
            os.environ[f"{library}_NUM_THREADS"] = str(share)
    host, port = _free(*address)
    # A fork would inherit the locks of threads that do not exist in it.
    multiprocessing.set_start_method("spawn", force=True)
    with tempfile.TemporaryDirectory(prefix="thpi-counters-") as counters:
        if workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = counters  # read when the package that counts is imported
        server = Server(
            "thpi",
            host,
            port,
            interface=Interfaces.ASGI,
            workers=workers,
            http=HTTPModes.http1,
            websockets=False,
            backlog=2048,
            backpressure=max_connections,
            http1_settings=HTTP1Settings(header_read_timeout=round(1000 * idle_limit), max_buffer_size=2**16),
            log_level=LogLevels.error,
            respawn_failed_workers=True,
            # Reading a body and searching have a limit each; a request within both is finished.
            workers_kill_timeout=int(2 * settings.time_limit) + 1,
        )
        threading.Thread(target=_announce, args=(host, port, announce), daemon=True).start()
        load = partial(_application, path, settings, os.getpid())
        server.serve(target_loader=load, wrap_loader=False)


def _application(path: Path, settings: Settings, parent: int) -> Any:
    """Open the collection in a worker."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    app = create_app(thpi.open(path, wait=settings.time_limit), settings)
    atexit.register(os._exit, 0)  # threads of granian that still run at the end of Python would panic
    return app


def _end_with(parent: int) -> None:
    """End this worker if the process that started it was killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


def _free(host: str, port: int) -> tuple[str, int]:
    """Return the numbers of an address, a free port for 0; ``ValueError`` if it is taken."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
            return str(where[0]), int(probe.getsockname()[1])
    except OSError as error:
        raise ValueError(f"--host {host} --port {port}: {error.strerror}.") from None


def _announce(host: str, port: int, announce: Callable[[str], object]) -> None:
    while True:
        with suppress(OSError), socket.create_connection((host, port), timeout=5):
            break
        time.sleep(0.02)
    announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
