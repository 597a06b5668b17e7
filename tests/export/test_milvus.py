from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import CodeTable, Milvus

pytestmark = pytest.mark.slow


def items(n: int, n_bits: int, ids: list[str] | None = None) -> CodeTable:
    return CodeTable.checked(pack(np.random.RandomState(0).rand(n, n_bits) < 0.5), ids, n_bits)


def test_what_was_added_is_there_for_the_next_engine(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus", reason="needs pymilvus: pip install 'thpi[milvus]'")
    manager = pytest.importorskip("milvus_lite.server_manager", reason="needs milvus-lite<3").server_manager_instance
    table = items(30, 13, [f"a {i}" for i in range(30)])
    uri = str(tmp_path / "kept.db")
    with Milvus(uri, "codes") as store:
        store.mirror(table)
    manager.release_server(uri)
    with Milvus(uri, "codes") as store:
        assert store.about is not None
        assert store.about["n_bits"] == 13
        assert dict((item, code) for item, code, _ in store) == dict(
            zip(table.ids, map(bytes, table.codes), strict=True)
        )
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
        monkeypatch.setattr("thpi.export._milvus._PATIENCE", patience)
        if patience == 60:
            with Milvus(uri, "codes") as store:
                assert store.mirror(items(1, 8)).added == 1
        else:
            with pytest.raises(ConnectionError, match=r"late.db' does not open, or not in time"):
                Milvus(uri, "codes")
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
        with pytest.raises(ConnectionError, match=r"held.db' does not open.*another program may have it open"):
            Milvus(uri, "codes")
    with pytest.raises(ValueError, match="the folder .* does not exist"):
        Milvus(str(tmp_path / "none" / "x.db"), "codes")


@pytest.mark.parametrize("item", ["it's", "two\nlines", "\x7f", "x" * 16_384])
def test_ids_that_the_engine_would_misread_are_refused(milvus_uri: str, item: str) -> None:
    with Milvus(milvus_uri, "texts") as store:
        store.mirror(items(1, 8, ["x" * 16_383]))
        with pytest.raises(ValueError, match="which Milvus does not take"):
            store.mirror(items(2, 8, ["x" * 16_383, item]))
        assert store.mirror(items(1, 8, ["x" * 16_383])) == (0, 0, False)


def test_more_than_one_request_of_rows(milvus_uri: str) -> None:
    table = items(12_001, 8)
    with Milvus(milvus_uri, "large") as store:
        assert store.mirror(table) == (12_001, 0, False)
        assert store.mirror(table) == (0, 0, False)
        few = CodeTable.checked(table.codes[6_000:], table.ids[6_000:], 8)
        assert store.mirror(few, force=True) == (0, 6_000, False)
        assert [item for item, _, _ in store] == few.ids.tolist()


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ImportError, match=r"thpi\[milvus\]"):
        Milvus("x.db", "codes")
