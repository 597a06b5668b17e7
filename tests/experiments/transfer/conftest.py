from __future__ import annotations

from pathlib import Path

import pytest

from experiments.__main__ import run
from experiments.harness.store import ResultStore
from experiments.transfer.results import TransferResults
from experiments.transfer.settings import TransferSettings, quick_settings, transfer_tasks

TINY = ["--sets", "digits-fac-pix", "--alphas", ".1", "--splits", "2"]


def tiny_settings() -> TransferSettings:
    return quick_settings(sets=("digits-fac-pix",), alphas=(0.1,), splits=2)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results folder of a very small run on the bundled digits; its output is in ``transfer-report``."""
    folder = tmp_path_factory.mktemp("transfer")
    assert run(["transfer", "--quick", *TINY, "--results", str(folder), "--jobs", "1"]) == 0
    return folder


@pytest.fixture(scope="session")
def results(tiny: Path) -> TransferResults:
    settings = tiny_settings()
    return TransferResults(settings, transfer_tasks(settings), ResultStore(tiny))
