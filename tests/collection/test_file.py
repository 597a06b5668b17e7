"""The file: readable by others, whole after a kill, and refused if anything in it was altered."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from tests.collection.conftest import IDS
from thpi.collection import Collection, CollectionFileError, CollectionLockedError


def test_plain_sql_reads_the_items(path, hasher, rows):
    with closing(sqlite3.connect(path)) as other:
        found = other.execute("SELECT id, code FROM item ORDER BY number").fetchall()
    assert found == list(zip(IDS, map(bytes, hasher.transform(rows[:30])), strict=True))


def test_sqlite_vec_searches_the_items(path, hasher, rows):
    vec = pytest.importorskip("sqlite_vec", reason="needs sqlite-vec: pip install sqlite-vec")
    apsw = pytest.importorskip("apsw", reason="needs apsw: pip install apsw")
    other = apsw.Connection(str(path))
    other.enable_load_extension(True)
    other.load_extension(vec.loadable_path())
    # Whole bytes: 12 bits fill two of them, and the four others are 0.
    query = "SELECT id FROM item ORDER BY vec_distance_hamming(vec_bit(code), vec_bit(?)), number LIMIT 5"
    code = hasher.transform(rows[40:41])
    found = [item for (item,) in other.execute(query, (code.tobytes(),))]
    other.close()
    with Collection(path) as shop:
        assert found == shop.search_codes(code, 5).ids[0].tolist()


def test_a_plain_copy_of_an_open_collection_is_whole(shop, path, tmp_path, rows):
    shop.add(rows[:1], ["new"])
    shutil.copy(path, tmp_path / "copy.thpi")
    with Collection(tmp_path / "copy.thpi") as copy:
        copy.check()
        assert copy.version == shop.version
    assert not [each for each in tmp_path.iterdir() if "journal" in each.name or "wal" in each.name]


def test_a_file_that_must_not_be_written_is_read(path, rows):
    path.chmod(0o444)
    with Collection(path) as shop:
        assert shop.search(rows[:1], 1).ids.shape == (1, 1)
        if os.access(path, os.W_OK):
            pytest.skip("the superuser may write to every file")
        with pytest.raises(OSError, match="must not be written"):
            shop.remove(["A-1"])


def test_another_writer_is_named_and_nothing_is_lost(path, rows):
    with Collection(path, wait=0.05) as shop, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CollectionLockedError, match="another process"):
            shop.remove(["A-1"])
        other.execute("ROLLBACK")
        shop.remove(["A-1"])
        assert len(shop) == 29


def test_opening_it_again_keeps_the_lock_of_a_change(path, rows):
    """POSIX locks of a process end when it closes any handle of the file: only SQLite may open it."""
    add = "import sys, thpi; thpi.open(sys.argv[1], wait=0).add_codes([[1, 1]], ['theirs'])"
    with Collection(path) as shop, shop._changing():
        Collection(path).close()
        done = subprocess.run([sys.executable, "-c", add, path], capture_output=True, text=True, check=False)
    assert "CollectionLockedError" in done.stderr


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM page; END", "other tables"),
        ("CREATE VIEW v AS SELECT 1", "other tables"),
        ("CREATE TABLE more (x)", "other tables"),
        ("DROP TABLE page", "other tables"),
        ("PRAGMA application_id=7", "not a thpi collection"),
        ("PRAGMA journal_mode=WAL", "journal_mode=wal: a copy is not whole"),
        ("PRAGMA user_version=9", "has version 9; this thpi reads version 1"),
        ("DELETE FROM part WHERE name='about'", "no part 'about'"),
        ("UPDATE part SET data=zeroblob(9) WHERE name='about'", "part 'about' does not match"),
        ("UPDATE page SET codes=zeroblob(length(codes))", "page 0 does not match"),
        ("UPDATE page SET ids=replace(ids, 'A-1', 'A-x')", "page 0 does not match"),
        ("DELETE FROM page", "pages are missing"),
        ("UPDATE part SET data='{}' WHERE name='state'", "part 'state' does not match"),
    ],
)
def test_what_was_altered_is_refused_when_it_is_opened(path, statement, words):
    _alter(path, statement)
    with pytest.raises(CollectionFileError, match=words):
        Collection(path)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE item SET text='x' WHERE id='A-3'", "'A-3' was altered"),
        ("UPDATE item SET thumbnail=x'00' WHERE id='A-9'", "'A-9' was altered"),
        ("UPDATE item SET code=x'0000' WHERE id='A-9'", "not those of page 0"),
        ("DELETE FROM item WHERE id='A-9'", "not those of page 0"),
        ("INSERT INTO item VALUES (5000, 'z', x'0000', NULL, NULL, NULL)", "no page knows"),
        ("UPDATE part SET data=zeroblob(9) WHERE name='model'", "part 'model' does not match"),
        ("UPDATE part SET data=zeroblob(9) WHERE name='evidence'", "part 'evidence' does not match"),
    ],
)
def test_a_check_finds_what_a_search_does_not_read(path, statement, words):
    _alter(path, statement)
    with Collection(path) as shop, pytest.raises(CollectionFileError, match=words):
        shop.check()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE item SET text='x' WHERE id='A-3'",
        "UPDATE item SET id='B-3' WHERE id='A-3'",
        "DELETE FROM item WHERE id='A-3'",
        "DELETE FROM item WHERE number=(SELECT max(number) FROM item)",
    ],
)
def test_texts_of_items_that_were_altered_are_not_read(path, statement):
    _alter(path, statement)
    with Collection(path) as shop, pytest.raises(CollectionFileError, match="its item '.*' was altered"):
        shop.texts()


def test_an_item_under_another_id_is_altered_and_one_that_others_removed_is_unknown(path):
    with Collection(path) as other, Collection(path) as shop:
        other.remove(["A-4"])
        with pytest.raises(KeyError, match="A-4"):
            shop.details("A-4")
    _alter(path, "UPDATE item SET id='B-3' WHERE id='A-3'")
    with Collection(path) as shop, pytest.raises(CollectionFileError, match="'A-3' was altered"):
        shop.details("A-3")
    with Collection(path) as shop, pytest.raises(CollectionFileError, match="'A-3' was altered"):
        shop.remove(["A-1", "A-3"])


def _alter(path, statement):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement)


def test_foreign_files_are_refused(tmp_path):
    for name, data in (("text", b"hello"), ("empty", b""), ("head", b"SQLite format 3\0")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CollectionFileError, match=name):
            Collection(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="thpi.build"):
        Collection(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="thpi.build"):
        Collection(tmp_path)


def test_a_flipped_bit_or_a_cut_is_refused_or_changes_nothing(path, rows):
    """Wherever a bit flips: an error of ours, or the same answer."""
    data, rng = path.read_bytes(), np.random.RandomState(0)
    with Collection(path) as shop:
        expected = shop.search(rows, 5)
    for trial in range(150):
        altered = bytearray(data)
        if trial % 5:
            at = int(rng.randint(len(data)))
            altered[at] ^= 1 << int(rng.randint(8))
        else:
            del altered[int(rng.randint(len(data))) :]
        path.write_bytes(altered)
        try:
            with Collection(path) as shop:
                found = shop.search(rows, 5)
        except (CollectionFileError, OSError):
            continue
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)


WRITER = """
import sys, numpy as np
from thpi.collection import Collection
shop, name = Collection(sys.argv[1], wait=60), sys.argv[2]
for n in range(10_000):
    shop.add_codes(np.array([[n % 256, n % 16]], np.uint8), [f"{name}{n}"])
    print(f"{name}{n}", flush=True)
    if n % 3 == 2:
        shop.remove([f"{name}{n - 1}"])
        print(f"-{name}{n - 1}", flush=True)
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(path):
    """Two processes write and are killed at any moment, while this one reads; benchmarks/attack does so for longer."""
    rng = np.random.RandomState(0)
    with Collection(path, wait=60) as reader:
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, path, name], stdout=subprocess.PIPE, text=True)
            for name in ("u", "v")
        ]
        said: dict[str, list[str]] = {"u": [], "v": []}
        for name, writer in zip(said, writers, strict=True):
            for _ in range(int(rng.randint(5, 40))):
                assert writer.stdout is not None
                said[name].append(writer.stdout.readline().strip())
                reader.refresh()
            writer.send_signal(signal.SIGKILL)
        for name, writer in zip(said, writers, strict=True):
            said[name] += writer.communicate()[0].split()
    with Collection(path) as shop:
        shop.check()
        there = set(shop.ids.tolist())
        for name, lines in said.items():
            added = {line for line in lines if not line.startswith("-")}
            gone = {line[1:] for line in lines if line.startswith("-")}
            # One change after the last line that was read may be there.
            assert len((added - gone) - there) <= 1
            unsaid = {item for item in there if item.startswith(name)} - (added - gone)
            assert len(unsaid) <= 1


def test_evidence_and_about_are_json(path):
    with closing(sqlite3.connect(path)) as other:
        parts = dict(other.execute("SELECT name, data FROM part"))
    assert set(parts) == {"about", "evidence", "model", "state"}
    assert json.loads(parts["about"])["n_bits"] == 12
