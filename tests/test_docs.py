"""The documentation: its blocks run, its links lead somewhere, and every public name is in it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

import thpi
import thpi.auto
from experiments.datasets import DATASETS
from tests._pages import blocks, run_page
from thpi.export import DESTINATIONS
from tools import commands_page
from tools.methods_table import methods_table

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Folders that commands write: reports with their figures, and what the build of the site makes.
MADE = {"results", "transfer", "gallery", "notes"}
SITE = sorted(page for page in DOCS.rglob("*.md") if not MADE & set(page.relative_to(DOCS).parts))
NOTES = sorted((ROOT / "experiments" / "notes").glob("*.md"))
PAGES = [ROOT / "README.md", *SITE, *NOTES]
OTHER_PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "RELEASE.md"]
MOST_WORDS = 12_000
TUTORIAL = DOCS / "tutorial.md"  # has a test file of its own

ANY_FENCE = re.compile(r"^ *(```|:::).*?^ *\1$", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^(```|:::)\{toctree\}\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page) and page != TUTORIAL], ids=_name)
def test_a_page_shows_what_its_blocks_print(page, tmp_path):
    run_page(page, tmp_path)


def test_the_pages_that_show_how_to_use_it_have_blocks():
    for page in (DOCS / "tutorial.md", DOCS / "develop" / "architecture.md"):
        assert blocks(page), _name(page)


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", ANY_FENCE.sub("", _text(page)), re.MULTILINE)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in shown}


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in OTHER_PAGES)], ids=_name)
def test_internal_links_resolve(page):
    for found in LINK.finditer(ANY_FENCE.sub("", _text(page))):
        target, _, anchor = (found[1] or found[2]).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / target if target else page
        assert file.exists() or _is_made(file), f"{_name(page)} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in _anchors(file), f"{_name(page)} links to {target}#{anchor}"


def _is_made(file: Path) -> bool:
    """A page of the gallery, which the build makes from an example."""
    return Path(os.path.abspath(file)).is_relative_to(DOCS / "gallery")


def test_every_page_is_in_the_navigation_and_every_entry_has_a_page():
    # Read as text: the tests do not need the packages that build the site.
    listed = {page for parent in SITE for page in _entries(parent)}
    assert listed - {"gallery/index"} == {_docname(page) for page in SITE} - {"index"}


def _docname(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


def _entries(parent: Path) -> list[str]:
    """Pages that the toctrees of a page list."""
    found = []
    for tree in TOCTREE.finditer(_text(parent)):
        for line in tree[2].splitlines():
            if not line or line.startswith(":"):
                continue
            entry = re.sub(r"^.*<(.*)>$", r"\1", line).removesuffix(".md")
            folder = DOCS if entry.startswith("/") else parent.parent
            files = folder.glob(f"{entry.lstrip('/')}.md") if "*" in entry else [folder / f"{entry.lstrip('/')}.md"]
            found += [_docname(file) for file in files]
    return found


def test_the_navigation_is_short_enough_to_be_read(capsys):
    """Prose and tables. Code, the reference of the commands and tables of a registry are not counted."""
    counts = {_name(page): _words(page) for page in SITE}
    with capsys.disabled():
        for name, count in sorted(counts.items(), key=lambda item: -item[1]):
            print(f"{count:6,}  {name}")
        print(f"{sum(counts.values()):6,}  together")
    assert sum(counts.values()) <= MOST_WORDS


def _words(page: Path) -> int:
    if page == commands_page.PAGE:
        return 0
    text = _text(page)
    for included in re.findall(r"^```\{include\} (\S+)$", text, re.MULTILINE):
        text += _text(page.parent / included)
    text = re.sub(r"<svg.*?</svg>|<!--.*?-->", "", ANY_FENCE.sub("", text), flags=re.DOTALL)
    made = {_plain(row) for row in (*_destination_rows(), *methods_table().splitlines())}
    text = "\n".join(line for line in text.splitlines() if _plain(line) not in made)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]+`", "code", text))
    return len([word for word in text.split() if re.search(r"[^\W\d]", word)])


def _plain(row: str) -> str:
    """A row of a table in which the name of a class may be a link."""
    return re.sub(r"^\| \[(`\w+`)\]\([^)]*\)", r"| \1", row)


def _documented() -> set[str]:
    """Full names that the API pages render."""
    pages = "\n".join(_text(page) for page in (DOCS / "reference" / "api").glob("*.md"))
    return set(re.findall(r"^\.\. (?:auto)?(?:module|class|exception|function|data):: ([\w.]+)$", pages, re.MULTILINE))


@pytest.mark.parametrize("name", thpi.__all__)
def test_every_public_name_of_thpi_is_in_the_api(name):
    documented = _documented()
    homes = {"thpi", f"thpi.{thpi._HOME.get(name, 'hashers')}"}
    assert homes & documented or any(f"{home}.{name}" in documented for home in homes)


MODULES = ["codes", "collection", "datasets", "evaluation", "graph"]
MODULES += [
    "drift",
    "encoder",
    "export",
    "identity",
    "index",
    "model_file",
    "onnx_file",
    "pairing",
    "report",
    "report.plot",
]
MODULES += ["comparison", "refit", "registry", "rows", "tables", "web"]
MODULES += [f"solvers.{file.stem}" for file in sorted((ROOT / "src/thpi/solvers").glob("[a-z]*.py"))]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_with_public_names_is_in_the_api(name):
    module = importlib.import_module(f"thpi.{name}")
    assert module.__all__
    assert f"thpi.{name}" in _documented()
    # A page that shows a module leaves out, without a word, what has no docstring.
    for public in module.__all__:
        thing = getattr(module, public)
        if inspect.isroutine(thing) or inspect.isclass(thing):
            assert thing.__doc__, f"thpi.{name}.{public} has no docstring"
        else:
            found = public in _constants_with_docstring(module.__file__) or f"thpi.{name}.{public}" in _documented()
            assert found, f"thpi.{name}.{public} has no docstring in its module, and no entry on a page"


@cache
def _constants_with_docstring(file: str) -> frozenset[str]:
    return frozenset(
        ast.unparse(first.target if isinstance(first, ast.AnnAssign) else first.targets[0])
        for first, second in pairwise(ast.parse(_text(Path(file))).body)
        if isinstance(first, (ast.Assign, ast.AnnAssign))
        and isinstance(second, ast.Expr)
        and isinstance(second.value, ast.Constant)
    )


@pytest.mark.parametrize("name", thpi.auto.__all__)
def test_every_public_name_of_thpi_auto_is_in_the_api(name):
    assert {f"thpi.{name}", f"thpi.auto.{name}"} & _documented()


def test_the_table_of_methods_is_that_of_the_registry():
    header, rule, *expected = methods_table().splitlines()
    lines = _text(DOCS / "reference" / "methods.md").splitlines()
    start = lines.index(header)
    assert lines[start + 1] == rule
    assert [_plain(row) for row in _rows(lines[start + 2 :])] == expected


@pytest.mark.parametrize("method", thpi.HASHERS)
def test_every_method_is_explained(method):
    assert re.search(rf"^#+ .*\b{method}\b", _text(DOCS / "reference" / "methods.md"), re.MULTILINE)


@pytest.mark.parametrize("relevance", thpi.RELEVANCES)
def test_every_relevance_is_explained(relevance):
    assert re.search(rf"`(relevance=)?\"?{relevance}\"?`", _text(DOCS / "how-to" / "relevance.md"))


def _table_rows(page: Path, first: str) -> list[str]:
    """Rows below the header that begins with ``first``."""
    lines = _text(page).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    return _rows(lines[start:])


def _rows(lines: list[str]) -> list[str]:
    return list(takewhile(lambda line: line.startswith("|"), lines))


@cache
def _dataset_rows() -> list[str]:
    return [
        f"| `{name}` | [{entry.title}]({entry.home_page}) | {entry.target} | {entry.source} | {entry.preprocessing} "
        f"| {entry.paper.describe() if entry.paper else '-'} | {entry.transfer.use if entry.transfer else '-'} "
        f"| {entry.describe_licence()} |"
        for name, entry in DATASETS.items()
    ]


@cache
def _destination_rows() -> list[str]:
    forms = {
        name: [f"`{form}...`" if "://" in form else f"`*{form}`" for form in entry.forms]
        for name, entry in DESTINATIONS.items()
    }
    return [
        f"| `{name}` | {', '.join(forms[name])} | {entry.description} | {_extra(entry.extra)} |"
        for name, entry in DESTINATIONS.items()
    ]


def test_the_table_of_data_sets_is_that_of_the_registry():
    assert _table_rows(ROOT / "experiments" / "notes" / "datasets.md", "data set") == _dataset_rows()


def test_the_table_of_destinations_is_that_of_the_registry():
    assert _table_rows(DOCS / "reference" / "api" / "export.md", "destination") == _destination_rows()


def _extra(name: str | None) -> str:
    return "-" if name is None else f"`thpi[{name}]`"


@pytest.mark.parametrize("name", DESTINATIONS)
def test_the_extras_of_destinations_exist(name):
    extra = DESTINATIONS[name].extra
    assert extra is None or f"\n{extra} = [" in _text(ROOT / "pyproject.toml")


def test_the_change_log_and_the_citation_know_the_version():
    assert f"## [{thpi.__version__}]" in _text(ROOT / "CHANGELOG.md")
    assert f"\nversion: {thpi.__version__}\n" in _text(ROOT / "CITATION.cff")
