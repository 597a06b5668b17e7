"""The conformance suite on a real Milvus server, from the package ``milvus``, which is installed for this test."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the server's package is for Linux on x86_64"
    ),
]

# Queries with strong consistency wait for the next tick, by default a fifth of a second.
_SERVE = """
import sys
from milvus import MilvusServer, MilvusServerConfig
server = MilvusServer(MilvusServerConfig(data_dir=sys.argv[1]))
server.config.set("proxy.timeTickInterval", 40)
server.start()
print(server.listen_port, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def server() -> Iterator[str]:
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    folder = Path(tempfile.mkdtemp(prefix="thpi-milvus-server-"))
    package = folder / "package"
    install = ["install", "--quiet", "--no-deps", "--target", str(package), "milvus==2.3.5"]
    try:
        done = subprocess.run([sys.executable, "-m", "pip", *install], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip(f"milvus==2.3.5 cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        started = subprocess.Popen(
            [sys.executable, "-c", _SERVE, str(folder / "data")],
            env={**os.environ, "PYTHONPATH": str(package)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # the server is a process of that process: both are ended together
        )
        try:
            assert started.stdout is not None
            port = started.stdout.readline().strip()  # empty if it ends without having started
            if not port:
                pytest.skip("the Milvus server does not start here")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_conformance_on_a_server(server: str) -> None:
    suite = Path(__file__).with_name("test_conformance.py")
    one_width = "milvus and not -1] and not -7] and not -12] and not -100]"  # each takes a second or two
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", one_width, str(suite)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["THPI_TEST_MILVUS"] = server
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=suite.parents[2])
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
