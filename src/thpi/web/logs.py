"""A log that does not repeat itself: no client can fill a disk with the messages that its requests cause."""

from __future__ import annotations

import logging
import time

INTERVAL = 60.0
"""Seconds in which one place of the program says one thing."""
_LOGGERS = ("uvicorn.error", "asyncio", "thpi.web")


class Seldom(logging.Filter):
    """Lets a message pass once in :data:`INTERVAL` seconds, with the number of those held back since.

    Messages are the same if the same line of code makes them for the same class of error, whatever values they quote.

    >>> seldom, record = Seldom(), logging.makeLogRecord({"msg": "full"})
    >>> seldom.filter(record), seldom.filter(record)
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a message is written."""
        error = record.exc_info[0] if record.exc_info else None
        key, now = (record.pathname, record.lineno, error), time.monotonic()
        since, held_back = self._last.get(key, (-INTERVAL, 0))
        if now - since < INTERVAL:
            self._last[key] = since, held_back + 1
            return False
        self._last[key] = now, 0
        if held_back:
            record.msg, record.args = f"{record.getMessage()} ({held_back} more since the last one)", None
        return True


def speak_seldom() -> None:
    """Let the loggers of a server repeat themselves only seldom."""
    seldom = Seldom()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(seldom)
