"""Several processes that serve one address: forked from one that has read the index, whose pages they share.

The parent only watches: it starts a worker again that has ended, and ends all of them when it is told to stop. If it is
killed, the workers see that their pipe is closed, and stop after the running requests.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT)
"""Signals that end a server after the running requests."""

_SHORT = 5.0  # seconds that a worker must live
_MOST_SHORT = 5  # lives shorter than that, one after the other, before the server gives up


class Workers:
    """``n`` processes that call ``work(number, pipe)`` until they are to end; ``ended`` gets the ids of ended ones.

    The signals :data:`STOPPING` end them, from now on. In ``work`` they are blocked until it unblocks them.
    """

    def __init__(
        self, n: int, work: Callable[[int, int], None], ended: Callable[[int], object] = lambda pid: None
    ) -> None:
        self._n, self._work, self._ended = n, work, ended
        self._running: dict[int, tuple[int, float]] = {}
        self._stopping = False
        self._pipe = os.pipe()
        for each in STOPPING:
            if signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, self._stop)

    def run(self) -> int:
        """Start the workers and keep them running until a signal; return the exit code."""
        for number in range(self._n):
            if not self._stopping:
                self._start(number)
        short = 0
        while self._running:
            pid, status = os.wait()
            if pid not in self._running:
                continue
            number, began = self._running.pop(pid)
            self._ended(pid)
            if self._stopping:
                continue
            print(f"worker {number} ended with {_words(status)}; it is started again.", file=sys.stderr, flush=True)
            short = short + 1 if time.monotonic() - began < _SHORT else 0
            if short >= _MOST_SHORT:
                print("the workers do not stay alive; the server gives up.", file=sys.stderr, flush=True)
                self._stop()
            else:
                self._start(number)
        return int(short >= _MOST_SHORT)

    def _start(self, number: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # the worker has the handlers of this process at first
        with warnings.catch_warnings():
            # The threads that Python counts are those of BLAS, which knows how to fork.
            warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
            pid = os.fork()
        if pid:
            self._running[pid] = number, time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            if self._stopping:  # a signal came before this worker was known
                os.kill(pid, signal.SIGTERM)
            return
        code = 1
        try:
            os.close(self._pipe[1])
            self._work(number, self._pipe[0])
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # not the end of the parent's program

    def _stop(self, sig: int = signal.SIGTERM, frame: FrameType | None = None) -> None:
        self._stopping = True
        for pid in list(self._running):
            os.kill(pid, signal.SIGTERM)


def _words(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"
