"""``thpi demo``: what tags add to search by picture, on the bundled shop, as a table and as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from thpi.cli._options import Force
from thpi.cli._output import check_output, progress_bar

if TYPE_CHECKING:
    from thpi._types import Floats, Ints
    from thpi.base import BaseHasher

SHOWN = 8
_OUTPUT = typer.Option("--output", metavar="PAGE.html", help="Page to write, with the drawings that were found.")


class _Line(NamedTuple):
    name: str
    precision: float
    right: float
    nearest: Ints


def demo(
    bits: Annotated[int, typer.Option(help="Length of a code.", min=1, max=128)] = 32,
    output: Annotated[Path, _OUTPUT] = Path("thpi-demo.html"),
    force: Force = False,
) -> None:
    """Learn to search a small shop by picture, without and with tags, and show what each finds.

    The shop is part of the package: 1,000 drawings, described by 1,280 features
    of a neural network. While learning, 200 drawings are known with their tags,
    and the tags of 600 more. The other 200 drawings are new. They are the
    queries, searched among all others, and a result is right if it is of their
    category. No method is told the categories.
    """
    from rich.console import Console
    from rich.table import Table

    check_output("--output", output, force=force)
    lines = _measured(bits)
    table = Table(title=f"Search by picture in codes of {bits} bits", title_justify="left")
    table.add_column("method, learned from")
    table.add_column("MAP by category", justify="right")
    table.add_column(f"right among the first {SHOWN}", justify="right")
    best = max(line.precision for line in lines)
    for line in lines:
        shown = f"{line.precision:.1f}"
        table.add_row(line.name, f"[bold]{shown}[/bold]" if line.precision == best else shown, f"{line.right:.1f}")
    console = Console()
    console.print(table)
    _write_page(lines[0], lines[-2], output, bits)
    console.print(
        f"\nOpen [bold]{output}[/bold] in a browser to see what was found for each of the new drawings."
        "\nTo search yourself: [bold]thpi serve --demo shop[/bold] (extra serve).",
        soft_wrap=True,
    )


def _measured(bits: int) -> list[_Line]:
    """Fit each method and search with the new drawings."""
    import numpy as np
    from scipy.spatial.distance import cdist
    from threadpoolctl import threadpool_limits

    import thpi
    from thpi.datasets import shop_task
    from thpi.evaluation import label_relevance, ranked_average_precision
    from thpi.index import asymmetric_distances

    _, X, S, labels, pairs, texts, queries, database = shop_task()
    relevant = label_relevance(labels[queries], labels[database])
    hashers: dict[str, BaseHasher | None] = {
        "ITQ, pictures": thpi.ITQ(bits, random_state=0),
        "AutoHasher, pictures": thpi.AutoHasher(bits, relevance="source", use_source=False, random_state=0),
        "LapITQ+, pictures and tags": thpi.LapITQPlus(bits, random_state=0),
        "AutoHasher, pictures and tags": thpi.AutoHasher(bits, relevance="source", random_state=0),
        "no code: 5,120 bytes of features": None,
    }
    lines = []
    # With one thread the table is the same, to the last digit, on any number of cores.
    with progress_bar("", "MofNCompleteColumn") as update, threadpool_limits(1):
        for name, hasher in hashers.items():
            update(description=f"{name:34}", total=len(hashers))
            distances: Floats
            if hasher is None:
                distances = cdist(X[queries], X[database])
            else:
                hasher.fit(X[pairs], privileged=S[pairs], source=S[texts])
                distances = asymmetric_distances(hasher.decision_function(X[queries]), hasher.transform(X[database]))
            precision = 100 * float(np.nanmean(ranked_average_precision(distances, relevant)))
            nearest = database[np.argsort(distances, axis=1, kind="stable")[:, :SHOWN]]
            right = (labels[nearest] == labels[queries][:, None]).sum(axis=1).mean()
            lines.append(_Line(name, precision, float(right), nearest))
            update(advance=1)
    return lines


def _write_page(without: _Line, helped: _Line, path: Path, bits: int) -> None:
    import numpy as np

    from thpi._files import atomic_write
    from thpi.datasets import SHOP_ROLES, load_shop
    from thpi.report import retrieved_page

    shop = load_shop()
    assert shop.labels is not None
    titles = ("Without tags", "With tags while learning")
    found = {
        f"{title}: {line.right:.1f} of {SHOWN} right": line.nearest
        for title, line in zip(titles, (without, helped), strict=True)
    }
    page = retrieved_page(
        "A small shop: search by picture",
        f"200 new drawings, and the {SHOWN} nearest of 800 others in codes of {bits} bits. Green frames have the "
        "category of the query, which no method was told.",
        np.arange(shop.n)[SHOP_ROLES["queries"]],
        found,
        [picture for picture in shop.pictures or () if isinstance(picture, bytes)],
        np.array(shop.label_names)[shop.labels],
        "thpi demo",
    )
    atomic_write(path, page)
