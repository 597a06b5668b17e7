"""The documentation: its Python runs, its links lead somewhere, and every public name is in it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import thpi

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Pages under docs/results are made by a command, with figures beside them, and have tests of their own.
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "results" not in p.relative_to(DOCS).parts)]
OTHER_PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "RELEASE.md"]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _python_blocks(page: Path) -> list[tuple[int, str]]:
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(2)), found.group(2))
        for found in FENCE.finditer(text)
        if found.group(1) in ("python", "py")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if _python_blocks(page)], ids=_name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for line, block in _python_blocks(page):
        # Blank lines in front make a traceback point at the line of the page.
        exec(compile("\n" * line + block, str(page), "exec"), namespace)


def test_the_pages_that_show_how_to_use_it_have_blocks():
    for name in ("index", "guide", "architecture"):
        assert _python_blocks(DOCS / f"{name}.md"), name


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as the site's toc extension makes them."""
    text = ANY_FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in OTHER_PAGES)], ids=_name)
def test_internal_links_resolve(page):
    text = ANY_FENCE.sub("", page.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        target, _, anchor = (found.group(1) or found.group(2)).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / target if target else page
        assert file.exists(), f"{_name(page)} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in _anchors(file), f"{_name(page)} links to {target}#{anchor}"


def test_every_page_is_in_the_navigation_and_every_entry_has_a_page():
    # Read as text: the tests do not need the packages that build the site.
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    entries = {
        line.split(":")[-1].strip() for line in lines if line.endswith(".md") and not line.lstrip().startswith("#")
    }
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)}
    assert {entry for entry in entries if not entry.startswith("results/")} == pages


def _documented() -> set[str]:
    """Full names that the API pages render with mkdocstrings."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    return set(re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE))


@pytest.mark.parametrize("name", thpi.__all__)
def test_every_public_name_of_thpi_is_in_the_api(name):
    documented = _documented()
    home = getattr(thpi, name).__module__ if name != "HASHERS" else "thpi"
    assert f"thpi.{name}" in documented or home in documented


MODULES = ["codes", "graph", "metrics", "datasets", "datasets.preprocessing", "evaluation", "model_file"]
MODULES += [f"solvers.{file.stem}" for file in sorted((ROOT / "src/thpi/solvers").glob("[a-z]*.py"))]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_with_public_names_is_in_the_api(name):
    module = importlib.import_module(f"thpi.{name}")
    assert module.__all__
    assert f"thpi.{name}" in _documented()
    # A page that shows a module leaves out, without a word, what has no docstring.
    shown = _constants_with_docstring() | _documented()
    for public in module.__all__:
        thing = getattr(module, public)
        has_one = thing.__doc__ if inspect.isroutine(thing) or inspect.isclass(thing) else public in shown
        assert has_one or f"thpi.{name}.{public}" in shown, f"thpi.{name}.{public} has no docstring"


@cache
def _constants_with_docstring() -> frozenset[str]:
    names = set()
    for file in (ROOT / "src").rglob("*.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for first, second in pairwise(body):
            if (
                isinstance(first, (ast.Assign, ast.AnnAssign))
                and isinstance(second, ast.Expr)
                and isinstance(second.value, ast.Constant)
            ):
                target = first.target if isinstance(first, ast.AnnAssign) else first.targets[0]
                names.add(ast.unparse(target))
    return frozenset(names)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
@pytest.mark.parametrize("method", thpi.HASHERS)
def test_every_method_has_a_row_in_the_table_of_methods(page, method):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(rf"^\| *\[?`{method}`", text, re.MULTILINE), f"{page} has no row | `{method}` | ..."


@pytest.mark.parametrize("method", thpi.HASHERS)
def test_every_method_is_explained(method):
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert re.search(rf"^#+ .*\b{method}\b", text, re.MULTILINE)


def test_the_change_log_and_the_citation_know_the_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{thpi.__version__}]" in changes
    assert f"\nversion: {thpi.__version__}\n" in citation
