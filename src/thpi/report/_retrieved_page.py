"""A page of queries and of what several methods retrieved for them, picture beside picture."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape

from thpi._types import Array, Ints
from thpi.report._pages import STYLE, html_page

_STYLE = """
main { max-width: 90rem; }
.line { display: grid; grid-template-columns: 4rem repeat(auto-fit, minmax(18rem, 1fr)); gap: .4rem 1.5rem;
  margin: .8rem 0; }
.found { display: grid; grid-template-columns: repeat(8, 1fr); gap: .3rem; align-content: start; }
.tile { aspect-ratio: 1; border: 3px solid var(--line); border-radius: .4rem;
  background: #fff center / contain no-repeat; }
.right { border-color: #009e73; } .wrong { border-color: #d55e00; opacity: .5; }
.heads { position: sticky; top: 0; background: var(--paper); font-weight: 600; z-index: 1; }
@media (max-width: 48rem) { .line { grid-template-columns: 3.5rem minmax(0, 1fr); gap: .4rem .6rem; }
  .line > * + * { grid-column: 2; } .heads { position: static; } }
"""


def retrieved_page(
    title: str,
    lead: str,
    queries: Ints,
    found: Mapping[str, Ints],
    pictures: Sequence[bytes],
    classes: Array,
    made_by: str,
) -> str:
    """Return a page with every query, by class, and the rows ``found`` for it (n_queries x k, by title).

    Items of the class of the query have a green frame. ``pictures`` are WebP files by row. Each is in the page once.
    """
    shown = sorted({int(row) for rows in (queries, *found.values()) for row in rows.ravel()})
    style = "".join(
        f".p{row} {{ background-image: url(data:image/webp;base64,{base64.b64encode(pictures[row]).decode()}) }}\n"
        for row in shown
    )
    heads = "".join(f"<span>{escape(name)}</span>" for name in found)
    body = [
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>',
        f'<div class="line heads"><span></span>{heads}</div>',
    ]
    before = None
    for place in sorted(range(len(queries)), key=lambda place: str(classes[queries[place]])):
        query = int(queries[place])
        if classes[query] != before:
            before = classes[query]
            body.append(f"<h2>{escape(str(before))}</h2>")
        blocks = "".join(_found(rows[place], classes, before) for rows in found.values())
        body.append(f'<div class="line"><div class="tile p{query}" role="img" aria-label="query"></div>{blocks}</div>')
    return html_page(title, "\n".join(body), made_by, style=STYLE + _STYLE + style)


def _found(rows: Ints, classes: Array, wanted: object) -> str:
    tiles = []
    for row in rows.tolist():
        name = escape(str(classes[row]))
        mark = "right" if classes[row] == wanted else "wrong"
        tiles.append(f'<div class="tile p{row} {mark}" role="img" aria-label="{mark}: {name}" title="{name}"></div>')
    return f'<div class="found">{"".join(tiles)}</div>'
