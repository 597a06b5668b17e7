"""A small shop made of the bundled digits, in every format that the commands read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from thpi.cli import run
from thpi.datasets import load_digits_views

N = 300


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with rows (kar), source rows (fou), labels, a model, codes, an index. Do not write in it."""
    folder = tmp_path_factory.mktemp("shop")
    digits = load_digits_views(target="kar", source="fou")
    rows = np.random.RandomState(0).permutation(digits.n)
    X, labels = digits.target[rows[:N]], digits.labels[rows[:N]]
    np.save(folder / "target.npy", X)
    np.savetxt(folder / "labels.txt", labels, fmt="%d")
    np.savez(folder / "views.npz", target=X, same=digits.source[rows[:N]], more=digits.source[rows[N : 3 * N]])
    lines = ["sku,digit," + ",".join(f"kar{j}" for j in range(X.shape[1]))]
    lines += [f"A-{i:03d},{labels[i]}," + ",".join(map(repr, X[i].tolist())) for i in range(N)]
    (folder / "shop.csv").write_text("\n".join(lines) + "\n")
    for arguments in (
        ["fit", "shop.csv", "shop.thpi", "--ignore", "sku", "--ignore", "digit", "--bits", "24"],
        ["encode", "shop.thpi", "shop.csv", "codes.npy", "--ids", "sku"],
        ["index", "build", "codes.npy", "shop.index"],
    ):
        files = {"shop.csv", "shop.thpi", "codes.npy", "shop.index"}
        assert run([str(folder / part) if part in files else part for part in arguments]) == 0
    return folder


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[[list[object]], str]:
    """Give a function that runs a command which must fail with exit code 2 and one line, and returns that line."""

    def check(arguments: list[object]) -> str:
        capsys.readouterr()
        assert run([str(argument) for argument in arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = captured.err.splitlines()
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("error: ")
        return lines[0]

    return check
