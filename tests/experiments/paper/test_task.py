from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from experiments.harness.area import pooled_precision_recall_area
from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import DataSpec, data_identity, load_rows
from experiments.harness.protocol import PROTOCOLS
from experiments.harness.store import ResultStore
from experiments.paper.runs import MethodRun
from experiments.paper.selection import SelectionRule, select_ridge
from experiments.paper.settings import METHODS
from experiments.paper.task import Fitter, PaperTask, measured
from thpi.datasets import PairedDataset
from thpi.evaluation import average_precision, split_rows

SPEC = DataSpec("digits", 300)
RULE = SelectionRule(grid=(0.0, 0.1), n_folds=2, max_pairs=100, max_iter=5)


def _task(*runs: MethodRun, protocol: str = "standard", alpha: float = 0.5) -> PaperTask:
    return PaperTask("digits", SPEC, protocol, alpha, 0, runs, data_identity(SPEC), RULE)


def _bench(task: PaperTask, store: ResultStore, dataset: PairedDataset) -> Bench:
    return make_bench(dataset, PROTOCOLS[task.protocol], task.alpha, task.seed, task.identity, store)


def _other_queries(dataset: PairedDataset, rows: np.ndarray) -> PairedDataset:
    rng = np.random.RandomState(7)
    target, source = dataset.target.copy(), dataset.source.copy()
    target[rows], source[rows] = rng.standard_normal(target[rows].shape), rng.standard_normal(source[rows].shape)
    return replace(dataset, target=target, source=source)


def _models(protocol: str, folder: Path, methods: Iterable[str] = METHODS) -> list[tuple[str, str]]:
    """Digests of the methods' fitted state, with the queries as they are and with others in their place."""
    pairs = []
    for method in methods:
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
@pytest.mark.parametrize("protocol", ["paper", "followup"])
def test_the_papers_preprocessing_does_look_at_queries(protocol: str, tmp_path: Path) -> None:
    # The leak that the report names; it also shows that the test above can fail.
    assert any(one != other for one, other in _models(protocol, tmp_path, ("CCAITQ", "ITQ", "ITQPlus")))


@pytest.mark.parametrize(("protocol", "database"), [("paper", "rest"), ("followup", "train")])
def test_measures_are_those_of_the_kept_codes(protocol: str, database: str, tmp_path: Path) -> None:
    run, store = MethodRun("ITQ", 16), ResultStore(tmp_path)
    task = _task(run, protocol=protocol)
    task.run(store)
    entry = measured(task, store)[run]
    codes = store.read_arrays("fits", task.fit_config(run))["codes"]
    bench = task.bench(store)
    arguments = (codes[bench.split.query], codes[getattr(bench.split, database)])
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
        _task(MethodRun("LSH", 8), protocol="followup", alpha=0.1).run(ResultStore(tmp_path))


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


@pytest.fixture
def few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's protocol, asking at most 7 queries: 300 rows have no 1,000."""
    monkeypatch.setitem(PROTOCOLS, "paper", replace(PROTOCOLS["paper"], max_queries=7))


@pytest.mark.usefixtures("few_queries")
def test_under_the_papers_protocol_queries_database_and_training_rows_are_disjoint(tmp_path: Path) -> None:
    task = _task(MethodRun("ITQ", 8), protocol="paper")
    bench = task.bench(ResultStore(tmp_path))
    split, database = bench.split, bench.database
    whole = split_rows(300, 0.5, 0)
    np.testing.assert_array_equal(database, whole.rest)
    np.testing.assert_array_equal(split.train, whole.train)
    # Queries that are not asked are in no other part.
    assert len(split.query) == 7
    assert set(split.query) < set(whole.query)
    parts = [set(split.query), set(database), set(split.train)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 7 + 135 + 150
    np.testing.assert_array_equal(split.query, task.bench(ResultStore(tmp_path)).split.query)
    task.run(ResultStore(tmp_path))
    entry = measured(task, ResultStore(tmp_path))[MethodRun("ITQ", 8)]
    assert (entry["n_rows"], entry["n_train"]) == (300, 150)
    found = entry["measures"]["target"]
    assert (found["n_queries"], found["n_database"]) == (7, 135)


def test_all_queries_are_asked_where_they_are_few(tmp_path: Path) -> None:
    bench = _task(MethodRun("ITQ", 8), protocol="paper").bench(ResultStore(tmp_path))
    np.testing.assert_array_equal(bench.split.query, split_rows(300, 0.5, 0).query)
    assert PROTOCOLS["paper"].max_queries == 1000


def test_the_papers_radius_is_that_of_the_database_in_double_precision(tmp_path: Path) -> None:
    bench = _task(MethodRun("ITQ", 8), protocol="paper").bench(ResultStore(tmp_path))
    target, source = (pipeline.fit_transform(rows) for pipeline, rows in zip(
        SPEC.pipelines(), (load_rows(SPEC).target, load_rows(SPEC).source), strict=True
    ))  # fmt: skip
    for kind, space in (("target", target), ("source", source)):
        within = np.sort(cdist(space[bench.database], space[bench.database]), axis=1)[:, 50]
        expected = cdist(space[bench.split.query], space[bench.database]) < within.mean()
        np.testing.assert_array_equal(bench.relevance(kind), expected)


def test_methods_learn_in_the_precision_of_the_protocol(tmp_path: Path) -> None:
    for protocol, dtype in (("paper", np.float32), ("followup", np.float64), ("standard", np.float64)):
        run = MethodRun("ITQ", 8)
        task = _task(run, protocol=protocol)
        store = ResultStore(tmp_path / protocol)
        bench = task.bench(store)
        target, rows, privileged, unpaired = bench.training()
        assert {view.dtype for view in (target, privileged, unpaired)} == {np.dtype(dtype)}
        assert {view.dtype for view in bench.training("all")[:1]} == {np.dtype(dtype)}
        assert bench.judged.target.dtype == np.float64
        fitted = Fitter(task, bench, store).fit(run, {})
        assert fitted.decision_function(target[rows]).dtype == dtype


def test_a_tuned_ridge_is_the_one_that_cross_validation_picks(tmp_path: Path) -> None:
    run, store = MethodRun("CVH", 8, tuned=True), ResultStore(tmp_path)
    task = _task(run, protocol="paper")
    task.run(store)
    bench = task.bench(store)
    target, rows, privileged, _ = bench.training()
    chosen = select_ridge(
        target[rows], privileged, method="CVH", n_bits=8, relevant_share=50 / 135, rule=RULE, random_state=0
    )
    assert measured(task, store)[run]["parameters"] == chosen.parameters["CVH"]
    kept = store.read_values("selections", task.selection_config(run))
    assert kept["scores"] == chosen.scores
    # The small ridge is not selected, and its fit is another.
    assert task.fit_config(MethodRun("CVH", 8)) != task.fit_config(run)
    assert "selection" not in task.fit_config(MethodRun("CVH", 8))
