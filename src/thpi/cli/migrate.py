"""``thpi migrate``: is it worth re-embedding the documents for a new embedding model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli import _options as options
from thpi.cli._output import check_output, print_table, progress_bar, show, uninterrupted

if TYPE_CHECKING:
    from thpi.migration import Found

_OLD = typer.Argument(metavar="OLD", help=f"Items embedded by the old model: {options.TABLES}.")
_NEW = typer.Argument(metavar="NEW", help="The same items embedded by the new model: by id, else by position.")
_LEAST = typer.Option(min=0.0, max=1.0, help="Required recall, as a fraction of the recall after a full re-embedding.")
_NEAR = typer.Option(min=1, help="Recall is of this many nearest items ...")
_LISTED = typer.Option(min=1, help="... among this many that are found first.")
_OUTPUT = typer.Option("--output", "-o", metavar="MODEL", help="Write the two-sided model to this file.")


def migrate(
    old: Annotated[str, _OLD],
    new: Annotated[str, _NEW],
    bits: options.Bits = 256,
    least: Annotated[float, _LEAST] = 0.95,
    near: Annotated[int, _NEAR] = 10,
    listed: Annotated[int, _LISTED] = 100,
    id: options.Id = None,
    ignore: options.Ignore = None,
    output: Annotated[Optional[Path], _OUTPUT] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Estimate how much recall you keep if you change the query encoder but do not re-embed your documents.

    OLD and NEW are the same items, embedded by both models: a sample of the
    collection, some thousands if possible. A fifth of them, at most 500, are
    queries; all else is learned from the others. Nearest is by Euclidean
    distance; scale rows to length 1 before for cosine.

    The table has, for each way to search, the bytes per item and the recall of
    the items that are nearest by the new model and by the old one, with 95 %
    intervals. With --output, code documents by thpi encode MODEL ... --side
    source, and search with rows of the new model.

    \b
    Examples:
      thpi migrate old.npy new.npy --bits 256
      thpi migrate old.parquet new.parquet --id sku --output moved.thpi
    """
    from thpi.cli._learning import Files, read_learning
    from thpi.migration import migrate as measure

    if output is not None:
        check_output("--output", output, force=force, inputs=(old, new))
    with progress_bar("reading"):
        rows = read_learning(Files(new, old), id=id, ignore=ignore)
    with progress_bar(f"measuring {rows.X.shape[0]:,} items"):
        found = measure(
            rows.views["privileged"], rows.X, n_bits=bits, least=least, n_near=near, n_listed=listed, random_state=seed
        )
    if output is not None:
        import numpy as np

        hasher = found.hasher
        if rows.names is not None:
            hasher.feature_names_in_ = np.array(rows.names, dtype=object)
        if rows.source_names is not None:
            hasher.item_names_ = list(rows.source_names)
        with uninterrupted():
            hasher.save(output)
    facts = {"items": found.n_items, "queries": found.n_queries, "bits": bits, "pairs": rows.pairing}
    facts["model"] = None if output is None else str(output)
    if as_json:
        ways = [dict(zip(("way", "bytes_per_item", "of_new", "of_old"), way, strict=True)) for way in found.ways]
        show(True, facts | {"ways": ways, "kept": list(found.kept), "least": least, "keep": found.worth_it})
        return
    show(False, facts)
    titles = ("documents", "bytes", "near by new", "near by old")
    rows_shown = [(way.words, f"{way.bytes_per_item:,}", _text(way.of_new), _text(way.of_old)) for way in found.ways]
    print_table(titles, rows_shown, numbers=titles[1:])
    typer.echo(f"Percent of the {found.n_near} nearest items among the first {found.n_listed}, with 95 % intervals.")
    typer.echo(str(found))


def _text(share: Found) -> str:
    return f"{100 * share.value:.1f} ({100 * share.low:.1f} to {100 * share.high:.1f})"
