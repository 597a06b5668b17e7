"""``thpi search``: the nearest items of an index to a row, to rows of a file, or to rows on standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from thpi.cli._files import check_width, load_model, open_index, read_codes
from thpi.cli._options import TABLES, AnyModel, IndexFile, Json
from thpi.cli._output import plain

if TYPE_CHECKING:
    from thpi._types import Array, Codes, Floats
    from thpi.cli._columns import Value
    from thpi.index import HammingIndex, Order

_MANY = 1000


class _Queries(NamedTuple):
    names: list[Value]
    codes: Codes
    projections: Floats | None = None
    own: int | str | None = None  # id of an item that is not its own neighbour


_QUERIES = typer.Argument(metavar="QUERIES", help=f"Rows to search for: {TABLES}; codes; or - for standard input.")
_MODEL = typer.Option(help="Model of the codes of the index; not needed for codes.")
_ID = typer.Option(
    "--id",
    "--ids",
    metavar="ID|COLUMN",
    help="Without QUERIES, an item of the index by its id; else the column of QUERIES with their ids (default: id).",
)
_INCLUDE_SELF = typer.Option("--include-self", help="Also show the item itself, with --id or --row of the index.")
_ORDER = typer.Option(
    metavar="ORDER", autocompletion=lambda: ["asymmetric", "hamming"],
    help="asymmetric or hamming distance. Default: asymmetric for rows, hamming for codes and with --radius.",
)  # fmt: skip


def search(
    index: IndexFile,
    queries: Annotated[Optional[str], _QUERIES] = None,
    model: Annotated[Optional[Path], _MODEL] = None,
    row: Annotated[Optional[int], typer.Option(min=0, help="Row of QUERIES, or of the index, from 0.")] = None,
    id: Annotated[Optional[str], _ID] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of neighbours.")] = 10,
    radius: Annotated[Optional[int], typer.Option(min=0, help="All items within this many bits, instead of k.")] = None,
    order: Annotated[Optional[str], _ORDER] = None,
    include_self: Annotated[bool, _INCLUDE_SELF] = False,
    any_model: AnyModel = False,
    as_json: Json = False,
) -> None:
    """Show the items of an index whose codes are nearest to a query.

    A query is an item of the index (--id, or --row without QUERIES), a row of
    numbers, which --model encodes, or a row of a file of codes. On standard input
    a row is a line of csv or of JSON: a list of numbers, or an object {"id": ...,
    "vector": [...]}. With --json the answer to each query is one line.

    The codes of the index must be of that model. An item of the index is not
    its own neighbour, unless --include-self is given. Rows are searched by
    asymmetric distance: the projections of the row, without sign, summed over
    the bits that differ. Codes are searched by Hamming distance: the number of
    these bits. Items at equal distance are in the order in which they were
    added.

    \b
    Examples:
      thpi search shop.index --row 0 -k 5
      thpi search shop.index --id A-17
      thpi search shop.index new.csv --model shop.thpi --id sku --json
      thpi search shop.index new.csv --model shop.thpi -k 10 --order hamming
      echo '[0.5, 1.0, 0.25]' | thpi search shop.index - --model shop.thpi
    """
    chosen = _order(order, radius, queries, model)
    opened = open_index(index)
    if len(opened) == 0:
        raise ValueError(f"INDEX={str(index)!r} is empty.")
    if queries is None:
        stored = _stored(opened, row, id)
        portions = iter([stored._replace(own=None) if include_self else stored])
    else:
        portions = _chosen(_asked(opened, str(index), queries, model, id, chosen, any_model), queries, row)
    recall = opened.recall
    for asked in portions:
        # Building an approximate structure takes longer than answering a few queries exactly.
        opened.recall = recall if len(asked.codes) >= _MANY else None
        answers = _found(opened, asked, k, radius)
        for name, (distances, neighbours, farthest) in zip(asked.names, answers, strict=True):
            about = f"codes of {opened.n_bits} bits, {chosen.replace('hamming', 'Hamming')} distance"
            _print(as_json, name, distances.tolist(), neighbours.tolist(), chosen, about, farthest)


def _found(index: HammingIndex, asked: _Queries, k: int, radius: int | None) -> Iterator[tuple[Array, Array, float]]:
    """Iterate over the answers: distances, ids, and the distance at which all bits differ."""
    import numpy as np

    if radius is not None:
        for some in index.radius_search(asked.codes, radius):
            kept = slice(None) if asked.own is None else some.ids != asked.own
            yield some.distances[kept], some.ids[kept], index.n_bits
        return
    queries: Array = asked.codes if asked.projections is None else asked.projections
    answer = index.search(queries, k) if asked.own is None else index.search(queries, k + 1).without(asked.own, k)
    farthest = [index.n_bits] * len(queries) if asked.projections is None else np.abs(queries).sum(axis=1).tolist()
    yield from zip(answer.distances, answer.ids, farthest, strict=True)


def _order(order: str | None, radius: int | None, queries: str | None, model: Path | None) -> Order:
    """Return the order that is asked for, or else the finest that the queries allow."""
    rows = queries is not None and model is not None
    if order is None:
        return "asymmetric" if rows and radius is None else "hamming"
    if order == "hamming":
        return "hamming"
    if order != "asymmetric":
        raise ValueError(f"--order {order!r} must be asymmetric or hamming.")
    if radius is not None:
        raise ValueError(f"--radius {radius} counts bits: it needs --order hamming.")
    if not rows:
        raise ValueError("--order asymmetric needs the projections of the queries: QUERIES with rows, and --model.")
    return "asymmetric"


def _chosen(portions: Iterator[_Queries], queries: str, row: int | None) -> Iterator[_Queries]:
    start = 0
    for asked in portions:
        first, start = start, start + len(asked.codes)
        if row is None:
            yield asked
        elif row < start:
            one = slice(row - first, row - first + 1)
            names, codes, projections, _ = asked
            yield _Queries(names[one], codes[one], None if projections is None else projections[one])
            return
    if row is not None:
        raise ValueError(f"--row {row} is beyond the rows of QUERIES={queries!r}; it has {start}, from 0.")
    if start == 0:
        raise ValueError(f"QUERIES={queries!r} has no rows.")


def _stored(index: HammingIndex, row: int | None, item: str | None) -> _Queries:
    from thpi.cli._columns import as_ids

    if (row is None) == (item is None):
        raise ValueError("say what to search for: QUERIES (a file, or -), --row N or --id ID.")
    if item is not None:
        chosen = [item] if index.id_kind == "string" else as_ids([item])
        try:
            return _Queries([item], index.get_codes(chosen), own=chosen[0])
        except (KeyError, ValueError):
            few = ", ".join(map(str, index.ids[:3].tolist()))
            raise ValueError(f"--id {item!r} is not in the index; it has ids like {few}.") from None
    at = row or 0
    if at >= len(index):
        raise ValueError(f"--row {row} is beyond the rows of the index; it has {len(index)}, from 0.")
    (own,) = index.ids[at : at + 1].tolist()
    return _Queries([own], index.codes[at : at + 1], own=own)


def _asked(
    index: HammingIndex, where: str, queries: str, model: Path | None, id: str | None, order: Order, any_model: bool
) -> Iterator[_Queries]:
    """Iterate over the rows of a file in portions, with projections for asymmetric order."""
    from thpi.cli._choice import Choice
    from thpi.cli._tables import open_table, read_stdin
    from thpi.codes import pack_signs
    from thpi.identity import check_same_model

    made_by = f"INDEX={where!r}", index.model
    if model is None:
        yield _coded(index, made_by, queries, id, any_model)
        return
    hasher, features = load_model("--model", model)
    if (n := hasher.n_bits) != index.n_bits:
        raise ValueError(f"--model {str(model)!r} makes codes of {n} bits; those of INDEX have {index.n_bits}.")
    check_same_model(made_by, (f"--model {str(model)!r}", hasher.fingerprint_), any_model=any_model)
    if queries == "-":
        batches = read_stdin(id, features)
    else:
        batches = open_table(Choice("QUERIES", queries, id, features=features)).batches
    start = 0
    for batch in batches:
        check_width("QUERIES", queries, batch.values, hasher)
        projections = hasher.decision_function(batch.values)
        codes = pack_signs(projections)
        names: list[Value] = batch.ids or list(range(start, start + len(codes)))
        yield _Queries(names, codes, projections if order == "asymmetric" else None)
        start += len(codes)


def _coded(
    index: HammingIndex, made_by: tuple[str, str | None], queries: str, id: str | None, any_model: bool
) -> _Queries:
    """Return the codes of a file of codes, or of another index."""
    from thpi.cli._columns import split_spec
    from thpi.identity import check_same_model

    path = Path(queries)
    if queries == "-" or split_spec(queries)[0].suffix.lower() in (".csv", ".tsv", ".npz"):
        raise ValueError(f"QUERIES={queries!r} holds rows of numbers; --model names the model that encodes them.")
    if id is not None:
        raise ValueError(
            f"--id {id!r}: codes have ids of their own. For an item of the index leave out QUERIES={queries!r}."
        )
    try:
        table = read_codes("QUERIES", path)
    except ValueError as error:
        if not path.is_file():
            raise
        raise ValueError(
            f"{str(error).rstrip('.')}. For rows of numbers, --model names the model that encodes them."
        ) from None
    if table.n_bits != index.n_bits:
        raise ValueError(f"QUERIES={queries!r} has codes of {table.n_bits} bits, INDEX of {index.n_bits}.")
    check_same_model(made_by, (f"QUERIES={queries!r}", table.model), any_model=any_model)
    return _Queries(table.ids.tolist(), table.codes)


def _print(
    as_json: bool, name: Value, distances: list[float], ids: list[Value], order: Order, about: str, farthest: float
) -> None:
    if as_json:
        neighbours = [{"id": item, "distance": distance} for item, distance in zip(ids, distances, strict=True)]
        typer.echo(json.dumps(plain({"query": name, "order": order, "neighbours": neighbours})))
        return
    names = [_printable(item) for item in ids]
    typer.echo(f"query {_printable(name)}, {about}" + ("" if ids else ": nothing that near"))
    width = max((len(text) for text in names), default=0)
    for rank, (text, distance) in enumerate(zip(names, distances, strict=True), 1):
        bar = "█" * round(20 * (1 - distance / max(farthest, sys.float_info.min)))
        shown = f"{distance:>3}" if isinstance(distance, int) else f"{distance:#.4g}".rstrip(".").rjust(8)
        typer.echo(f"  {rank:>4}  {text:{width}}  distance {shown}  {bar}")


def _printable(item: Value) -> str:
    """Return an id as text that cannot move the cursor or colour the terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(item))
