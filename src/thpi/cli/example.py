"""``thpi example``: a tiny shop in csv files, to try the commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thpi.cli._options import Force
from thpi.cli._output import check_output, uninterrupted


def example(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to; made if it does not exist.")],
    drawings: Annotated[bool, typer.Option("--drawings", help="Write the shop of the tutorial instead.")] = False,
    force: Force = False,
) -> None:
    """Write a small shop in csv files, to try the commands on.

    pictures.csv has 160 items (the target) and texts.csv 180 (the source), both
    with ids and shuffled; 140 items are in both. kinds.csv has the class of each
    item, new.csv pictures of 10 further items. They are handwritten digits, and
    an id says what the item shows, so you see what a search found.

    With --drawings the shop has 1,000 drawings. pictures.csv has features of 200,
    tags.csv the tags of 800, later.csv the pictures of the other 600, new.csv 200
    pictures to search with, categories.csv the categories. The folder thumbnails
    has the drawings.

    \b
    Examples:
      thpi example shop
      thpi fit shop/pictures.csv shop.thpi --privileged shop/texts.csv
      thpi encode shop.thpi shop/pictures.csv codes.npy
      thpi index build codes.npy shop.index
      thpi search shop.index shop/new.csv --model shop.thpi -k 3
    """
    from thpi.datasets import EXAMPLE_FILES, SHOP_TABLES, write_example, write_shop_tables

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"FOLDER={str(folder)!r} is a file; it must be a folder.")
    if not folder.parent.is_dir():
        raise ValueError(f"FOLDER={str(folder)!r}: the folder {str(folder.parent)!r} does not exist.")
    names, write = (SHOP_TABLES, write_shop_tables) if drawings else (EXAMPLE_FILES, write_example)
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    for name in () if made else names:
        check_output("FOLDER", folder / name, force=force)
    with uninterrupted():
        paths = write(folder)
    for path in paths:
        typer.echo(f"wrote {path}")
