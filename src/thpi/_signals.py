"""Ctrl-C in a program: exit code 130 from its first line to its last, and never a traceback."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

INTERRUPTED = 130


def run_program(load: Callable[[], Callable[[], int]]) -> NoReturn:
    """Load a program, run it, and exit with the code that it returns.

    While it is loaded, and after it has returned, there is nothing to clean up, and Ctrl-C ends the process at once. In
    between it is a ``KeyboardInterrupt``. If it was ignored before, in the background of a script, say, it stays so.
    """
    code = INTERRUPTED
    try:
        try:
            _on_interrupt(lambda *_: os._exit(INTERRUPTED))
            # Registered first, called last: as Python ends, it would give Ctrl-C back to the system, which kills.
            atexit.register(_on_interrupt, signal.SIG_IGN)
            program = load()
            _on_interrupt(signal.default_int_handler)
            code = program()
        finally:
            _on_interrupt(lambda *_: os._exit(code))
    except KeyboardInterrupt:  # within the lines above
        code = INTERRUPTED
        _on_interrupt(lambda *_: os._exit(code))
    sys.exit(code)


def _on_interrupt(handler: signal.Handlers | Callable[..., object]) -> None:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
