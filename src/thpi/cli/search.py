"""``thpi search``: the nearest items of a collection to an item, to rows of a file, or to rows on standard input."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeAlias

import typer

from thpi.cli._shared import TABLES, CollectionFile, Json, plain, printable

if TYPE_CHECKING:
    from thpi.collection import Collection
    from thpi.index import Order

_MANY = 1000


Answer: TypeAlias = "tuple[Any, list[float], list[int | str], float]"
"""A query, the distances and ids of its neighbours, and the distance at which all bits differ."""

_QUERIES = typer.Argument(metavar="QUERIES", help=f"Rows to search for: {TABLES}; or - for standard input.")
_ID = typer.Option(
    "--id", "--ids", metavar="ID|COLUMN",
    help="Without QUERIES, an item by its id; else the column of QUERIES with their names. Default: one called id.",
)  # fmt: skip
_ORDER = typer.Option(
    metavar="ORDER", autocompletion=lambda: ["asymmetric", "hamming"],
    help="asymmetric or hamming distance. Default: asymmetric for rows, hamming for items.",
)  # fmt: skip


def search(
    collection: CollectionFile,
    queries: Annotated[Optional[str], _QUERIES] = None,
    id: Annotated[Optional[str], _ID] = None,
    row: Annotated[Optional[int], typer.Option(min=0, help="Only this row of QUERIES, counted from 0.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of neighbours.")] = 10,
    order: Annotated[Optional[str], _ORDER] = None,
    as_json: Json = False,
) -> None:
    """Show the items of a collection that are nearest to a query.

    A query is an item (--id) or a row of numbers. On standard input a row is a
    line of csv or of JSON: a list of numbers, or an object {"id": ..., "vector":
    [...]}. It is answered at once. With --json each answer is one line.

    An item is not its own neighbour. Rows are searched by asymmetric distance:
    the projections of the row, without sign, summed over the bits that differ.
    Items are searched by Hamming distance: the number of these bits. Items at
    equal distance are in the order in which they were added.

    \b
    Examples:
      thpi search shop.thpi new.csv -k 5
      thpi search shop.thpi --id A-17
      thpi search shop.thpi new.csv --row 3 --order hamming --json
      echo '[0.5, 1.0, 0.25]' | thpi search shop.thpi -
    """
    from thpi.collection import open

    if queries is None and id is None:
        raise ValueError("say what to search for: QUERIES, or an item with --id.")
    if order not in (None, "asymmetric", "hamming"):
        raise ValueError(f"--order {order!r} must be asymmetric or hamming.")
    if order == "asymmetric" and queries is None:
        raise ValueError("--order asymmetric needs rows, QUERIES: of an item only the code is known.")
    chosen: Order = "hamming" if order == "hamming" or queries is None else "asymmetric"
    shop = open(collection)
    if len(shop) == 0:
        raise ValueError(f"COLLECTION={str(collection)!r} is empty.")
    answers = _of_item(shop, id or "", k) if queries is None else _of_rows(shop, queries, id, row, k, chosen)
    for answer in answers:
        _print(shop, answer, chosen, as_json)


def _of_item(shop: Collection, id: str, k: int) -> Iterator[Answer]:
    item = int(id) if shop.ids.dtype.kind in "iu" and re.fullmatch("-?[0-9]{1,19}", id) else id
    if item not in shop:
        few = ", ".join(map(str, shop.ids[:3].tolist()))
        raise ValueError(f"--id {id!r} is not in the collection; it has ids like {few}.")
    found = shop.search(id=item, k=k)
    yield item, found.distances[0].tolist(), found.ids[0].tolist(), shop.n_bits


def _of_rows(shop: Collection, queries: str, id: str | None, row: int | None, k: int, order: Order) -> Iterator[Answer]:
    import numpy as np

    from thpi.cli._collections import coder_of
    from thpi.tables import Choice, check_width, open_table, read_stdin

    coder, features = coder_of(shop)
    recall, start = shop.index.recall, 0
    choice = Choice("QUERIES", queries, id, features=features)
    for batch in read_stdin(id, features) if queries == "-" else open_table(choice).batches:
        check_width("QUERIES", queries, batch.values, coder.n_features_in_)
        names: list[Any] = batch.ids or list(range(start, start + batch.values.shape[0]))
        some = slice(None) if row is None else slice(row - start, row - start + 1) if row >= start else slice(0)
        start, names, X = start + len(names), names[some], batch.values[some]
        if not names:
            continue
        # Building an approximate structure takes longer than answering a few queries exactly.
        shop.index.recall = recall if len(names) >= _MANY else None
        projections = coder.decision_function(X)
        found = shop.search_codes(projections, k, order=order)
        farthest = np.abs(projections).sum(axis=1).tolist() if order == "asymmetric" else [shop.n_bits] * len(names)
        yield from zip(names, found.distances.tolist(), found.ids.tolist(), farthest, strict=True)
        if row is not None:
            return
    if row is not None or start == 0:
        text = f"--row {row} is beyond the rows of " if start else ""
        raise ValueError(f"{text}QUERIES={queries!r}{f'; it has {start}, from 0' if start else ' has no rows'}.")


def _print(shop: Collection, answer: Answer, order: Order, as_json: bool) -> None:
    query, distances, ids, farthest = answer
    texts = [shop.details(item).text for item in ids]
    if as_json:
        neighbours = [
            {"id": item, "distance": distance} | ({} if text is None else {"text": text})
            for item, distance, text in zip(ids, distances, texts, strict=True)
        ]
        typer.echo(json.dumps(plain({"query": query, "order": order, "neighbours": neighbours})))
        sys.stdout.flush()
        return
    about = f"codes of {shop.n_bits} bits, {order.replace('hamming', 'Hamming')} distance"
    typer.echo(f"query {printable(str(query))}, {about}" + ("" if ids else ": nothing that near"))
    names = [printable(str(item)) for item in ids]
    width = max(map(len, names), default=0)
    for rank, (name, distance, text) in enumerate(zip(names, distances, texts, strict=True), 1):
        bar = "█" * round(20 * (1 - distance / max(farthest, sys.float_info.min)))
        number = f"{distance:>3}" if isinstance(distance, int) else f"{distance:#.4g}".rstrip(".").rjust(8)
        shown = "" if text is None else f"  {printable(text)[:60]}"
        typer.echo(f"  {rank:>4}  {name:{width}}  distance {number}  {bar:{20 if shown else 0}}{shown}")
