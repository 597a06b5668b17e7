"""Ctrl-C at every place where it can arrive.

CPython looks for signals when a function begins, after a call and when a loop turns back. ``interrupted`` raises
``KeyboardInterrupt`` at the n-th such place in the files that it is given.
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


def interrupted(work: Callable[[], object], files: tuple[str, ...], n: int) -> int:
    """Run ``work`` and raise at its n-th place; return the number of places it has passed."""
    passed = 0

    def arrive() -> None:
        nonlocal passed
        passed += 1
        if passed == n:
            raise KeyboardInterrupt

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if event == "call":
            if not frame.f_code.co_filename.endswith(files):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            arrive()
        elif event == "opcode" and frame.f_lasti in _places(frame.f_code):
            arrive()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return passed


@functools.cache
def _places(code: CodeType) -> frozenset[int]:
    """Offsets behind calls, and of jumps back.

    The signal arrives within the call, so the place behind it counts only if the same ``try`` or ``with`` covers both.
    """
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def covering(offset: int) -> list[Any]:
        return [entry for entry in table if entry.start <= offset < entry.end]

    found = set()
    instructions = list(dis.get_instructions(code))
    for one, following in itertools.pairwise(instructions):
        if one.opname.startswith("CALL") and covering(one.offset) == covering(following.offset):
            found.add(following.offset)
        if one.opname.startswith("JUMP_BACKWARD"):
            found.add(one.offset)
    return frozenset(found)
