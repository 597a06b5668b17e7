from __future__ import annotations

import re

import pytest

import thpi
from thpi.cli import run


@pytest.mark.slow
def test_demo_prints_a_row_for_every_method_and_pictures(capsys):
    assert run(["demo", "--splits", "1", "--bits", "16"]) == 0
    out = capsys.readouterr().out
    for name in (*thpi.HASHERS, "ITQ, all target rows"):
        line = next(line for line in out.splitlines() if line.strip("│ ").startswith(f"{name} "))
        near, same = map(float, re.findall(r"\d+\.\d\d", line))
        assert 5 < near < 100
        assert 10 < same < 100  # chance is 10 % for ten classes
    assert out.count("query") == 2
    assert "█" in out


@pytest.mark.slow
def test_demo_is_the_same_every_time(capsys):
    outputs = []
    for _ in range(2):
        run(["demo", "--splits", "1", "--bits", "8", "--pairs", "70"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_demo_refuses_what_it_cannot_do(capsys):
    assert run(["demo", "--bits", "0"]) == 2
    assert "--bits" in capsys.readouterr().err
