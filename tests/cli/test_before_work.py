"""What a command needs at its end is checked before its first long step; what was found is always printed."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.cli import _output as output
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
    command = ["diagnose", tmp_path / "no.npy", "--privileged", tmp_path / "no.npy", "--output", tmp_path / "p.html"]
    assert "'matplotlib'; install it with: pip install \"thpi[plots]\"" in refused(command)
    command = ["evaluate", tmp_path / "no.thpi", tmp_path / "no.npy", "--output", tmp_path / "p.svg"]
    assert "'matplotlib'; install it with: pip install \"thpi[plots]\"" in refused(command)


def test_codes_in_parquet_need_pyarrow(tmp_path, refused, monkeypatch):
    _without(monkeypatch, "pyarrow")
    wanted = "'pyarrow'; install it with: pip install \"thpi[parquet]\""
    assert wanted in refused(["encode", tmp_path / "no.thpi", tmp_path / "no.npy", tmp_path / "c.parquet"])
    assert wanted in refused(["export", tmp_path / "no.npy", tmp_path / "c.parquet"])


def test_stores_need_their_packages(tmp_path, refused, monkeypatch):
    for package, target in (
        ("psycopg", "postgresql://localhost/shop"),
        ("pymilvus", tmp_path / "codes.db"),
        ("sqlite_vec", tmp_path / "codes.sqlite"),
        ("lancedb", tmp_path / "codes.lancedb"),
    ):
        _without(monkeypatch, package)
        assert f"'{package}'" in refused(["export", tmp_path / "no.npy", target])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody can write to")
def test_folders_that_take_no_files(tmp_path, shop, refused):
    no = tmp_path / "no.npy"
    for command in (
        ["fit", no, "/proc/m.thpi"],
        ["diagnose", no, "--privileged", no, "--output", "/proc/page.html"],
        ["encode", no, no, "/proc/codes.npy"],
        ["evaluate", no, no, "--output", "/proc/plot.png"],
        ["index", "build", no, "/proc/shop.index"],
        ["export", no, "/proc/codes.npy"],
    ):
        assert "cannot be written: " in refused(command)
    assert "cannot be written: " in refused(["example", "/proc"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folders_without_permission(tmp_path, refused):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert "cannot be written: Permission denied" in refused(["fit", tmp_path / "no.npy", folder / "m.thpi"])


def test_too_little_space(tmp_path, shop, refused):
    """A sparse file of rows whose codes are larger than any disk."""
    free = output.shutil.disk_usage(tmp_path).free
    n = free // 11 + 2**20  # a code of 24 bits and its id take 11 bytes
    header = {"descr": "|u1", "fortran_order": False, "shape": (n, 64)}
    with open(tmp_path / "rows.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        try:
            file.truncate(file.tell() + n * 64)
        except OSError:
            pytest.skip("the file system has no files that large")
    text = refused(["encode", shop / "shop.thpi", tmp_path / "rows.npy", tmp_path / "c.npy"])
    assert "bytes are free there; it needs about" in text


def test_a_port_that_is_taken(tmp_path, refused):
    pytest.importorskip("granian", reason="needs the extra serve")
    thpi.build(tmp_path / "shop.thpi", np.eye(20), bits=4)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refused(["serve", tmp_path / "shop.thpi", "--port", port])
    assert f"--port {port}: Address already in use" in text


def test_an_answer_is_printed_even_if_its_page_fails(pairs, tmp_path, capsys, monkeypatch):
    def full(found):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thpi.evaluation.models._diagnosis_page.diagnosis_page", full)
    command = ["diagnose", f"{pairs}:target", "--privileged", f"{pairs}:same", "--bits", "4", "--folds", "2"]
    assert run([*command, "--relevance", "source", "--output", str(tmp_path / "page.html")]) == 2
    captured = capsys.readouterr()
    assert "if relevant means near in source space" in " ".join(captured.out.split())
    assert captured.err == "error: [Errno 28] No space left on device\n"
    assert not (tmp_path / "page.html").exists()


def test_what_fit_found_is_printed_even_if_the_model_cannot_be_saved(pairs, tmp_path, capsys, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(thpi.BaseHasher, "save", full)
    assert run(["fit", f"{pairs}:target", str(tmp_path / "m.thpi"), "--bits", "4"]) == 2
    captured = capsys.readouterr()
    assert "objective" in captured.out
    assert "m.thpi" not in captured.out
    assert "No space left" in captured.err
