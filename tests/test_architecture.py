"""The rooms of the package import each other in the order that the architecture page draws."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "thpi"


def rooms() -> list[str]:
    """The rooms in the order of the table, lowest first."""
    page = (ROOT / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| module |") :].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [name.removesuffix("/").removesuffix(".py") for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, anywhere in it but in ``if TYPE_CHECKING``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in only_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if _is_module(name)}
            found |= modules if modules == names else modules | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name == "thpi" or name.startswith("thpi.")}


def _is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


FILES = sorted(path for path in PACKAGE.rglob("*.py"))


def test_the_page_names_every_room():
    there = {path.stem if path.suffix == ".py" else path.name for path in PACKAGE.iterdir()}
    there -= {"__pycache__", "py.typed", "__init__"}
    assert sorted(rooms()) == sorted(there)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_from_its_room_and_from_lower_ones(path):
    order = {name: number for number, name in enumerate(rooms())}
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        assert imports(path) == set()  # public names are found when first used
        return
    above = {
        module
        for module in imports(path)
        # The package itself holds nothing but names, which are found when they are first used.
        if room_of(module) != "__init__" and order[room_of(module)] > order[parts[0]]
    }
    assert not above, f"{'/'.join(parts)} imports from rooms above it: {sorted(above)}"


def test_files_of_one_room_do_not_import_each_other_in_a_circle():
    graph = {}
    for path in FILES:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(("thpi", *(part for part in parts if part != "__init__")))
        # A package's own names come from its files, which never import the package itself.
        graph[name] = {module for module in imports(path) if module != name and _is_module(module)}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise AssertionError(f"these files import each other: {circle}")
        if name in done or name == "thpi":
            return
        for other in graph.get(name, ()):
            visit(other, (*path, name))
        done.add(name)

    for name in graph:
        visit(name, ())
