"""Many pictures: where they are found, what they are called, in any order of work the same vectors, and resumption."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from thpi.encoders import Picture, PictureError, encode_pictures, find_pictures, picture_ids, read_picture


class Means:
    """An encoder that a reader can follow: the mean of each colour. It counts its calls."""

    name, digest, n_features = "means", "0", 3

    def __init__(self) -> None:
        self.calls = 0

    def vector(self, picture: object) -> np.ndarray:
        self.calls += 1
        return np.asarray(read_picture(picture), dtype=np.float32).mean(axis=(0, 1))


def coloured(folder: Path, n: int) -> list[Path]:
    files = []
    for i in range(n):
        files.append(folder / f"{i:03}.png")
        Image.new("RGB", (8, 6), (i, 255 - i, 2 * i % 256)).save(files[-1])
    return files


def test_pictures_are_found_in_folders_and_zip_files(tmp_path: Path):
    coloured(tmp_path, 3)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    coloured(tmp_path / "deep" / "er", 1)
    (tmp_path / ".hidden").mkdir()
    coloured(tmp_path / ".hidden", 1)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "A.JPG").write_bytes((tmp_path / "000.png").read_bytes())
    names = ["000.png", "001.png", "002.png", "A.JPG", "deep/er/000.png"]
    assert [each.name for each in find_pictures(tmp_path)] == names
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in [*names, "__MACOSX/000.png", ".hidden/000.png", "notes.txt"]:
            archive.write(tmp_path / ("000.png" if name.startswith("__") else name), name)
    packed = find_pictures(tmp_path / "all.zip")
    assert [each.name for each in packed] == names
    assert packed[1].read() == (tmp_path / "001.png").read_bytes()
    for wrong, words in (("nothing.zip", "zip"), ("notes.txt", "folder"), ("gone", "folder"), ("x.png", "not exist")):
        with pytest.raises(ValueError, match=words):
            find_pictures(tmp_path / wrong)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no pictures"):
        find_pictures(tmp_path / "empty")


def test_ids_are_names_as_the_table_has_them():
    def named(*names: str) -> list[Picture]:
        return [Picture(name, Path(name)) for name in names]

    assert picture_ids(named("a.jpg", "b/c.jpg")) == ["a", "c"]
    assert picture_ids(named("a.jpg", "b/c.jpg"), ["c.jpg"]) == ["a.jpg", "c.jpg"]
    assert picture_ids(named("x/1.jpg", "y/1.jpg")) == ["x/1", "y/1"]
    assert picture_ids(named("x/1.jpg", "y/1.jpg", "y/1.png")) == ["x/1.jpg", "y/1.jpg", "y/1.png"]
    assert picture_ids(named("x/1.jpg", "y/2.jpg"), ["x/1", "z"]) == ["x/1", "y/2"]
    assert picture_ids(named("7.jpg", "8.jpg"), [7, 9]) == ["7", "8"]


def test_vectors_come_in_order_and_equal_files_are_encoded_once(tmp_path: Path):
    coloured(tmp_path, 30)
    (tmp_path / "copy.png").write_bytes((tmp_path / "004.png").read_bytes())
    encoder, done = Means(), []
    found = encode_pictures(find_pictures(tmp_path), encoder, n_jobs=3, on_done=done.append)
    assert encoder.calls == 30
    assert done == list(range(1, 32))
    wanted = [[i, 255 - i, 2 * i] for i in range(30)] + [[4, 251, 8]]
    assert found.X.tolist() == wanted
    assert found.kept.tolist() == list(range(31))
    assert all(Image.open(io.BytesIO(each)).format == "WEBP" for each in found.thumbnails)
    one = encode_pictures(find_pictures(tmp_path), Means(), n_jobs=1)
    assert (one.X == found.X).all()
    assert one.thumbnails == found.thumbnails


def test_broken_pictures_are_named_and_left_out(tmp_path: Path):
    files = coloured(tmp_path, 30)
    files[3].write_bytes(b"")
    files[11].write_bytes(files[11].read_bytes()[:40])
    found = encode_pictures(find_pictures(tmp_path), Means())
    assert [name for name, _ in found.broken] == ["003.png", "011.png"]
    assert found.broken[0][1] == "it is empty"
    assert found.kept.tolist() == [i for i in range(30) if i not in (3, 11)]
    assert found.X[3].tolist() == [4, 251, 8]
    for file in files[20:23]:
        file.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"5 of 30 pictures cannot be used; the first is '003.png': it is empty"):
        encode_pictures(find_pictures(tmp_path), Means())
    gone = [Picture("gone.png", tmp_path / "gone.png")]
    with pytest.raises(ValueError, match="does not exist"):
        encode_pictures(gone, Means())


def test_a_zip_file_may_lie(tmp_path: Path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../up.png", (b"\x89PNG" + bytes(100)))
        archive.writestr("secret.png", b"x" * 50)
    data = bytearray(path.read_bytes())
    data[60:70] = b"0123456789"
    path.write_bytes(data)
    for each in find_pictures(path):
        with pytest.raises(PictureError):  # never a file outside
            read_picture(each.read())
    assert not (tmp_path.parent.parent / "up.png").exists()


def test_what_was_done_is_not_done_again(tmp_path: Path):
    (tmp_path / "p").mkdir()
    coloured(tmp_path / "p", 20)
    store, pictures = tmp_path / "store", find_pictures(tmp_path / "p")
    first = encode_pictures(pictures, Means(), store=store)
    again = Means()
    second = encode_pictures(pictures, again, store=store)
    assert again.calls == 0
    assert (second.X == first.X).all()
    assert second.thumbnails == first.thumbnails
    other = Means()
    other.digest = "1"
    encode_pictures(pictures, other, store=store)
    assert other.calls == 20  # vectors of another encoder are not taken
    with sqlite3.connect(store) as database:
        database.execute("UPDATE done SET vector=zeroblob(12) WHERE digest=(SELECT min(digest) FROM done)")
    third = Means()
    third.digest = "1"
    assert (encode_pictures(pictures, third, store=store).X == first.X).all()
    assert third.calls == 1  # the altered one
    store.write_bytes(b"no database" * 1000)
    with pytest.raises(ValueError, match="delete it"):
        encode_pictures(pictures, Means(), store=store)


PROGRAM = """
import json, sys, time
from pathlib import Path
import numpy as np
from thpi.encoders import encode_pictures, find_pictures, read_picture

class Slow:
    name, digest, n_features = "slow", "0", 3
    def vector(self, picture):
        time.sleep(0.004)
        with open(sys.argv[3], "a") as log:
            log.write("x\\n")
        return np.asarray(read_picture(picture), dtype=np.float32).mean(axis=(0, 1))

found = encode_pictures(find_pictures(sys.argv[1]), Slow(), store=Path(sys.argv[2]), n_jobs=2)
print(json.dumps(found.X.tolist()))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path):
    (tmp_path / "p").mkdir()
    n = 250
    for i in range(n):
        Image.new("RGB", (8, 6), (i, 7, 9)).save(tmp_path / "p" / f"{i:03}.png")
    log, store = tmp_path / "log", tmp_path / "store"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "p"), str(store), str(log)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    kills = 0
    for seconds in (1.2, 1.4, 1.6):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 20
        before = log.read_text().count("x") if log.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and log.read_text().count("x") - before > 40 * seconds:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.01)
        process.communicate()
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == [[i, 7, 9] for i in range(n)]
    assert kills == 3
    # After each kill only what was under way is done again: two are encoded, two more may wait for their turn.
    assert n <= log.read_text().count("x") <= n + kills * 5
