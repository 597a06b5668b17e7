"""Ctrl-C that is never lost, nor shown as a traceback.

Python turns Ctrl-C into a ``KeyboardInterrupt`` wherever the program happens to be. Where that is a callback of the
garbage collector, of a weak reference (the import system has such ones) or of the end of the program, nobody can catch
it: Python prints "Exception ignored in ..." with a traceback, and the command goes on as if nothing had been pressed.
"""

from __future__ import annotations

import _thread
import sys
import threading
from typing import Any

_MOMENT = 0.01
"""Seconds until the interrupt comes again: long enough to be out of the callback, too short to be noticed."""


def resend_lost_interrupts() -> None:
    """See to it that an interrupt which nobody could catch comes again a moment later, in silence.

    At the very end of the program, when all that is left is to close files, it is passed over: nothing is left to stop.

    It holds for the whole process, so that only the entry point of the command calls it.
    """
    report = sys.unraisablehook

    def hook(unraisable: Any) -> None:
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
