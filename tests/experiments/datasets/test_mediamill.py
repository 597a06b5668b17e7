from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.datasets import load_mediamill


def test_facts(shared_data: Path) -> None:
    mediamill = load_mediamill(data_home=shared_data)
    assert mediamill.target.shape == (43_907, 120)
    assert mediamill.source.shape == mediamill.tags.shape == (43_907, 101)
    assert mediamill.labels is None
    carried = np.flatnonzero(mediamill.tags[777])
    assert mediamill.show(777).tags == tuple(f"concept {j + 1}" for j in carried)
    assert mediamill.source[[777]].nonzero()[1].tolist() == carried.tolist()
