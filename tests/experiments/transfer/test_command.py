from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.__main__ import run

QUICK = ["transfer", "--quick", "--sets", "digits-fac-pix", "--alphas", ".1", "--splits", "1", "--relevances", "source"]
VOID = {"meta", "img", "br", "link", "hr"}


class _Balanced(HTMLParser):
    """Raise where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _well_formed(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    parser = _Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "http://" not in text.replace("http://www.w3.org", "")
    return text


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_a_stopped_run_goes_on_where_it_was_and_gives_the_same_files(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    process = start(*QUICK, "--results", str(folder))
    try:
        while process.poll() is None and len(list(folder.glob("transfer/*.json"))) < 2:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "finished results are kept" in out
    assert not (folder / "transfer-report").exists()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("transfer/*.json")}
    assert kept
    assert run([*QUICK, "--results", str(folder), "--jobs", "1"]) == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert run([*QUICK, "--results", str(whole), "--jobs", "1"]) == 0
    for name in ("summary.csv", "runs.csv", "targets.json", "tables.txt", "gain.svg"):
        one, other = (part / "transfer-report" / name for part in (folder, whole))
        assert one.read_bytes() == other.read_bytes(), name

    page = _well_formed(whole / "transfer-report" / "report.html")
    assert "Methods and defaults were chosen while looking at digits-fac-pix" in page
    judged = json.loads((whole / "transfer-report" / "targets.json").read_text())
    assert all(j["outcome"] in page for j in judged)

    # All is there: nothing is fitted, the files are the same. A line that is to be run again is.
    before = {path: path.stat().st_mtime_ns for path in whole.glob("transfer/*.json")}
    again = (whole / "transfer-report" / "report.html").read_bytes()
    assert run([*QUICK, "--results", str(whole), "--jobs", "1"]) == 0
    assert {path: path.stat().st_mtime_ns for path in whole.glob("transfer/*.json")} == before
    assert (whole / "transfer-report" / "report.html").read_bytes() == again
    assert run([*QUICK, "--results", str(whole), "--jobs", "1", "--again", "itq"]) == 0
    after = {path: path.stat().st_mtime_ns for path in whole.glob("transfer/*.json")}
    assert sum(after[path] != before[path] for path in before) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sets", "bcc"], "'bcc' is not one of digits-fac-pix"),
        (["--alphas", "x"], "--alphas 'x' must be numbers"),
        (["--alphas", "2"], "2.0 must be greater than 0"),
        (["--jobs", "0"], "--jobs 0"),
        (["--again", "itqq"], "'itqq' is not one of"),
        (["--lines", "rivals,itqq"], "'itqq' is not one of"),
        (["--sets", "wikipedia", "--data-home", "."], "Get it from"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["transfer", "--quick", "--results", str(tmp_path / "r"), *arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: ")
    assert words in text


def test_a_part_of_the_lines_has_a_report_too(tmp_path: Path) -> None:
    arguments = ["--lines", "rival_one_hot", "--relevances", "labels", "--results", str(tmp_path), "--jobs", "1"]
    assert run(["transfer", "--quick", "--sets", "digits-fac-pix", "--alphas", ".1", "--splits", "1", *arguments]) == 0
    page = _well_formed(tmp_path / "transfer-report" / "report.html")
    assert "ITQ, no source" in page
    assert "AutoHasher, no source" not in page
