from __future__ import annotations

from pathlib import Path

import pytest

from thpi.cli import run
from thpi.evaluation import ResultStore
from thpi.paper.experiments import EXPERIMENTS, quick_settings, tasks_of
from thpi.paper.results import Results


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results folder of ``thpi paper all --quick`` on the bundled digits; its output is in ``report``."""
    folder = tmp_path_factory.mktemp("quick")
    assert run(["paper", "all", "--quick", "--dataset", "digits", "--results", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def results(quick: Path) -> Results:
    settings = quick_settings()
    return Results(settings, tasks_of(EXPERIMENTS, settings), ResultStore(quick))
