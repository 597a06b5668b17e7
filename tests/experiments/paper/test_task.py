from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest

from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import DataSpec, data_identity, load_rows
from experiments.harness.protocol import PROTOCOLS
from experiments.harness.store import ResultStore
from experiments.paper.runs import MethodRun
from experiments.paper.task import Fitter, PaperTask, measured
from thpi import HASHERS
from thpi.datasets import PairedDataset
from thpi.evaluation import SelectionRule
from thpi.metrics import average_precision, pooled_precision_recall_area

SPEC = DataSpec("digits", 300)
RULE = SelectionRule(grid=(0.0, 0.1), n_folds=2, max_pairs=100, max_iter=5)


def _task(*runs: MethodRun, protocol: str = "standard", alpha: float = 0.5) -> PaperTask:
    return PaperTask(SPEC, protocol, alpha, 0, runs, data_identity(SPEC), RULE)


def _bench(task: PaperTask, store: ResultStore, dataset: PairedDataset) -> Bench:
    return make_bench(dataset, PROTOCOLS[task.protocol], task.alpha, task.seed, task.identity, store)


def _other_queries(dataset: PairedDataset, rows: np.ndarray) -> PairedDataset:
    rng = np.random.RandomState(7)
    target, source = dataset.target.copy(), dataset.source.copy()
    target[rows], source[rows] = rng.standard_normal(target[rows].shape), rng.standard_normal(source[rows].shape)
    return replace(dataset, target=target, source=source)


def _models(protocol: str, folder: Path) -> list[tuple[str, str]]:
    """Digests of every method's fitted state, with the queries as they are and with others in their place."""
    pairs = []
    for method in HASHERS:
        for trained_on in ("pairs", "all"):
            run = MethodRun(method, 12, trained_on)
            task = _task(run, protocol=protocol)
            digests = []
            for name in ("as they are", "others"):
                store = ResultStore(folder / protocol / name)
                dataset = load_rows(SPEC)
                if name == "others":
                    dataset = _other_queries(dataset, _bench(task, store, dataset).split.query)
                fitter = Fitter(task, _bench(task, store, dataset), store)
                digests.append(joblib.hash(vars(fitter.fit(run, fitter.parameters(run)))))
            pairs.append((digests[0], digests[1]))
    return pairs


@pytest.mark.slow
def test_queries_have_no_influence_on_training_or_selection(tmp_path: Path) -> None:
    for one, other in _models("standard", tmp_path):
        assert one == other


@pytest.mark.slow
def test_the_authors_preprocessing_does_look_at_queries(tmp_path: Path) -> None:
    # The leak that the report names; it also shows that the test above can fail.
    assert any(one != other for one, other in _models("authors", tmp_path))


def test_measures_are_those_of_the_kept_codes(tmp_path: Path) -> None:
    run, store = MethodRun("ITQ", 16), ResultStore(tmp_path)
    task = _task(run, protocol="authors")
    task.run(store)
    entry = measured(task, store)[run]
    codes = store.read_arrays("fits", task.fit_config(run))["codes"]
    bench = task.bench(store)
    arguments = (codes[bench.split.query], codes[bench.split.train])
    for kind in ("target", "labels", "source"):
        relevance, found = bench.relevance(kind), entry["measures"][kind]
        ap = average_precision(*arguments, relevance, 16)
        assert found["average_precision"] == pytest.approx(np.nanmean(ap), abs=1e-15)
        assert found["pooled_precision_recall_area"] == pooled_precision_recall_area(*arguments, relevance, 16)
    kept = store.read_arrays("queries", task.measure_config)
    assert any(name.endswith("labels.average_precision") and len(a) == 15 for name, a in kept.items())


def test_finished_fits_are_not_done_again_and_new_runs_are_added(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    first = _task(MethodRun("ITQ", 8))
    first.run(store)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("fits/*")}
    both = _task(MethodRun("ITQ", 8), MethodRun("LSH", 8))
    both.run(store)
    assert len(measured(both, store)) == 2
    assert measured(first, store)[MethodRun("ITQ", 8)] == measured(both, store)[MethodRun("ITQ", 8)]
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    # Measures alone can be made again from the codes.
    store.path("measures", both.measure_config, "json").unlink()
    before = measured(both, ResultStore(tmp_path))
    both.run(store)
    assert before == {}
    assert len(measured(both, store)) == 2
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


def test_a_method_that_cannot_give_the_bits_leaves_its_reason(tmp_path: Path) -> None:
    run, store = MethodRun("ITQ", 64), ResultStore(tmp_path)
    task = _task(run, MethodRun("LSH", 64), alpha=0.2)
    task.run(store)
    found = measured(task, store)
    assert "n_bits=64 is more than ITQ can give" in found[run]["unavailable"]
    assert "measures" in found[MethodRun("LSH", 64)]


def test_too_few_rows_for_the_threshold_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train has 30 rows"):
        _task(MethodRun("LSH", 8), protocol="authors", alpha=0.1).run(ResultStore(tmp_path))


def test_reference_line_learns_from_every_row_but_the_queries(tmp_path: Path) -> None:
    task = _task(MethodRun("ITQ", 8, "all"))
    bench = task.bench(ResultStore(tmp_path))
    _, rows, _, unpaired = bench.training("all")
    np.testing.assert_array_equal(rows, np.setdiff1d(np.arange(300), bench.split.query))
    assert unpaired is None
    _, rows, _, unpaired = bench.training("pairs")
    np.testing.assert_array_equal(rows, bench.split.train)
    assert len(unpaired) == len(bench.split.rest)
    assert PROTOCOLS["standard"].fit_on == "train"
