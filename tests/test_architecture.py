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
            late = {_OF_MODELS for alias in node.names if node.module == "thpi.evaluation" and _is_late(alias.name)}
            found |= modules | late if modules == names else modules | late | {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name == "thpi" or name.startswith("thpi.")}


_OF_MODELS = "thpi.evaluation.models"


def _is_late(name: str) -> bool:
    """Whether ``thpi.evaluation`` has this name from the part that knows models, found when it is first used."""
    tree = ast.parse((PACKAGE / "evaluation" / "models" / "__init__.py").read_text(encoding="utf-8"))
    offered = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    return name in ast.literal_eval(offered)


def _is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def room_of(module: str) -> str:
    """The room of a module, or the part of a room that the table names by itself, as ``evaluation/models``."""
    parts = module.split(".")[1:]
    return "/".join(parts[:2]) if "/".join(parts[:2]) in rooms() else parts[0] if parts else "__init__"


FILES = sorted(path for path in PACKAGE.rglob("*.py"))


def test_the_page_names_every_room():
    there = {path.stem if path.suffix == ".py" else path.name for path in PACKAGE.iterdir()}
    there -= {"__pycache__", "py.typed", "__init__"}
    assert {room.partition("/")[0] for room in rooms()} == there
    assert all((PACKAGE / room).is_dir() for room in rooms() if "/" in room)


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
        if room_of(module) != "__init__" and order[room_of(module)] > order[room_of(".".join(("thpi", *parts)))]
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
