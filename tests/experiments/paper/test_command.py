from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from experiments.__main__ import run


def _error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["paper", *arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ")
    assert "Traceback" not in text
    return text


def test_bad_input_gives_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, folder = ["--data-home", str(tmp_path)], ["--results", str(tmp_path / "r")]
    assert "'bcc' is not a data set" in _error(["table1", "--dataset", "bcc", *folder], capsys)
    assert "Get it from" in _error(["table1", "--dataset", "wikipedia", *home, *folder], capsys)
    (tmp_path / "wiki").mkdir()
    np.savez(tmp_path / "wiki" / "wiki.npz", image_sift128=np.zeros(3))
    assert "sha256" in _error(["table1", "--dataset", "wikipedia", *home, *folder], capsys)
    quick = ["--quick", "--dataset", "digits", *folder]
    assert "alpha=1.5 must be" in _error(["figure1", *quick, "--alpha", "1.5"], capsys)
    assert "protocol='mine'" in _error(["table1", *quick, "--protocol", "mine"], capsys)
    assert "search='some'" in _error(["table1", *quick, "--search", "some"], capsys)
    assert "workers=0" in _error(["table1", *quick, "--workers", "0"], capsys)
    few = ["--protocol", "followup", "--alpha", "0.04", "--bits", "8", "--workers", "1"]
    assert "train has 40 rows" in _error(["table1", *quick, *few], capsys)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_ctrl_c_stops_cleanly_and_keeps_what_was_finished(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start("paper", "table1", "--quick", "--dataset", "digits", "--results", str(tmp_path), "--workers", "2")
    try:
        while process.poll() is None and not list(tmp_path.glob("fits/*.npz")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "finished results are kept" in out
    assert "Traceback" not in err
    assert list(tmp_path.glob("fits/*.npz"))
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_a_report_of_what_is_finished_runs_nothing(tmp_path: Path) -> None:
    command = ["paper", "table1", "--quick", "--dataset", "digits", "--max-rows", "200", "--bits", "8"]
    command += ["--results", str(tmp_path), "--workers", "1"]
    assert run([*command, "--splits", "1"]) == 0
    fits = sorted(tmp_path.glob("fits/*.npz"))
    assert run([*command, "--splits", "2", "--finished"]) == 0
    assert sorted(tmp_path.glob("fits/*.npz")) == fits
    with (tmp_path / "report" / "table1.csv").open(encoding="utf-8") as file:
        assert {row["n_splits"] for row in csv.DictReader(file)} == {"1"}
