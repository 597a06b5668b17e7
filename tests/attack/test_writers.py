"""Writers that fail, files that are not ours: what others own and have been promised is left alone."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from thpi._files import atomic_open, atomic_path, atomic_write
from thpi.collection import Details, write
from thpi.index import HammingIndex

CODE = np.array([[1, 2]], dtype=np.uint8)
MODEL = thpi.LSH(16, random_state=0).fit(np.eye(20))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "shop", MODEL, CODE, ["first"], about={})
    return tmp_path / "shop"


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def some(n: int, name: str) -> dict[str, Any]:
    """Codes, ids and something to show, for ``add_codes``."""
    codes = np.arange(2 * n, dtype=np.uint8).reshape(n, 2)
    return {"codes": codes, "ids": [f"{name}{i}" for i in range(n)], "details": [Details(name, bytes(99))] * n}


@pytest.mark.parametrize("room", [0, 600, 5_000, 20_000, 60_000])
def test_a_full_disk_refuses_a_change_and_the_next_one_is_made(path: Path, room: int) -> None:
    """The journal, the file or its last page finds no room."""
    with thpi.open(path) as shop:
        shop.add_codes(**some(200, "before"))
        size = path.stat().st_size if room > 20_000 else 0
        with full_disk(size + room), pytest.raises(OSError, match="shop"):
            shop.add_codes(**some(2000, "lost"))
        assert len(shop) == 201
        shop.remove(["before7"])
        shop.add_codes(**some(3, "after"))
        shop.check()
        with thpi.open(path) as other:
            assert other.ids.tolist() == shop.ids.tolist()
            assert len(other) == 203
    assert os.listdir(path.parent) == ["shop"]


def test_a_full_disk_leaves_the_old_file_in_place_of_a_new_one(path: Path) -> None:
    before = path.read_bytes()
    with full_disk(10_000), pytest.raises(OSError, match="shop"):
        write(path, MODEL, np.zeros((9000, 2), np.uint8), range(9000), about={})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["shop"]


def test_changes_go_to_the_file_that_has_the_name(path: Path) -> None:
    with thpi.open(path) as one:
        write(path, MODEL, CODE, ["other"], about={})
        one.add_codes(CODE, ["acknowledged"])
        with thpi.open(path) as two:
            assert two.ids.tolist() == ["other", "acknowledged"] == one.ids.tolist()
        path.unlink()
        with pytest.raises(FileNotFoundError):
            one.add_codes(CODE, ["nowhere"])
        assert one.search_codes(CODE, 1).ids.tolist() == [["other"]]  # a search goes on with what it has


def test_a_file_that_is_replaced_under_readers_gives_no_answer_from_both(path: Path) -> None:
    """The same numbers are other items in the other file: each id belongs to one code."""
    files = [path.with_name("a"), path.with_name("b")]
    for which, file in enumerate(files):
        write(file, MODEL, np.full((50, 2), which, np.uint8), [f"{which}.{i}" for i in range(50)], about={"title": "t"})
    wrong, stop = [], threading.Event()
    shutil.copy(files[0], path)
    with thpi.open(path) as shop:
        shop.refresh()

        def search() -> None:
            while not stop.is_set():
                found = shop.search_codes(np.zeros((1, 2), np.uint8), 50)
                side = "0" if found.distances[0, 0] == 0 else "1"
                if {str(item)[0] for item in found.ids[0]} != {side}:
                    wrong.append(found)

        threads = [threading.Thread(target=search) for _ in range(2)]
        for thread in threads:
            thread.start()
        for turn in range(60):
            shutil.copy(files[turn % 2], path.with_name("next"))
            os.replace(path.with_name("next"), path)
            shop.refresh()
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong


_HALF = """
import sys, time
from thpi._files import atomic_open
with atomic_open(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_writer_leaves_the_next_one_removes(path: Path, number: signal.Signals) -> None:
    before = path.read_bytes()
    for name in ("shop", "new"):
        command = [sys.executable, "-c", _HALF, str(path.with_name(name))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "begun\n"
            writer.send_signal(number)
            assert writer.wait(20) == -number
    assert path.read_bytes() == before
    assert not path.with_name("new").exists()
    for name in ("shop", "new"):
        atomic_write(path.with_name(name), "whole")
    assert sorted(os.listdir(path.parent)) == ["new", "shop"]


def test_a_writer_that_fails_leaves_nothing(path: Path) -> None:
    before = path.read_bytes()
    for name in ("shop", "new"):
        with pytest.raises(ZeroDivisionError), atomic_open(path.with_name(name)) as file:
            file.write(b"half" * (1 // 0))
    assert os.listdir(path.parent) == ["shop"]
    assert path.read_bytes() == before


def test_only_what_is_provably_ours_is_cleaned(path: Path) -> None:
    mark = "0123456789abcdef.thpi-tmp"
    kept = [".shop.private-notes.tmp", ".shop.thpi-tmp", ".shop.index.abc12345.tmp", f".shop.index.{mark}"]
    for name in kept:
        path.with_name(name).write_text("of another")
    path.with_name(f".shop.{'1' * 16}.thpi-tmp").symlink_to("elsewhere")
    path.with_name(f".shop.{mark}").write_text("of a killed process")
    atomic_write(path, "new")
    assert not path.with_name(f".shop.{mark}").exists()
    assert all(path.with_name(name).exists() for name in kept)
    assert path.with_name(f".shop.{'1' * 16}.thpi-tmp").is_symlink()


def test_the_file_of_a_living_writer_is_not_cleaned(path: Path) -> None:
    with atomic_path(path.with_name("model")) as temporary:
        temporary.write_bytes(b"half")
        atomic_write(path.with_name("model"), "another writer")
        temporary.write_bytes(b"whole")
    assert path.with_name("model").read_bytes() == b"whole"
    assert sorted(os.listdir(path.parent)) == ["model", "shop"]


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link, real = tmp_path / "link", tmp_path / "data" / "real"
    link.symlink_to(real)
    for item in ("first", "second"):  # dangling at first
        write(link, MODEL, CODE, [item], about={})
        assert link.is_symlink()
        with thpi.open(real) as shop:
            assert shop.ids.tolist() == [item]
    with thpi.open(link) as shop:
        shop.add_codes(CODE, ["third"])
    assert link.is_symlink()
    with thpi.open(real) as shop:
        assert shop.ids.tolist() == ["second", "third"]
    index = HammingIndex(16)
    index.save(link)
    assert link.is_symlink()
    assert len(HammingIndex.open(real)) == 0


def test_mode_and_owner_stay(path: Path) -> None:
    path.chmod(0o600)
    if os.getuid() == 0:
        os.chown(path, 12345, 23456)
    before = path.stat()
    write(path, MODEL, CODE, ["new"], about={})
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular file"):
        atomic_write(tmp_path / "pipe", "text")
    with pytest.raises(OSError, match="regular file"):
        atomic_write(tmp_path, "text")
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]
