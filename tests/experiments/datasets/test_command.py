from __future__ import annotations

from pathlib import Path

import pytest

from experiments.__main__ import run
from experiments.datasets import list_datasets


def test_list_names_every_set_and_says_whether_it_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasets", "list", "--data-home", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in list_datasets())
    assert "bundled" in text
    assert "missing" in text


def test_info_gives_origin_licence_and_checksums(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasets", "info", "digits"]) == 0
    text = capsys.readouterr().out
    for part in ("CC BY 4.0", "archive.ics.uci.edu", "digits.npz", "sha256 242f7ec6"):
        assert part in text
    assert run(["datasets", "info", "digit"]) == 2
    assert "'digit' is not a data set" in capsys.readouterr().err


def test_verify_finds_what_is_missing_or_altered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datasets", "verify", "digits"]) == 0
    assert capsys.readouterr().out == "ok        digits/digits.npz\n"
    assert run(["datasets", "verify", "wikipedia", "--data-home", str(tmp_path)]) == 1
    assert "missing   wikipedia/wiki.npz" in capsys.readouterr().out
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "wiki.npz").write_bytes(b"x")
    assert run(["datasets", "verify", "wikipedia", "--data-home", str(tmp_path)]) == 1
    assert "altered   wikipedia/wiki.npz" in capsys.readouterr().out
