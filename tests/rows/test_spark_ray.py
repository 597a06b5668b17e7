"""The programs of ``docs/how-to/large-data.md`` for Spark and Ray, run as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thpi
from thpi.export import read_parquet

pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'thpi[frames]'")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("engine", ["spark", "ray"])
def test_codes_are_those_of_the_model(engine: str, tmp_path: Path) -> None:
    pytest.importorskip({"spark": "pyspark"}.get(engine, engine), reason=f"needs the package of {engine}")
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    page = (ROOT / "docs" / "how-to" / "large-data.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```[^\n]*py[^\n]*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (program,) = (block for block in blocks if re.search(rf"^(from|import) (py)?{engine}\b", block, re.MULTILINE))
    X = np.random.RandomState(0).standard_normal((60, 5)).astype(np.float32)
    frame = pd.DataFrame(X, columns=list("abcde"))
    shop = thpi.build(tmp_path / "shop.thpi", frame, bits=5)
    (tmp_path / "rows").mkdir()
    for part in range(3):
        rows = frame.iloc[20 * part : 20 * part + 20]
        rows.assign(id=[f"item {i}" for i in rows.index]).to_parquet(tmp_path / "rows" / f"{part}.parquet")
    (tmp_path / "program.py").write_text(program)
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    tables = [read_parquet(file) for file in (tmp_path / "codes").iterdir()]
    found = {item: code for table in tables for item, code in zip(table.ids, table.codes.tolist(), strict=True)}
    expected = shop.hasher.transform(frame).tolist()
    assert found == {f"item {i}": code for i, code in enumerate(expected)}
    assert {(table.n_bits, table.model) for table in tables} == {(5, shop.model)}
