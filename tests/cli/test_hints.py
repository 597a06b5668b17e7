"""Texts of the commands name only options that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer

import thpi.cli
from thpi.cli import COMMANDS, app, run

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
FILES = sorted(Path(thpi.cli.__file__).parent.glob("*.py"))
ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments" / "notes").glob("*.md")]
PAGES = sorted(page for page in PAGES if re.search(r"\bthpi [a-z]+ .*--", page.read_text(encoding="utf-8")))


def _options(name):
    """The options of a command and of its subcommands."""
    group = typer.main.get_command(app)
    command = group.get_command(None, name)
    parts = [command, *getattr(command, "commands", {}).values()]
    return {option for part in parts for each in part.params for option in (*each.opts, *each.secondary_opts)}


def _texts(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_option_that_is_mentioned_exists(path):
    everywhere = {"--help", "--version", "--install-completion", "--show-completion"}
    # A file that several commands share speaks of any of them.
    known = {name: _options(name) | everywhere for name in COMMANDS}
    own = known.get(path.stem, set().union(*known.values()))
    for text in _texts(path):
        for line in text.splitlines():
            named = re.search(r"thpi (\w+)", line)  # "see thpi export --formats"
            allowed = known.get(named[1], set()) if named else set()
            assert set(OPTION.findall(line)) <= own | allowed, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_option_of_a_command_line_in_the_docs_exists(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line, name in re.findall(rf"(?=(thpi ({'|'.join(COMMANDS)})\b[^\n`#]*))", text):
        assert set(OPTION.findall(line)) <= _options(name) | {"--help"}, line


@pytest.mark.parametrize("name", ["build", "diagnose", "evaluate", "add", "search"])
def test_every_command_that_reads_tables_takes_a_column_of_ids(name):
    assert {"--id", "--ids"} <= _options(name)


def test_errors_about_tables_name_options_of_the_command(shop, tmp_path, refused):
    """A model that knows no names, and a table with a column of texts."""
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    pq.write_table(pc.read_csv(shop / "shop.csv"), tmp_path / "shop.parquet")
    model = tmp_path / "m.thpi"
    assert run(["build", str(model), str(shop / "target.npy"), "--bits", "24"]) == 0
    for table in (shop / "shop.csv", tmp_path / "shop.parquet"):
        for name, words in {
            "build": ["build", tmp_path / "out", table],
            "diagnose": ["diagnose", shop / "target.npy", "--privileged", table],
            "add": ["add", model, table],
            "search": ["search", model, table],
        }.items():
            text = refused(words)
            assert "--id sku" in text
            assert set(OPTION.findall(text)) <= _options(name), text
