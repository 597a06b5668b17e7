"""``thpi example``: a tiny shop in csv files, to try the commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thpi.cli._options import Force
from thpi.cli._output import check_output, uninterrupted


def example(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to; made if it does not exist.")],
    force: Force = False,
) -> None:
    """Write a tiny shop in csv files, to try the commands on.

    pictures.csv has 160 items (the target) and texts.csv 180 (the source), both
    with ids and shuffled; 140 items are in both. kinds.csv has the class of each
    item, new.csv pictures of 10 further items. They are handwritten digits, and
    an id says what the item shows, so you see what a search found.

    \b
    Examples:
      thpi example shop
      thpi fit shop/pictures.csv shop.thpi --privileged shop/texts.csv
      thpi encode shop.thpi shop/pictures.csv codes.npy
      thpi index build codes.npy shop.index
      thpi search shop.index shop/new.csv --model shop.thpi -k 3
    """
    from thpi.datasets import EXAMPLE_FILES, write_example

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"FOLDER={str(folder)!r} is a file; it must be a folder.")
    if not folder.parent.is_dir():
        raise ValueError(f"FOLDER={str(folder)!r}: the folder {str(folder.parent)!r} does not exist.")
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    for name in () if made else EXAMPLE_FILES:
        check_output("FOLDER", folder / name, force=force)
    with uninterrupted():
        paths = write_example(folder)
    for path in paths:
        typer.echo(f"wrote {path}")
