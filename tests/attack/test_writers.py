"""Writers that fail, files that are not ours: what others own and have been promised is left alone."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from thpi._files import _links_nameless, atomic_file, atomic_write
from thpi.index import HammingIndex, IndexLockedError

CODE = np.array([[1, 2]], dtype=np.uint8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    index = HammingIndex(16)
    index.add(CODE, ["first"])
    index.save(tmp_path / "shop")
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


def test_after_a_failed_write_save_replaces_nobodys_file(path: Path) -> None:
    one = HammingIndex.open(path, "a")
    with full_disk(path.stat().st_size + 10), pytest.raises(OSError, match="large"):
        one.add(CODE, ["lost"])
    with pytest.raises(IndexLockedError):
        HammingIndex.open(path, "a")
    one.save()
    one.add(CODE, ["second"])
    one.close()
    assert HammingIndex.open(path).ids.tolist() == ["first", "second"]


def test_a_file_that_was_put_in_its_place_is_not_replaced(path: Path) -> None:
    one = HammingIndex.open(path, "a")
    other = path.with_name("other")
    HammingIndex(16).save(other)
    os.replace(other, path)
    with HammingIndex.open(path, "a") as two:
        two.add(CODE, ["acknowledged"])
    with pytest.raises(OSError, match="open it again"):
        one.add(CODE, ["nowhere"])  # would go to a file without a name
    assert HammingIndex.open(path).ids.tolist() == ["acknowledged"]
    one.save()  # it has caught up with the file that now has the name
    assert HammingIndex.open(path).ids.tolist() == ["acknowledged"]
    HammingIndex(16).save(other)
    os.replace(other, path)
    with pytest.raises(OSError, match="open it again"):
        one.save()


def test_saving_a_shared_index_to_its_own_file_keeps_what_others_added(path: Path) -> None:
    one, two = HammingIndex.open(path, "shared"), HammingIndex.open(path, "shared")
    two.add(CODE, ["two"])
    one.save(path)
    one.add(CODE, ["one"])
    assert HammingIndex.open(path).ids.tolist() == ["first", "two", "one"]


_HALF = """
import sys, time
from thpi._files import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_writer_leaves_no_temporary_file(path: Path, number: signal.Signals) -> None:
    if not _links_nameless(path):
        pytest.skip("the file system has no files without a name")
    before = path.read_bytes()
    for name in ("shop", "new"):
        command = [sys.executable, "-c", _HALF, str(path.with_name(name))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "begun\n"
            writer.send_signal(number)
            assert writer.wait(20) == -number
    assert os.listdir(path.parent) == ["shop"]
    assert path.read_bytes() == before


@pytest.fixture(params=["nameless", "named"])
def temporary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of temporary files, whatever this file system can do."""
    if request.param == "named":
        monkeypatch.setattr("thpi._files._links_nameless", lambda target: False)


@pytest.mark.usefixtures("temporary")
def test_a_writer_that_fails_leaves_nothing(path: Path) -> None:
    before = path.read_bytes()
    for name in ("shop", "new"):
        with pytest.raises(ZeroDivisionError), atomic_file(path.with_name(name)) as file:
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
    HammingIndex.open(path, "a").close()
    assert not path.with_name(f".shop.{mark}").exists()
    assert all(path.with_name(name).exists() for name in kept)
    assert path.with_name(f".shop.{'1' * 16}.thpi-tmp").is_symlink()


@pytest.mark.usefixtures("temporary")
def test_the_file_of_a_living_writer_is_not_cleaned(path: Path) -> None:
    with atomic_file(path.with_name("model")) as file:
        file.write(b"half")
        atomic_write(path.with_name("model"), "another writer")
        file.write(b" whole")
    file.close()
    assert path.with_name("model").read_bytes() == b"half whole"
    assert sorted(os.listdir(path.parent)) == ["model", "shop"]


@pytest.mark.usefixtures("temporary")
def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link, real = tmp_path / "link", tmp_path / "data" / "real"
    link.symlink_to(real)
    index = HammingIndex.open(path)
    for _ in range(2):  # dangling at first
        index.save(link)
        assert link.is_symlink()
        assert HammingIndex.open(real).ids.tolist() == ["first"]
    with HammingIndex.open(link, "a") as index:
        index.add(CODE, ["second"])
        index.save()
        index.add(CODE, ["third"])
    assert link.is_symlink()
    assert HammingIndex.open(real).ids.tolist() == ["first", "second", "third"]


@pytest.mark.usefixtures("temporary")
def test_mode_and_owner_stay(path: Path) -> None:
    path.chmod(0o600)
    if os.getuid() == 0:
        os.chown(path, 12345, 23456)
    before = path.stat()
    with HammingIndex.open(path, "a") as index:
        index.save()
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
