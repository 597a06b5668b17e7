"""``thpi serve``: wrong command lines and files are one clear error, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from thpi.cli import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.thpi"], "nowhere.thpi"),
        (["{path}", "--token", "short"], "token must have"),
        (["{path}", "--time-limit", "0"], "time_limit=0"),
        (["{path}", "--idle-limit", "61"], "--idle-limit 61 must be from 0.001 to 60"),
        (["{path}", "--writable"], "--writable needs a token"),
        (["{path}", "--host", "192.0.2.1"], "--host 192.0.2.1"),
        (["{path}", "--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
        (["{other}"], "is not a thpi collection"),
    ],
)
def test_a_wrong_command_line_is_one_clear_error(
    made: Path, tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_bytes(b"a text of some length")
    assert run(["serve", *(each.format(path=made, other=tmp_path / "other") for each in arguments)]) == 2
    assert message in capsys.readouterr().err
