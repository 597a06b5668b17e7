"""What a command needs at its end is checked before its first long step; what was found is always printed."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from thpi.cli import run


@pytest.fixture
def pairs(tmp_path):
    rng = np.random.RandomState(0)
    S = rng.standard_normal((40, 3))
    np.savez(tmp_path / "pairs.npz", target=np.hstack([S, rng.standard_normal((40, 3))]), same=S)
    return str(tmp_path / "pairs.npz")


def _without(monkeypatch, package):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed


# DATA does not exist: an error about it would show that reading came first.


def test_a_page_needs_matplotlib(tmp_path, refused, monkeypatch):
    _without(monkeypatch, "matplotlib")
    command = ["diagnose", tmp_path / "no.npy", "--privileged", tmp_path / "no.npy", "--html", tmp_path / "p.html"]
    assert "'matplotlib'; install it with: pip install \"thpi[plots]\"" in refused(command)
    command = ["evaluate", tmp_path / "no.thpi", tmp_path / "no.npy", "--html", tmp_path / "p.html"]
    assert "'matplotlib'; install it with: pip install \"thpi[plots]\"" in refused(command)


def test_stores_need_their_packages(shop, tmp_path, refused, monkeypatch):
    for package, target in (
        ("psycopg", "postgresql://localhost/shop"),
        ("pymilvus", tmp_path / "codes.db"),
        ("lancedb", tmp_path / "codes.lancedb"),
    ):
        _without(monkeypatch, package)
        assert f"'{package}'" in refused(["export", shop / "collection.thpi", target])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody can write to")
def test_folders_that_take_no_files(tmp_path, shop, refused):
    no = tmp_path / "no.npy"
    for command in (
        ["build", "/proc/m.thpi", no],
        ["build", tmp_path / "m.thpi", no, "--html", "/proc/page.html"],
        ["diagnose", no, "--privileged", no, "--html", "/proc/page.html"],
        ["evaluate", no, no, "--html", "/proc/page.html"],
        ["export", shop / "collection.thpi", "/proc/codes.npy"],
    ):
        assert "cannot be written: " in refused(command)
    assert "cannot be written: " in refused(["demo", "--tables", "/proc"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_without_permission(tmp_path, refused):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert "cannot be written: Permission denied" in refused(["build", folder / "m.thpi", tmp_path / "no.npy"])


def test_a_port_that_is_taken(shop, refused):
    pytest.importorskip("granian", reason="needs the extra serve")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refused(["serve", shop / "collection.thpi", "--port", port])
    assert f"--port {port}: Address already in use" in text


def test_an_answer_is_printed_even_if_its_page_fails(pairs, tmp_path, capsys, monkeypatch):
    def full(found):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thpi.evaluation.Diagnosis.to_html", full)
    command = ["diagnose", f"{pairs}:target", "--privileged", f"{pairs}:same", "--bits", "4", "--folds", "2"]
    assert run([*command, "--relevance", "source", "--html", str(tmp_path / "page.html")]) == 2
    captured = capsys.readouterr()
    assert "if relevant means near in source space" in " ".join(captured.out.split())
    assert captured.err == "error: [Errno 28] No space left on device\n"
    assert not (tmp_path / "page.html").exists()
