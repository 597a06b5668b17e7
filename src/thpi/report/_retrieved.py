"""A page of queries and of what several methods retrieved for them, picture beside picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thpi._types import Array, Ints
from thpi.report._render import STYLE, render


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
    names = [str(name) for name in classes]
    shown = sorted({int(row) for rows in (queries, *found.values()) for row in rows.ravel()})
    lines = [
        (names[int(query)], int(query), [rows[place].tolist() for rows in found.values()])
        for place, query in enumerate(queries)
    ]
    facts = {"title": title, "lead": lead, "made_by": made_by, "style": STYLE, "heads": list(found), "names": names}
    by_class = sorted(lines, key=lambda line: line[0])
    return render("retrieved.html", lines=by_class, pictures={row: pictures[row] for row in shown}, **facts)
