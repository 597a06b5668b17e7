"""Turn the marks of our docstrings into what the site's parser, strict numpydoc and Markdown, expects.

Docstrings are written for ``help()`` and doctest. In Markdown a bare ``>>>`` would become three nested quotations, and
in strict numpydoc whatever follows the list of parameters counts as one more parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import griffe

_ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")
_TABLE_EDGE = re.compile(r"\s*={2,}(\s+={2,})+\s*")
_UNDERLINE = re.compile(r"-{3,}\s*")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.*))?")
_TYPE = re.compile(r"""(array|csr|sparse|dict|list|tuple|int|float|bool|str|callable|ignored|path|[{"A-Z])""")
# Of thpi._params; the first argument is the default.
_DECLARATIONS = ("count", "one_of", "parameter", "positive", "weight")
_ENTRY_SECTIONS = ("Parameters", "Attributes")
_INDENTED_SECTIONS = (*_ENTRY_SECTIONS, "Returns", "Raises", "Yields")


class DocstringMarkup(griffe.Extension):
    """Rewrites every docstring once the package is read, and shows parameters with their plain defaults."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Replace a declaration of a parameter, such as ``count(32)``, by the default in it."""
        value = attr.value
        if isinstance(value, griffe.ExprCall) and str(value.function) in _DECLARATIONS:
            attr.value = value.arguments[0]

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Fence doctests and tables, unmark roles and literal blocks, and give stray parts of sections a heading."""
    lines = _ROLE.sub(r"`\1`", text).split("\n")
    out: list[str] = []
    section = ""
    i = 0
    while i < len(lines):
        line, end = lines[i], i + 1
        if line and end < len(lines) and _UNDERLINE.fullmatch(lines[end]):
            section = line.strip()
            out.append(line)
        elif line.lstrip().startswith(">>>"):
            if section and not line.startswith(" "):
                section = _open(out, section, "Examples")
            end = _first(lines, i, lambda row: not row.strip())
            out += _fenced("pycon", lines[i:end], out)
        elif _TABLE_EDGE.fullmatch(line):
            end = _first(lines, i, lambda row: not row.strip())
            out += _fenced("text", lines[i:end], out)
        elif line.strip() == "::":
            pass
        elif section in _ENTRY_SECTIONS and line and not line.startswith(" "):
            entry = _ENTRY.fullmatch(line)
            if entry is None and not _UNDERLINE.fullmatch(line):
                section = _open(out, section, "Notes")
            described = end < len(lines) and lines[end].startswith("    ")
            out += _entry(*entry.groups(), described) if entry else [line]
        elif line.startswith("    ") and section not in _INDENTED_SECTIONS and (not out or not out[-1].strip()):
            end = _first(lines, i, lambda row: bool(row.strip()) and not row.startswith("    "))
            out += [row.replace("``", "") for row in lines[i:end]]
        else:
            out.append(re.sub(r"::$", ":", line))
        i = end
    return "\n".join(out)


def _entry(names: str, after: str | None, described: bool) -> list[str]:
    """``name : sentence`` in place of ``name : type`` gets the sentence as its description."""
    if after is None or (described and _TYPE.match(after) and not after.endswith((".", ";"))):
        return [names if after is None else f"{names} : {after}"]
    return [names, f"    {after}"]


def _open(out: list[str], section: str, title: str) -> str:
    if section != title:
        out += ["", title, "-" * len(title)]
    return title


def _first(lines: list[str], start: int, ends: Callable[[str], bool]) -> int:
    return next((i for i in range(start, len(lines)) if ends(lines[i])), len(lines))


def _fenced(language: str, block: list[str], before: list[str]) -> list[str]:
    margin = block[0][: len(block[0]) - len(block[0].lstrip())]
    gap = [""] if before and before[-1].strip() else []
    return [*gap, f"{margin}```{language}", *block, f"{margin}```"]
