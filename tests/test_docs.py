"""The documentation: its Python runs, its links lead somewhere, and every public name is in it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

import thpi
import thpi.auto
from thpi.datasets import DATASETS
from thpi.registry import methods_table
from thpi.stores import FORMATS, STORES

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


@pytest.mark.slow
def test_the_script_from_two_tables_to_search_finds_names(tmp_path, monkeypatch, capsys):
    (block,) = (block for _, block in _python_blocks(DOCS / "guide.md") if "thpi.pair(" in block)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "guide.md", "exec"), {"__name__": "page", "thpi": thpi})
    first, *found = capsys.readouterr().out.splitlines()
    shown = re.findall(r"print\(.*\)  # (.*)", block)
    assert first == shown[0]
    assert shown[1] in found
    assert len(found) == 10
    kinds = [[name.split("-")[0] for name in re.split(" -> |, ", line)] for line in found]
    assert sum(query == nearest for query, nearest, *_ in kinds) >= 8


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
    homes = {"thpi", f"thpi.{thpi._HOME.get(name, 'hashers')}"}
    assert homes & documented or any(f"{home}.{name}" in documented for home in homes)


MODULES = ["codes", "datasets", "datasets.preprocessing", "diagnosis", "evaluation", "graph", "ground_truth", "metrics"]
MODULES += ["assessment", "drift", "encoder", "identity", "model_file", "onnx_file", "pages", "pairing"]
MODULES += ["comparison", "quantiser", "refit", "registry", "stores"]
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


@pytest.mark.parametrize("name", thpi.auto.__all__)
def test_every_public_name_of_thpi_auto_is_in_the_api(name):
    assert {f"thpi.{name}", f"thpi.auto.{name}"} & _documented()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_table_of_methods_is_that_of_the_registry(page):
    header, rule, *expected = methods_table().splitlines()
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = lines.index(header)
    assert lines[start + 1] == rule
    # The name of a class may be a link.
    found = [re.sub(r"^\| \[(`\w+`)\]\([^)]*\)", r"| \1", row) for row in _rows(lines[start + 2 :])]
    assert found == expected


def test_the_relevances_of_the_guide_are_those_of_the_registry():
    assert [row.split("`")[1] for row in _table_rows("guide.md", "`relevance`")] == [
        f'"{name}"' for name in thpi.RELEVANCES
    ]


@pytest.mark.parametrize("method", thpi.HASHERS)
def test_every_method_is_explained(method):
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    assert re.search(rf"^#+ .*\b{method}\b", text, re.MULTILINE)


def _table_rows(page: str, first: str) -> list[str]:
    """Rows below the header that begins with ``first``."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    return _rows(lines[start:])


def _rows(lines: list[str]) -> list[str]:
    return list(takewhile(lambda line: line.startswith("|"), lines))


def test_the_table_of_data_sets_is_that_of_the_registry():
    expected = [
        f"| `{name}` | [{entry.title}]({entry.home_page}) | {entry.target} | {entry.source} | {entry.preprocessing} "
        f"| {entry.paper.describe() if entry.paper else '-'} | {entry.transfer.use if entry.transfer else '-'} "
        f"| {'yes' if entry.demo else '-'} | {entry.describe_licence()} |"
        for name, entry in DATASETS.items()
    ]
    assert _table_rows("api/datasets.md", "data set") == expected


def test_the_tables_of_stores_and_files_are_those_of_the_registries():
    addresses = {
        name: [f"`{start}...`" for start in store.prefixes] + [f"`*{end}`" for end in store.suffixes]
        for name, store in STORES.items()
    }
    expected = [
        f"| `{name}` | {', '.join(addresses[name])} | {store.description} | {_extra(store.extra)} |"
        for name, store in STORES.items()
    ]
    assert _table_rows("api/stores.md", "store") == expected
    expected = [
        f"| `{name}` | `*{file.suffix}` | {file.description} | {_extra(file.extra)} |" for name, file in FORMATS.items()
    ]
    assert _table_rows("api/stores.md", "format") == expected


def _extra(name: str | None) -> str:
    return "-" if name is None else f"`thpi[{name}]`"


@pytest.mark.parametrize("name", [*FORMATS, *STORES])
def test_the_extras_of_stores_exist(name):
    extra = {**FORMATS, **STORES}[name].extra
    assert extra is None or f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_change_log_and_the_citation_know_the_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{thpi.__version__}]" in changes
    assert f"\nversion: {thpi.__version__}\n" in citation
