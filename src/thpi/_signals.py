"""Ctrl-C in a program: exit code 130 from its first line to its last, and never a traceback."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM while an output gets its name, so that all of it is there or nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[signal.Signals] = []
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # in the background of a script, say: it stays ignored
            before[number] = signal.signal(number, lambda number, _: arrived.append(signal.Signals(number)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


def resend_lost_interrupts() -> None:
    """Send an interrupt that could not be caught again, a moment later; for the entry point of a program.

    In a callback of the garbage collector, of a weak reference (the import system has some) or at exit, no code can
    catch ``KeyboardInterrupt``: Python prints a traceback, and the command continues as if nothing had been pressed.
    """
    report = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)
        elif not sys.is_finalizing():  # else the work is done, and no thread can be started any more
            # From another thread: sent from here, it would be raised in this hook, and be lost once more.
            # 0.01 seconds are long enough to be out of the callback, and too short to be noticed.
            again = threading.Timer(0.01, _interrupt_main)
            again.daemon = True
            again.start()

    sys.unraisablehook = hook


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if main is None or not hasattr(signal, "pthread_kill"):  # pragma: no cover - Windows
        _thread.interrupt_main()
    else:
        signal.pthread_kill(main, signal.SIGINT)  # a real signal ends a system call that waits, too
