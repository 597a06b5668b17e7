"""Starting the commands as processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Give a function that starts ``python -m experiments`` with some arguments."""

    def begin(*arguments: str) -> subprocess.Popen[str]:
        # Where the tests run in the background, SIGINT is ignored, and child processes would inherit that.
        return subprocess.Popen(
            [sys.executable, "-m", "experiments", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=ROOT, preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    return begin


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that needs the results of a small run is long: whichever comes first makes that run."""
    for item in items:
        if "experiments" in item.nodeid and {"quick", "tiny", "results"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long)
