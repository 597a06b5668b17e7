"""What is stored is what a direct computation gives."""

from __future__ import annotations

import numpy as np
import pytest

import thpi
from experiments.datasets.preprocessing import standardised
from experiments.harness.data import load_rows, refit_target, training_views
from experiments.harness.protocol import PROTOCOLS, relevance_matrix
from experiments.harness.store import ResultStore
from experiments.rivals import RIVALS
from experiments.rivals.hasher import RivalHasher
from experiments.rivals.tuning import Pairs
from experiments.transfer import task as task_file
from experiments.transfer.lines import LINES
from experiments.transfer.results import Setting
from experiments.transfer.settings import SETS, quick_settings, transfer_tasks
from experiments.transfer.task import Fit, finished
from thpi import HASHERS
from thpi.evaluation import average_precision, database_rows, split_rows


def _direct(hasher, alpha, seed, kind, shuffled=False, y=False, paired=None):
    """Compute MAP without anything of the package under test."""
    data = load_rows(quick_settings().data("digits-fac-pix"))
    split = split_rows(data.n, alpha, random_state=seed)
    rows = database_rows(split, "all")
    views = training_views(data, split)
    S = views.source[split.train]
    if shuffled:
        S = S[np.random.RandomState(1_000_003 + seed).permutation(len(S))]
    labels = data.labels[split.train] if y else None
    if paired == "all":
        target = refit_target(data, split, views).target
        hasher.fit(target[rows], privileged=views.source[rows])
    else:
        target = views.target
        hasher.fit(target[split.train], labels, privileged=S, source=views.source[split.rest])
    codes = hasher.transform(target)
    target, source = (standardised().fit_transform(view) for view in (data.target, data.source))
    relevant = relevance_matrix(
        kind, PROTOCOLS["standard"], split, target=target, source=source, labels=data.labels, random_state=seed
    )
    return 100 * np.nanmean(average_precision(codes[split.query], codes[rows], relevant, hasher.n_bits))


@pytest.mark.parametrize("kind", ["target", "labels", "source"])
def test_values_equal_a_direct_computation(results, kind):
    at = Setting(0.1, 16)
    for seed in (0, 1):
        value = results.splits("digits-fac-pix", kind, "itq_plus", at)[seed]
        assert value == pytest.approx(_direct(thpi.ITQPlus(16, random_state=seed), 0.1, seed, kind), abs=1e-9)


def test_the_control_shuffles_the_pairs_and_nothing_else(results):
    hasher = HASHERS["AutoHasher"](16, relevance="source", random_state=0)
    value = results.splits("digits-fac-pix", "source", "auto_shuffled", Setting(0.1, 16))[0]
    assert value == pytest.approx(_direct(hasher, 0.1, 0, "source", shuffled=True), abs=1e-9)
    assert value != results.splits("digits-fac-pix", "source", "auto", Setting(0.1, 16))[0]


def test_each_fit_is_asked_for_once_and_by_name():
    settings = quick_settings(bits=(16, 32, 64))
    task = transfer_tasks(settings)[0]
    assert len(set(task.fits)) == len(task.fits)
    # Five lines that are not told, AutoHasher with and without source for three meanings, on all pairs for one, told
    # groups, with and without source, for one; at one length the controls, for three meanings and groups,
    # linear AutoHasher for three, and in the asymmetric order ITQ and, for three, AutoHasher. Told source and judged by
    # class, AutoHasher with and without source and its control are the fits that are judged by nearness as well. Each
    # rival is told each of its meanings; at one length, all but groups are measured in the asymmetric order too.
    told_source = [fit for fit in task.fits if fit.line.startswith("auto_told_source")]
    assert len(told_source) == 2 * 3 + 1
    rivals = [fit for fit in task.fits if LINES[fit.line].role == "rival"]
    meanings = [meaning for rival in RIVALS.values() for meaning in rival.meanings]
    assert len(rivals) == 3 * len(meanings) + sum(meaning != "groups" for meaning in meanings)
    assert len(task.fits) == 3 * (5 + 2 * 3 + 1 + 2) + 3 + 1 + 3 + 1 + 3 + len(told_source) + len(rivals)
    costly = {fit.bits for fit in task.fits if LINES[fit.line].role == "control" or LINES[fit.line].linear}
    assert costly == {32}
    configs = [str(task.config(fit)) for fit in task.fits]
    assert len(set(configs)) == len(configs) - len(told_source)


@pytest.mark.slow
def test_a_fit_that_two_lines_share_is_made_once(tmp_path, monkeypatch):
    settings = quick_settings(
        sets=("digits-fac-pix",), alphas=(0.1,), splits=1, lines=("auto", "auto_told_source"),
        relevances=("labels", "source"), max_rows=300,
    )  # fmt: skip
    (task,), store, made = transfer_tasks(settings), ResultStore(tmp_path), []
    result = task_file._result
    monkeypatch.setattr(task_file, "_result", lambda bench, fit: made.append(fit) or result(bench, fit))
    assert task.left(store) == 2
    task.run(store)
    assert made == [Fit("auto", 16, "labels"), Fit("auto", 16, "source")]
    assert set(finished(task, store)) == set(task.fits)
    assert task.left(store) == 0


@pytest.mark.parametrize(("line", "told"), [("auto_unlabelled", "groups"), ("auto_told_source", "source")])
def test_a_learner_without_source_and_labels_is_judged_by_class(results, line, told):
    hasher = HASHERS["AutoHasher"](16, relevance=told, use_source=False, random_state=0)
    value = results.splits("digits-fac-pix", "labels", f"{line}_no_source", Setting(0.1, 16))[0]
    assert value == pytest.approx(_direct(hasher, 0.1, 0, "labels"), abs=1e-9)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(("line", "told"), [("auto_unlabelled", "groups"), ("auto_told_source", "source")])
def test_a_source_without_labels_is_judged_by_class(results, line, told, shuffled):
    line += "_shuffled" * shuffled
    hasher = HASHERS["AutoHasher"](16, relevance=told, random_state=0)
    value = results.splits("digits-fac-pix", "labels", line, Setting(0.1, 16))[0]
    assert value == pytest.approx(_direct(hasher, 0.1, 0, "labels", shuffled=shuffled), abs=1e-9)


def test_all_pairs_are_those_of_every_row_that_is_no_query(results):
    hasher = HASHERS["AutoHasher"](16, relevance="source", random_state=0)
    value = results.splits("digits-fac-pix", "source", "auto_all", Setting(0.1, 16))[0]
    assert value == pytest.approx(_direct(hasher, 0.1, 0, "source", paired="all"), abs=1e-9)


def test_a_rival_is_tuned_on_the_pairs_of_the_split(tmp_path):
    lines = ("itq", "rival_one_hot", "rival_one_hot_asymmetric", "rival_clusters_groups")
    settings = quick_settings(
        sets=("digits-fac-pix",), alphas=(0.1,), splits=1, lines=lines, relevances=("labels",), max_rows=500
    )
    (task,), store = transfer_tasks(settings), ResultStore(tmp_path)
    task.run(store)
    found = {fit.line: entry["measures"]["labels"]["map"] for fit, entry in finished(task, store).items()}
    data = load_rows(settings.data("digits-fac-pix"))
    split = split_rows(data.n, 0.1, random_state=0)
    views, rows = training_views(data, split), database_rows(split, "all")
    pairs = Pairs(
        views.target[split.train], data.labels[split.train], views.source[split.train], views.source[split.rest], seed=0
    )
    same = data.labels[split.query][:, None] == data.labels[rows]
    for name, told, line in (("one_hot", "labels", "rival_one_hot"), ("clusters", "groups", "rival_clusters_groups")):
        codes = RivalHasher(name, 16, told).fit(pairs).transform(views.target)
        wanted = np.mean(average_precision(codes[split.query], codes[rows], same, 16))
        assert found[line] == pytest.approx(wanted, abs=1e-9)
    assert found["rival_one_hot_asymmetric"] != found["rival_one_hot"]


def test_rivals_of_a_split_share_what_they_compute(tmp_path, monkeypatch):
    made, whole = [], Pairs.__init__
    monkeypatch.setattr(Pairs, "__init__", lambda self, *rows, seed: made.append(seed) or whole(self, *rows, seed=seed))
    fits, fit = [], RivalHasher.fit
    monkeypatch.setattr(RivalHasher, "fit", lambda self, pairs: fits.append(self.relevance) or fit(self, pairs))
    lines = ("itq", "rival_kernel_pca", "rival_kernel_pca_asymmetric")
    settings = quick_settings(
        sets=("digits-fac-pix",), alphas=(0.1,), splits=1, lines=lines, relevances=("target", "source"), max_rows=300
    )
    (task,) = transfer_tasks(settings)
    task.run(ResultStore(tmp_path))
    assert (made, fits) == ([0], ["target", "source"])  # both orders are of one fit


def test_bad_settings_are_refused_by_name():
    for changes, words in (
        ({"sets": ("bcc",)}, "'bcc' is not one of"),
        ({"alphas": (1.5,)}, "1.5 must be greater than 0"),
        ({"bits": (0,)}, "bits=0 must be"),
        ({"splits": 0}, "splits=0"),
        ({"relevances": ("near",)}, "'near' is not one of"),
        ({"control_bits": (8,)}, "control_bits: 8"),
        ({"lines": ("auto", "rival_x")}, "'rival_x' is not one of"),
    ):
        with pytest.raises(ValueError, match=words):
            transfer_tasks(quick_settings(**changes))


def test_every_set_says_what_it_was_used_for():
    assert {entry.use for entry in SETS.values()} == {"development", "confirmation", "further"}
    confirming = {name for name, entry in SETS.items() if entry.use == "confirmation"}
    assert confirming == {"reuters", "ddtp", "nuswide", "mediamill"}
    assert [name for name, entry in SETS.items() if entry.use == "further"] == ["stamps", "openclipart-mobilenet"]
