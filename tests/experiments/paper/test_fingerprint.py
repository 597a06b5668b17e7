from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness.store import ResultStore
from experiments.paper.fingerprint import BITS, METHODS, FingerprintTask, candidates, mean_values


def test_a_kept_value_is_found_with_the_files_in_a_given_folder(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THPI_DATA", str(tmp_path / "empty"))
    store = ResultStore(tmp_path / "results")
    task = FingerprintTask(candidates()[0], 0, METHODS, BITS, str(shared_data))
    assert task.left(store) == 1
    store.write_values("fingerprint", task.config, [["LSH", 0.5, 8, 14.0]])
    assert task.left(store) == 0
    assert mean_values([task], store) == {task.candidate: {("LSH", 0.5, 8): 14.0}}
