"""Ctrl-C that is never lost, and never shown as a traceback.

In a callback of the garbage collector, of a weak reference (the import system has some) or at exit, no code can catch
``KeyboardInterrupt``: Python prints a traceback, and the command continues as if nothing had been pressed.
"""

from __future__ import annotations

import _thread
import sys
import threading

_MOMENT = 0.01
"""Seconds until the interrupt comes again: long enough to be out of the callback, too short to be noticed."""


def resend_lost_interrupts() -> None:
    """Send an interrupt that could not be caught again, a moment later.

    At the very end of the program it is ignored: nothing is left to stop. This changes the whole process, so only the
    entry point of the command calls it.
    """
    report = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)
            return
        if sys.is_finalizing():  # the work is done, and no thread can be started any more
            return
        # From another thread: sent from here, it would be raised in this hook, and be lost once more.
        again = threading.Timer(_MOMENT, _thread.interrupt_main)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
