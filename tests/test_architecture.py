"""The rooms of the package import each other in the order that the architecture page draws, by public names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
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
    assert all((PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists() for room in rooms() if "/" in room)


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


# ---------------------------------------------------------------- public names, short functions, few lines
# What a list of exceptions holds is still to be mended: it may only become shorter.

SHARED = {"_types", "_files", "_optional", "_signals"}  # private to the package, not to a room
TUPLES = {"_asdict", "_fields", "_make", "_replace"}  # public names of named tuples

PRIVATE_IMPORTS: set[str] = set()
PRIVATE_ATTRIBUTES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()
LONG_WELCOMES: set[str] = set()

MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_WELCOME = 3
MOST_LINES = 20_850  # it may only become smaller


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _home(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def private_imports(path: Path) -> Iterator[str]:
    """Names of another room, or modules, that begin with an underscore; also those imported for types only."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thpi."):
            assert node.module is not None
            for alias in node.names:
                first, *rest = [*node.module.split(".")[1:], alias.name]
                private = any(part.startswith("_") for part in ([first] if first not in SHARED else []) + rest)
                if private and first != _home(path):
                    yield f"{_name(path)}: {node.module}.{alias.name}"


@cache
def _owners() -> dict[str, set[str]]:
    """The rooms in which a private name is defined: a function, a class, or an attribute that is set."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                continue
            found.setdefault(name, set()).add(_home(path))
    return found


def private_attributes(path: Path) -> Iterator[str]:
    """Private attributes of other objects than ``self`` that only other rooms define."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Attribute) or not re.fullmatch(r"_[^_].*[^_]", node.attr) or node.attr in TUPLES:
            continue
        if ast.unparse(node.value) in ("self", "cls", "super()"):
            continue
        owners = _owners().get(node.attr, set())
        if owners and _home(path) not in owners:
            yield f"{_name(path)}: {ast.unparse(node)}"


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION:
                yield f"{_name(path)}: {node.name}"


def long_welcomes(path: Path) -> Iterator[str]:
    """Rooms whose ``__init__`` does not say in three lines what it is for and what it may import."""
    if path.name == "__init__.py" and path.parent != PACKAGE:
        lines = [line for line in (ast.get_docstring(parsed(path)) or "").splitlines() if line.strip()]
        if not 1 <= len(lines) <= MOST_LINES_OF_A_WELCOME or "import" not in " ".join(lines).lower():
            yield _name(path)


@pytest.mark.parametrize(
    ("rule", "exceptions"),
    [
        (private_imports, PRIVATE_IMPORTS),
        (private_attributes, PRIVATE_ATTRIBUTES),
        (long_functions, LONG_FUNCTIONS),
        (long_welcomes, LONG_WELCOMES),
    ],
    ids=["imports", "attributes", "functions", "welcomes"],
)
def test_every_file_keeps_the_rules(rule, exceptions):
    found = {broken for path in FILES for broken in rule(path)}
    assert sorted(found - exceptions) == []


def test_the_package_stays_small():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= MOST_LINES


def test_the_rules_see_what_breaks_them(tmp_path, monkeypatch):
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").write_text('"""A room."""\n')
    (room / "_file.py").write_text(
        "from thpi.hashers._itq import ITQ\nfrom thpi.codes import _words\nfrom thpi.base import Views\n"
        "from thpi._types import Array\nfrom thpi._input import check_views\nfrom thpi.room._other import part\n"
        "ITQ._fit, ITQ._own, ITQ._replace\ndef _own():\n" + 60 * "    pass\n" + "def short():\n" + 59 * "    pass\n"
    )
    (tmp_path / "base.py").write_text("def _fit():\n    return self._fit\n")
    files = sorted(tmp_path.rglob("*.py"))
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    monkeypatch.setitem(globals(), "FILES", files)
    for kept in (parsed, _owners):
        kept.cache_clear()
    found = [
        [broken for path in files for broken in rule(path)]
        for rule in (private_imports, private_attributes, long_functions, long_welcomes)
    ]
    for kept in (parsed, _owners):
        kept.cache_clear()
    private = ["thpi.hashers._itq.ITQ", "thpi.codes._words", "thpi._input.check_views"]
    assert found == [
        [f"room/_file.py: {name}" for name in private],
        ["room/_file.py: ITQ._fit"],
        ["room/_file.py: _own"],
        ["room/__init__.py"],
    ]
