"""Dask where one or all workers are killed, or the scheduler goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import thpi
from thpi.rows import ClusterLostError, cluster_errors, dask_parquet

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(data):
    """Fewer of the rows: each goes to the workers and back."""
    return data[:8_003]


def _parts(X, folder, n_parts=6):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    for i, part in enumerate(np.array_split(X, n_parts)):
        columns = {f"x{j}": part[:, j] for j in range(X.shape[1])}
        columns["sku"] = [f"{i}-{row}" for row in range(len(part))]
        pq.write_table(pa.table(columns), folder / f"part-{i}.parquet", row_group_size=1500)
    return folder


def _rows(folder):
    return dask_parquet(folder, [f"x{j}" for j in range(12)])


def test_a_worker_killed_during_a_fit_changes_nothing(data, tmp_path):
    folder = _parts(data, tmp_path / "rows")
    expected = thpi.ITQ(8, random_state=0, max_iter=60, tol=0).fit(data)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        killed = threading.Event()

        def kill():
            # As soon as the workers hold projections, the fit is in its iterations.
            address, pid = next(iter(workers.items()))
            while not client.has_what(address).get(address):
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill)
        killer.start()
        fitted = thpi.ITQ(8, random_state=0, max_iter=60, tol=0).fit(_rows(folder))
        killer.join(30)
        assert killed.is_set()
        np.testing.assert_allclose(fitted.projection_, expected.projection_, atol=1e-8)
        np.testing.assert_array_equal(fitted.transform(_rows(folder)).compute(), expected.codes_)


def _start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class _Cluster:
    """A scheduler and workers as commands, as on a cluster; a killed worker is not started again."""

    def __init__(self, folder):
        self.folder, file = folder, folder / "scheduler.json"
        # How long the scheduler keeps tasks without workers is its own setting.
        os.environ["DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT"] = "4s"
        try:
            self.scheduler = _start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        finally:
            del os.environ["DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT"]
        self.workers = []
        try:
            for _ in range(600):
                if file.exists() and file.stat().st_size:
                    break
                time.sleep(0.05)
            self.address = json.loads(file.read_text())["address"]
        except BaseException:
            self.stop()
            raise

    def add_worker(self):
        options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory", str(self.folder))
        self.workers.append(_start("worker", self.address, *options))

    def start_worker(self):
        """Add a worker and wait for it, once the scheduler has missed those that were killed."""
        with distributed.Client(self.address) as client:
            while client.nthreads():
                time.sleep(0.02)
            self.add_worker()
            client.wait_for_workers(1, timeout=30)

    def kill_workers(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.workers.clear()

    def stop(self):
        self.kill_workers()
        self.scheduler.kill()
        self.scheduler.wait()


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    cluster = _Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture
def cluster(commands):
    """The cluster with a worker, which the test before may have killed."""
    if not commands.workers:
        commands.start_worker()
    return commands


def _kill_when_it_holds_rows(cluster, client, then=lambda: None):
    """Kill all workers as soon as they hold projections: then a fit is in its iterations."""

    def kill():
        while not any(client.has_what().values()):
            time.sleep(0.01)
        cluster.kill_workers()
        then()

    killer = threading.Thread(target=kill)
    killer.start()
    return killer


def test_all_workers_dead_in_the_middle_of_a_fit_is_an_error_not_a_wait(cluster, data, tmp_path):
    folder = _parts(data, tmp_path / "rows")
    hasher = thpi.ITQ(8, random_state=0, max_iter=60, tol=0)
    with distributed.Client(cluster.address) as client:
        killer = _kill_when_it_holds_rows(cluster, client)
        begun = time.monotonic()
        with pytest.raises(ClusterLostError, match="the Dask cluster went away.*; start again when it is back"):
            hasher.fit(_rows(folder))
        assert time.monotonic() - begun < 60
        killer.join(30)
    assert not hasattr(hasher, "projection_")


def test_a_fit_goes_on_when_a_new_worker_joins(cluster, data, tmp_path):
    folder = _parts(data, tmp_path / "rows")
    expected = thpi.ITQ(8, random_state=0, max_iter=60, tol=0).fit(data)
    with distributed.Client(cluster.address) as client:
        killer = _kill_when_it_holds_rows(cluster, client, cluster.add_worker)
        fitted = thpi.ITQ(8, random_state=0, max_iter=60, tol=0).fit(_rows(folder))
        killer.join(30)
    np.testing.assert_allclose(fitted.projection_, expected.projection_, atol=1e-8)


def test_no_error_is_only_an_address(cluster):
    """Dask looks up a worker that has just died by its address: a KeyError without another word."""
    with distributed.Client(cluster.address) as client:
        with pytest.raises(KeyError, match="^'tcp://127.0.0.1:9'$"):
            client.scatter(1, workers=["tcp://127.0.0.1:9"])
        with pytest.raises(ClusterLostError, match="the Dask cluster went away.*tcp://127.0.0.1:9"), cluster_errors():
            client.scatter(1, workers=["tcp://127.0.0.1:9"])
    with pytest.raises(KeyError, match="column"), cluster_errors():
        raise KeyError("column")


def test_a_fit_within_a_task_does_not_block_its_worker(cluster, data):
    def fit():
        return thpi.ITQ(4, random_state=0).fit(da.from_array(data, chunks=(5000, -1))).projection_

    with distributed.Client(cluster.address) as client:
        there = client.submit(fit).result(timeout=120)
    np.testing.assert_allclose(there, thpi.ITQ(4, random_state=0).fit(data).projection_, atol=1e-8)


@pytest.fixture
def own_cluster(tmp_path):
    """A cluster for one test, which kills its scheduler."""
    cluster = _Cluster(tmp_path)
    cluster.start_worker()
    yield cluster
    cluster.stop()


def test_the_scheduler_gone_in_the_middle_of_a_fit_is_a_clear_error(own_cluster, data, tmp_path):
    folder = _parts(data, tmp_path / "rows")
    hasher = thpi.ITQ(8, random_state=0, max_iter=60, tol=0)
    client = distributed.Client(own_cluster.address)

    def kill():
        while not any(client.has_what().values()):
            time.sleep(0.01)
        own_cluster.scheduler.send_signal(signal.SIGKILL)
        own_cluster.scheduler.wait()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ClusterLostError, match="the Dask cluster went away during the computation"):
        hasher.fit(_rows(folder))
    killer.join(30)
    client.close(timeout=1)
    assert not hasattr(hasher, "projection_")
