from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

import thpi
from thpi.cli import run
from thpi.codes import hamming_distances
from thpi.datasets import PairedDataset
from thpi.index import asymmetric_distances
from thpi.web import Catalogue, demo_catalogue, running
from thpi.web.demos import DEMOS, Demo


def test_every_method_is_there_at_every_length(demo: Catalogue) -> None:
    assert demo.methods == list(thpi.HASHERS)
    assert demo.bits == [16, 32]
    assert len(demo.engines) == 2 * len(thpi.HASHERS)
    assert all(len(engine.index) == 2000 for engine in demo.engines)


def test_the_quality_told_is_the_mean_average_precision(demo: Catalogue) -> None:
    """Against scikit-learn, with ties in random order: its value lies within the spread of such orders."""
    assert demo.truth is not None
    engine = demo.engine("ITQ", 32)
    codes = engine.index.codes
    query, database = demo.gallery, np.setdiff1d(np.arange(2000), demo.gallery)
    same = demo.truth.labels[query][:, None] == demo.truth.labels[database]
    projections = engine.hasher.decision_function(demo.truth.target[query])
    told = {row["order"]: row["class"] for row in demo.truth.quality if (row["method"], row["bits"]) == ("ITQ", 32)}
    orders = {
        "hamming": hamming_distances(codes[query], codes[database]),
        "asymmetric": asymmetric_distances(projections, codes[database]),
    }
    for order, distances in orders.items():
        noise = 1e-6 * np.random.RandomState(0).random_sample(distances.shape)
        ranked = zip(same, distances + noise, strict=True)
        expected = np.mean([average_precision_score(s, -d) for s, d in ranked])
        assert told[order] == pytest.approx(expected, abs=0.002)
    assert told["asymmetric"] > told["hamming"]


@pytest.mark.slow
def test_progress_is_told() -> None:
    steps: list[tuple[str, int, int]] = []
    demo_catalogue(bits=[8], progress=lambda *step: steps.append(step))
    n_steps = 1 + len(thpi.HASHERS)
    assert [done for _, done, _ in steps] == list(range(n_steps + 1))
    assert {total for _, _, total in steps} == {n_steps}


def test_an_unknown_data_set_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dataset='\.\./digits'"):
        demo_catalogue("../digits")


@pytest.mark.slow
def test_a_demo_from_outside_is_shown_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_toy() -> PairedDataset:
        rng = np.random.RandomState(0)
        labels = np.arange(400) % 3
        X = rng.standard_normal((400, 80)) + 3 * labels[:, None]
        names = tuple(f"toy-{i}" for i in range(400))
        return PairedDataset("toy", X, X @ rng.standard_normal((80, 70)), names, labels, ("a", "b", "c"))

    toy = Demo(load_toy, "Toy", "Blobs.", "numbers", "blob", rows=380, pairs=70, prepare_source=StandardScaler)
    monkeypatch.setitem(DEMOS, "toy", toy)
    served: list[Catalogue] = []
    run_server: Callable[..., None] = lambda catalogue, *_: served.append(catalogue)  # noqa: E731
    monkeypatch.setattr(running, "serve", run_server)  # everything but listening on a port
    assert run(["serve", "--demo", "toy"]) == 0
    (catalogue,) = served
    assert catalogue.title == "Toy"
    assert catalogue.about()["n_items"] == 380
    assert catalogue.about()["labels"] == ["a", "b", "c"]
