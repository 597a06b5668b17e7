from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import Milvus

pytestmark = pytest.mark.slow


def test_what_was_added_is_there_for_the_next_engine(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    manager = pytest.importorskip("milvus_lite.server_manager", reason="needs milvus-lite<3").server_manager_instance
    codes = pack(np.random.RandomState(0).rand(30, 13) < 0.5)
    uri = str(tmp_path / "kept.db")
    with Milvus(uri, "codes", 13) as store:
        store.add(codes, [f"a {i}" for i in range(30)])
        store.remove(["a 3", "a 4"])
    manager.release_server(uri)
    with Milvus(uri, "codes") as store:
        assert store.n_bits == 13
        assert [item for item, _ in store] == [f"a {i}" for i in range(30) if i not in (3, 4)]
        np.testing.assert_array_equal(store.get_codes(["a 0", "a 29"]), codes[[0, 29]])
    manager.release_server(uri)


def test_an_engine_that_is_slow_to_start_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    server = pytest.importorskip("milvus_lite.server", reason="needs milvus-lite<3")
    from milvus_lite.server_manager import server_manager_instance as manager

    slow = tmp_path / "bin" / "milvus"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\nsleep 6\nLD_LIBRARY_PATH='{server.BIN_PATH}' exec '{server.BIN_PATH}/milvus' \"$@\"\n")
    slow.chmod(0o755)
    monkeypatch.setenv("BIN_PATH", str(slow.parent))
    for name, patience in (("soon.db", 60.0), ("late.db", 1.0)):
        uri = str(tmp_path / name)
        monkeypatch.setattr("thpi.export._milvus_lite._PATIENCE", patience)
        if patience == 60:
            with Milvus(uri, "codes", 8) as store:
                assert store.add(np.zeros((1, 1), dtype=np.uint8), [1]).tolist() == [1]
        else:
            with pytest.raises(ConnectionError, match=r"late.db': Milvus does not start in 1 s"):
                Milvus(uri, "codes", 8)
        manager.release_server(uri)


_HOLD = """
import sys
from milvus_lite.server_manager import server_manager_instance as manager
print(manager.start_and_get_uri(sys.argv[1]), flush=True)
sys.stdin.read()
manager.release_all()
"""


def test_a_file_that_is_open_in_another_program_is_an_error_at_once(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    pytest.importorskip("milvus_lite.server_manager", reason="needs milvus-lite<3")
    uri = str(tmp_path / "held.db")
    command = [sys.executable, "-c", _HOLD, uri]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().startswith("unix:")
        with pytest.raises(ConnectionError, match=r"held.db' does not open; another program may have it open"):
            Milvus(uri, "codes", 8)
    with pytest.raises(ValueError, match="the folder .* does not exist"):
        Milvus(str(tmp_path / "none" / "x.db"), "codes", 8)


def test_width_of_an_existing_collection_is_kept(milvus_uri: str) -> None:
    with Milvus(milvus_uri, "narrow", 16) as store:
        store.add(np.zeros((1, 2), dtype=np.uint8), [1])
    with pytest.raises(ValueError, match=r"n_bits=24 .* 16 bits"):
        Milvus(milvus_uri, "narrow", 24)
    with pytest.raises(ValueError, match="n_bits=None"):
        Milvus(milvus_uri, "not_there")


@pytest.mark.parametrize("name", ["", "a b", "1a", "x; drop", "ü", "a" * 256])
def test_names_are_checked(milvus_uri: str, name: str) -> None:
    with pytest.raises(ValueError, match="table="):
        Milvus(milvus_uri, name, 8)


@pytest.mark.parametrize("item", ["it's", "two\nlines", "\x7f", "x" * 16_384])
def test_ids_that_the_engine_would_misread_are_refused(milvus_uri: str, item: str) -> None:
    with Milvus(milvus_uri, "texts", 8) as store:
        store.add(np.zeros((1, 1), dtype=np.uint8), ["x" * 16_383])
        for call in (store.get_codes, store.remove, lambda ids: store.add(np.zeros((1, 1), dtype=np.uint8), ids)):
            with pytest.raises(ValueError, match="which this store does not take"):
                call([item])
        store.remove(["x" * 16_383])


def test_more_than_the_engine_answers_is_an_error(milvus_uri: str) -> None:
    n = 16_385
    with Milvus(milvus_uri, "large", 8) as store:
        store.add(np.zeros((n, 1), dtype=np.uint8), np.arange(n))
        assert len(store) == n
        with pytest.raises(ValueError, match="16384"):
            store.search(np.zeros((1, 1), dtype=np.uint8), n)
        assert store.search(np.zeros((1, 1), dtype=np.uint8), 10).distances.tolist() == [[0] * 10]
        assert sum(1 for _ in store) == n


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ImportError, match=r"thpi\[milvus\]"):
        Milvus("x.db", "codes", 8)
