from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.datasets import load_wikipedia


def test_facts(shared_data: Path) -> None:
    wikipedia = load_wikipedia(data_home=shared_data)
    assert wikipedia.target.shape == (2866, 128)
    assert wikipedia.source.shape == (2866, 100)
    counts = dict(zip(wikipedia.label_names, np.bincount(wikipedia.labels).tolist(), strict=True))
    # Training plus test articles of each category as published by the collection's authors.
    assert counts == {
        "art": 172, "biology": 360, "geography": 340, "history": 333, "literature": 267,
        "media": 236, "music": 237, "royalty": 185, "sport": 285, "warfare": 451,
    }  # fmt: skip
