"""``thpi demo``: what tags add to search by picture, on the bundled shop: a table, a page, and a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from thpi._signals import uninterrupted
from thpi.cli._shared import Force, check_output, print_table, progress_bar

if TYPE_CHECKING:
    from thpi._types import Floats, Ints
    from thpi.base import BaseHasher
    from thpi.datasets import ShopTask

HELP = """Learn to search a small shop by picture, without and with tags, and show what each finds.

The shop is part of the package: 1,000 drawings, described by 1,280 features
of a neural network. While learning, 200 drawings are known with their tags,
and the tags of 600 more. The other 200 drawings are new. They are the
queries, searched among all others, and a result is right if it is of their
category, which no method is told. The collection has the 800 others, with
their drawings and tags.

With --tables it writes csv files to try the commands on: pictures.csv has 160
items (the target), texts.csv 180 (the source), both with ids and shuffled;
140 are in both. kinds.csv has the class of each item, new.csv pictures of 10
further items. An id says what the item shows, so you see what a search found.
With --drawings they are those of the tutorial: pictures.csv (200 drawings),
tags.csv (the tags of 800), later.csv, new.csv, categories.csv, thumbnails.

\b
Examples:
  thpi demo
  thpi demo --tables shop
  thpi build shop.thpi shop/pictures.csv --privileged shop/texts.csv
  thpi search shop.thpi shop/new.csv -k 3
"""
SHOWN = 8
_COLLECTION = typer.Argument(metavar="COLLECTION", help="File to write.")
_HTML = typer.Option("--html", metavar="PAGE.html", help="Page to write, with the drawings that were found.")
_TABLES = typer.Option("--tables", metavar="FOLDER", help="Write example tables to this folder instead, and stop.")
_DRAWINGS = typer.Option(
    "--drawings", help="With --tables: the tables of the shop, in place of smaller ones of digits."
)


class _Line(NamedTuple):
    name: str
    precision: float
    right: float
    nearest: Ints
    hasher: BaseHasher | None


def demo(
    collection: Annotated[Path, _COLLECTION] = Path("shop.thpi"),
    bits: Annotated[int, typer.Option(help="Length of a code.", min=1, max=128)] = 32,
    html: Annotated[Path, _HTML] = Path("thpi-demo.html"),
    tables: Annotated[Optional[Path], _TABLES] = None,
    drawings: Annotated[bool, _DRAWINGS] = False,
    force: Force = False,
) -> None:
    """Learn to search a small shop by picture, without and with tags, and show what each finds."""
    if tables is not None:
        _write_tables(tables, drawings, force)
        return
    from thpi.datasets import shop_task

    check_output("COLLECTION", collection, force=force)
    check_output("--html", html, force=force, inputs=[collection])
    task = shop_task()
    lines = _measured(task, bits)
    typer.echo(f"Search by picture in codes of {bits} bits")
    rows = [(line.name, f"{line.precision:.1f}", f"{line.right:.1f}") for line in lines]
    print_table(("method, learned from", "MAP by category", f"right among the first {SHOWN}"), rows)
    _write_collection(task, lines[-2], collection)
    _write_page(task, lines[0], lines[-2], html, bits)
    typer.echo(f"\nOpen {html} in a browser to see what was found for each of the new drawings.")
    typer.echo(f"To search yourself: thpi serve {collection} (extra serve).")


def _write_tables(folder: Path, drawings: bool, force: bool) -> None:
    from thpi.datasets import EXAMPLE_FILES, SHOP_TABLES, write_example, write_shop_tables

    if not folder.parent.is_dir() or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"--tables={str(folder)!r} must be a folder, or a name for a new one in a folder.")
    folder.mkdir(exist_ok=True)
    for name in SHOP_TABLES if drawings else EXAMPLE_FILES:
        check_output("--tables", folder / name, force=force)
    with uninterrupted():
        paths = write_shop_tables(folder) if drawings else write_example(folder)
    for path in paths:
        typer.echo(f"wrote {path}")


def _measured(task: ShopTask, bits: int) -> list[_Line]:
    """Fit each method and search with the new drawings."""
    import numpy as np
    from scipy.spatial.distance import cdist
    from threadpoolctl import threadpool_limits

    import thpi
    from thpi.evaluation import label_relevance, ranked_average_precision
    from thpi.index import asymmetric_distances

    _, _, S, labels, pairs, texts, queries, database = task
    X = task.steps.astype(float)  # as in the tables of the tutorial
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
    with progress_bar("") as update, threadpool_limits(1):
        for name, hasher in hashers.items():
            update(description=f"{name:34}", total=len(hashers))
            distances: Floats = cdist(X[queries], X[database])
            if hasher is not None:
                hasher.fit(X[pairs], privileged=S[pairs], source=S[texts])
                distances = asymmetric_distances(hasher.decision_function(X[queries]), hasher.transform(X[database]))
            precision = 100 * float(np.nanmean(ranked_average_precision(distances, relevant)))
            nearest = database[np.argsort(distances, axis=1, kind="stable")[:, :SHOWN]]
            right = (labels[nearest] == labels[queries][:, None]).sum(axis=1).mean()
            lines.append(_Line(name, precision, float(right), nearest, hasher))
            update(advance=1)
    return lines


def _write_collection(task: ShopTask, line: _Line, path: Path) -> None:
    import numpy as np

    from thpi.collection import Details, write

    assert line.hasher is not None
    codes, ids = line.hasher.transform(task.steps[task.database].astype(float)), task.ids[task.database]
    line.hasher.feature_names_in_ = np.array([f"f{j}" for j in range(task.X.shape[1])], dtype=object)
    items = [task.shop.show(row) for row in task.database]
    shown = [Details(", ".join(item.tags), bytes(item.picture or b"")) for item in items]
    about = {"title": "A small shop", "tables": {"DATA": "the bundled shop"}}
    details = dict(zip(ids, shown, strict=True))
    write(path, line.hasher, codes, ids.tolist(), about=about, details=details)


def _write_page(task: ShopTask, without: _Line, helped: _Line, path: Path, bits: int) -> None:
    import numpy as np

    from thpi._files import atomic_write
    from thpi.report import retrieved_page

    titles = {"Without tags": without, "With tags while learning": helped}
    found = {f"{title}: {line.right:.1f} of {SHOWN} right": line.nearest for title, line in titles.items()}
    about = (
        f"200 new drawings, and the {SHOWN} nearest of 800 others in codes of {bits} bits. Green frames have the "
        "category of the query. No method knew the categories."
    )
    pictures = [picture for picture in task.shop.pictures or () if isinstance(picture, bytes)]
    labels = np.array(task.shop.label_names)[task.labels]
    title = "A small shop: search by picture"
    atomic_write(path, retrieved_page(title, about, task.queries, found, pictures, labels, "thpi demo"))
