"""The scripts of the gallery run on bundled data, draw something, and have the form that sphinx-gallery reads."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_a_title_a_text_and_cells(script):
    source = script.read_text(encoding="utf-8")
    title, underline, *text = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert script.name.startswith("plot_")
    assert underline == "=" * len(title)
    assert any(text)
    assert source.count("# %%\n# ") >= 3
    assert "plt.show" not in source


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_and_draws(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THPI_DATA", str(tmp_path))  # nothing but what comes with the package
    before = set(plt.get_fignums())
    try:
        runpy.run_path(str(script))
        drawn = set(plt.get_fignums()) - before
        assert drawn
        for number in drawn:
            plt.figure(number).savefig(tmp_path / f"{number}.png")
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".png"]
