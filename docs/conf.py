"""The site: Markdown pages, the API from docstrings, and the examples as a gallery. Nothing is fetched from elsewhere.

``make docs`` builds it into ``site/``, which can be read without a server.
"""

from __future__ import annotations

import inspect
import logging
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import thpi  # noqa: E402

logging.getLogger("faiss").setLevel(logging.WARNING)  # examples import it; it tells how it was loaded

project = "thpi"
version = release = thpi.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = "thpi"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # would be fetched, which browsers refuse for files
project_copyright = f"The thpi developers. Version {thpi.__version__}"
COLOURED = ("color-brand-primary", "color-brand-content", "color-api-name", "color-api-pre-name")
html_theme_options = {
    f"{scheme}_css_variables": dict.fromkeys(COLOURED, color)
    for scheme, color in {"light": "#00695c", "dark": "#4db6ac"}.items()
}

myst_heading_anchors = 4
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
suppress_warnings = ["misc.highlighting_failure"]  # SQL with parameters

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

if any((ROOT / "examples").glob("*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(ROOT / "examples"),
        "gallery_dirs": "gallery",
        "filename_pattern": ".py",
        "within_subsection_order": "FileNameSortKey",
        "abort_on_example_error": True,
        "download_all_examples": False,
        "remove_config_comments": True,
        "show_memory": False,
        "show_signature": False,
        "write_computation_times": False,  # its page loads scripts from elsewhere
    }

# Reports with their figures and tables; pages link to them, and they are no pages of Sphinx.
REPORTS = ("results", "transfer")
exclude_patterns = [f"{folder}/*" for folder in REPORTS]
# Lab notes are pages outside the navigation. They are copied to the same depth, so that their links hold.
NOTES = ROOT / "experiments" / "notes"
TO_NOTES = re.compile(r"(\]\()(?:\.\./)+experiments/notes/")

ENTRY_SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Yields", "See Also", "References")


def copy_notes(app: Sphinx) -> None:
    """Make pages of the lab notes; an unchanged note keeps its date and is not read again."""
    for note in NOTES.glob("*.md"):
        copy, text = DOCS / "notes" / note.name, f"---\norphan: true\n---\n{note.read_text(encoding='utf-8')}"
        copy.parent.mkdir(exist_ok=True)
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def link_notes(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to lab notes lead to their pages."""
    source[0] = TO_NOTES.sub(r"\1/notes/", source[0])


def literal_formulas(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Show indented formulas line by line: in reStructuredText they would be quotations."""
    # An empty first line: a colon in the line about a constant does not follow a type, as napoleon has it.
    section, out = "", [""] if what in ("attribute", "data") else []
    for i, line in enumerate(lines):
        if line and i + 1 < len(lines) and re.fullmatch("-{3,}", lines[i + 1]):
            section = line
        before = next((row for row in reversed(out) if row.strip()), "")
        if (
            re.match(r" {4}[^ >]", line)
            and section not in ENTRY_SECTIONS
            and (i == 0 or not lines[i - 1].strip())
            and not before.startswith("    ")
            and not before.endswith("::")
        ):
            out += ["::", ""]
        out.append(line)
    lines[:] = out


def skip_inherited_texts(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: Any) -> bool | None:
    """Leave out what Python and scikit-learn write: ``Alias for field number 0``, ``set_fit_request``."""
    text = inspect.getdoc(obj) or ""
    written = text.startswith("Alias for field number") or re.fullmatch(r"set_\w+_request", name)
    return True if written else None


def plain_links(app: Sphinx, doctree: nodes.document) -> None:
    """Let reports open instead of being downloaded, and leave words such as "shape" in types alone."""
    for node in list(doctree.findall(addnodes.download_reference)):
        file = (Path(app.env.doc2path(app.env.docname)).parent / node["reftarget"]).resolve()
        if file.suffix == ".html" and file.is_relative_to(DOCS):
            up = "../" * app.env.docname.count("/")
            uri = up + file.relative_to(DOCS).as_posix()
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))
    for field in doctree.findall(nodes.field):
        for node in list(field.findall(addnodes.pending_xref)):
            if re.fullmatch(r"[a-z]\w*|[A-Z]", node["reftarget"]) and node["refdomain"] == "py":
                node.replace_self(addnodes.literal_emphasis("", node["reftarget"]))


def copy_reports(app: Sphinx, exception: Exception | None) -> None:
    """Put the reports beside the pages."""
    for folder in REPORTS:
        shutil.copytree(DOCS / folder, Path(app.outdir) / folder, dirs_exist_ok=True)


def check_offline(app: Sphinx, exception: Exception | None) -> None:
    """Fail if a page loads anything from elsewhere."""
    for page in Path(app.outdir).rglob("*.html"):
        found = re.search(
            r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^>]*>', page.read_text("utf-8")
        )
        if found is not None:
            raise ExtensionError(f"{page} loads from elsewhere: {found[0]}")


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("builder-inited", copy_notes)
    app.connect("source-read", link_notes)
    app.connect("autodoc-process-docstring", literal_formulas, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip_inherited_texts)
    app.connect("doctree-read", plain_links)
    app.connect("build-finished", copy_reports)
    app.connect("build-finished", check_offline)
