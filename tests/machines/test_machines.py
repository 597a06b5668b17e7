"""What is promised across machines; tools/machines.py says it, plays them, and runs all numerical tests on each.

The short form: two sets under all meanings, with two threads, on other new kernels, and on an old processor.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import thpi
from tools.machines import MACHINES, can_play, environment, play

ANSWERS = Path(__file__).with_name("answers.py")
PLAYED = MACHINES | {
    "this": {},
    "old": MACHINES["Prescott"] | MACHINES["plain numpy"],
    "no such kernel": {"OPENBLAS_CORETYPE": "NoSuchKernel"},
}
# The kernels of OpenBLAS; none where numpy comes with another library.
SHOW = """
import numpy, threadpoolctl
print(*{library["architecture"] for library in threadpoolctl.threadpool_info() if "architecture" in library})
"""


@pytest.fixture(autouse=True)
def further_machines(monkeypatch):
    for machine, changes in PLAYED.items():
        monkeypatch.setitem(MACHINES, machine, changes)


@cache
def answers(machine):
    if not can_play(machine):
        pytest.skip(f"{machine}: this processor cannot")
    found = json.loads(play(machine, [str(ANSWERS)]))
    assert len(found) == 2 * len(thpi.RELEVANCES) + 1
    return found


@pytest.mark.slow
def test_the_same_bytes_in_another_process_with_more_threads():
    here, there = answers("this"), answers("two threads")
    assert {case: found["bytes"] for case, found in there.items()} == {
        case: found["bytes"] for case, found in here.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["new", "old"])
def test_another_processor_gives_the_same_answer(machine):
    if machine == "new":
        machine = "SkylakeX" if play("this", ["-c", SHOW]).strip() in ("Haswell", "Zen") else "Haswell"
    here, there = answers("this"), answers(machine)
    assert {case: found.get("choice") for case, found in there.items()} == {
        case: found.get("choice") for case, found in here.items()
    }
    for name, most in (("gain", 0.3), ("map", 0.5), ("recall", 0.5)):
        moved = {case: abs(there[case][name] - found[name]) for case, found in here.items() if name in found}
        assert moved
        assert max(moved.values()) <= most, (name, moved)


@pytest.mark.slow
def test_machines_are_played():
    """One thread unless more are asked for, and no kernel that is not there."""
    assert environment("two threads")["OPENBLAS_NUM_THREADS"] == "2"
    assert environment("Nehalem")["OPENBLAS_NUM_THREADS"] == "1"
    assert not can_play("no such kernel")
    assert not can_play("Nehalem") or play("Nehalem", ["-c", SHOW]).strip() == "Nehalem"
