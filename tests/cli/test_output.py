from __future__ import annotations

import signal

import pytest

from thpi._signals import uninterrupted


@pytest.mark.usefixtures("ctrl_c")
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


def test_an_ignored_interrupt_stays_ignored(ctrl_c: None):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
