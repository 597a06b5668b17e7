from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.__main__ import run
from experiments.paper.check import Fit, differences, draw, fit_again, read_settings, read_splits
from experiments.paper.settings import quick_settings

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the report of one split of digits with 8 bits: 12 fits."""
    folder = tmp_path_factory.mktemp("made")
    options = ["--quick", "--dataset", "digits", "--bits", "8", "--splits", "1", "--max-rows", "300", "--workers", "1"]
    written = folder / "report"
    assert run(["paper", "table1", *options, "--results", str(folder), "--output", str(written)]) == 0
    return written


def _check(folder: Path, *options: str) -> int:
    return run(["paper-check", "--output", str(folder), "--workers", "1", *options])


def _altered(folder: Path, copy: Path, file: str, change: Callable[[str], str]) -> Path:
    shutil.copytree(folder, copy)
    text = (copy / file).read_text()
    (copy / file).write_text(change(text))
    assert (copy / file).read_text() != text
    return copy


def _raised(text: str, by: float, method: str = "ITQ,target") -> str:
    """Raise the value of one line."""
    (line,) = [line for line in text.splitlines() if f",8,{method}," in line]
    head, value = line.rsplit(",", 1)
    return text.replace(line, f"{head},{float(value) + by:.4f}")


@pytest.mark.slow
def test_settings_and_splits_are_read_as_they_were(made: Path) -> None:
    expected = quick_settings(bits=(8,), splits=1, max_rows=300)
    assert read_settings(made) == expected
    written = read_splits(made)
    assert len(written) == 12
    assert Fit("digits", "paper", 0.5, 0, 8, "CCA-ITQ, tuned") in written
    assert all(set(values) == {"target", "labels", "source"} for values in written.values())


@pytest.mark.slow
def test_results_of_this_code_pass(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _check(made, "--cells", "100", "--dataset", "digits") == 0
    assert "12 fits done anew, 36 values: all are as written, to 0.05 points." in capsys.readouterr().out


@pytest.mark.slow
def test_one_altered_value_fails_and_is_named(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _altered(made, tmp_path / "copy", "splits.csv", lambda text: _raised(text, 0.06))
    assert _check(folder, "--cells", "100") == 1
    out = capsys.readouterr().out
    assert "digits, paper, alpha 0.5, split 0, 8 bits, ITQ, target: " in out
    assert "2 values differ" in out  # the split, and the mean in table1.csv
    assert "LSH" not in out


@pytest.mark.slow
def test_an_altered_table_fails_without_its_fit(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(text: str) -> str:
        (line,) = [line for line in text.splitlines() if line.startswith("digits,paper,target,0.5,8,LSH,")]
        parts = line.split(",")
        return text.replace(line, ",".join([*parts[:7], str(float(parts[7]) + 0.01), *parts[8:]]))

    folder = _altered(made, tmp_path / "copy", "table1.csv", change)
    assert _check(folder, "--cells", "1") == 1
    assert "digits, paper, 0.5, 8, LSH, target: " in capsys.readouterr().out


@pytest.mark.slow
def test_a_cell_that_is_no_longer_run_fails(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    added = "digits,paper,0.5,0,8,KNN,target,50.0\n"
    folder = _altered(made, tmp_path / "copy", "splits.csv", lambda text: text + added)
    assert _check(folder, "--cells", "100") == 1
    assert "8 bits, KNN, target: 50.0000 written, nan now" in capsys.readouterr().out


@pytest.mark.slow
def test_what_cannot_be_checked_is_an_error(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _check(tmp_path / "nowhere") == 2
    assert "splits.csv" in capsys.readouterr().err
    assert _check(made, "--dataset", "bbc") == 2
    assert "dataset='bbc' is not in" in capsys.readouterr().err
    folder = _altered(made, tmp_path / "copy", "settings.json", lambda text: text.replace("quick", "quicker"))
    assert _check(folder) == 2
    assert "settings.json is not of this version" in capsys.readouterr().err


def test_the_tolerance_is_a_twentieth_of_a_point_and_a_seed_fixes_the_draw() -> None:
    fit = Fit("digits", "paper", 0.5, 0, 8, "ITQ")
    assert differences({fit: {"target": 31.0}}, {fit: {"target": 31.0499}}) == []
    assert len(differences({fit: {"target": 31.0}}, {fit: {"target": 30.9499}})) == 1
    fits = [fit._replace(seed=seed) for seed in range(50)]
    assert draw(fits, 5, 1) == draw(fits, 5, 1) != draw(fits, 5, 2)


@pytest.mark.long
def test_the_committed_results_of_bbc_come_out_of_this_code(shared_data: Path) -> None:
    written = read_splits(COMMITTED)
    cheap = [Fit("bbc", "paper", 0.5, 0, 8, method) for method in ("LSH", "ITQ", "CVH")]
    present = fit_again(cheap, read_settings(COMMITTED), shared_data, workers=1)
    assert [str(found) for found in differences({fit: written[fit] for fit in cheap}, present)] == []
