from __future__ import annotations

import signal

import pytest

from thpi.cli._output import uninterrupted


def test_an_interrupt_waits_for_the_end_of_the_block():
    before = signal.getsignal(signal.SIGINT)
    reached = []

    def interrupted() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(OSError, match="full"), uninterrupted():
        raise OSError("full")
    assert signal.getsignal(signal.SIGINT) is before
