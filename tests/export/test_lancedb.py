from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.codes import pack
from thpi.export import CodeTable, LanceDB

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def package() -> Any:
    """Skip without the package. It is imported here because that takes a second."""
    return pytest.importorskip("lancedb", reason="needs lancedb: pip install 'thpi[lancedb]'")


def items(n: int, n_bits: int) -> CodeTable:
    return CodeTable.checked(pack(np.random.RandomState(0).rand(n, n_bits) < 0.5), None, n_bits)


def test_nothing_is_left_behind_by_a_mistake(tmp_path: Path) -> None:
    for name in ("", "a b", "1a", "../up", "ü", "a" * 129):
        with pytest.raises(ValueError, match="table="):
            LanceDB(str(tmp_path / "new"), name)
    with pytest.raises(ValueError, match="the folder .* does not exist"):
        LanceDB(str(tmp_path / "none" / "new"), "codes")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="address=.* is a file"):
        LanceDB(str(tmp_path / "file"), "codes")


def test_foreign_table_is_refused(tmp_path: Path, package: Any) -> None:
    package.connect(tmp_path).create_table("orders", data=[{"id": 1, "price": 2.5}])
    with LanceDB(str(tmp_path), "orders") as store:
        for force in (False, True):
            with pytest.raises(ValueError, match="the table 'orders', which thpi did not make, has no readable"):
                store.mirror(items(3, 8), force=force)
    assert package.connect(tmp_path).open_table("orders").count_rows() == 1


def test_what_another_connection_adds_is_seen(tmp_path: Path) -> None:
    with LanceDB(str(tmp_path / "shop"), "codes") as one:
        one.mirror(items(2, 8))
        with LanceDB(str(tmp_path / "shop"), "codes") as two:
            assert two.mirror(items(5, 8)) == (3, 0, False)
        assert one.mirror(items(6, 8)) == (1, 0, False)
        assert [item for item, _, _ in one] == [0, 1, 2, 3, 4, 5]


def test_missing_package_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(ImportError, match=r"thpi\[lancedb\]"):
        LanceDB("x", "codes")
