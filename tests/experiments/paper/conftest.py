from __future__ import annotations

from pathlib import Path

import pytest

from experiments.__main__ import run
from experiments.harness.store import ResultStore
from experiments.paper.results import Results
from experiments.paper.settings import EXPERIMENTS, quick_settings, tasks_of

PROTOCOLS = ("paper", "standard")


@pytest.fixture(scope="session")
def quick_options() -> list[str]:
    """Give the options of the quick run."""
    return ["--quick", "--dataset", "digits", *(word for name in PROTOCOLS for word in ("--protocol", name))]


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory, quick_options: list[str]) -> Path:
    """Give the results folder of ``paper all --quick`` on the bundled digits; its output is in ``report``."""
    folder = tmp_path_factory.mktemp("quick")
    assert run(["paper", "all", *quick_options, "--results", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def results(quick: Path) -> Results:
    settings = quick_settings(protocols=PROTOCOLS)
    return Results(settings, tasks_of(EXPERIMENTS, settings), ResultStore(quick))
