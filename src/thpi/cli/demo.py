"""``thpi demo``: every method on the bundled digits, with a table of retrieval quality and a look at what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from thpi.cli._output import progress_bar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from thpi._types import Array, Ints
    from thpi.base import BaseHasher
    from thpi.datasets import PairedDataset

PAIRS = 100
QUERIES = 300
ALL_TARGET = "ITQ, all target rows"

Scores: TypeAlias = "dict[tuple[str, int], list[list[float]]]"


def demo(
    bits: Annotated[list[int], typer.Option(help="Code lengths to try.", min=1, max=64)] = [16, 32],  # noqa: B006
    pairs: Annotated[int, typer.Option(help="Digits whose target features are known.", min=70, max=1000)] = PAIRS,
    splits: Annotated[int, typer.Option(help="Random splits to average over.", min=1)] = 5,
) -> None:
    """Fit every method on the bundled digits and show how well each retrieves.

    The target is the picture (240 pixels) of a handwritten digit, known for a few
    digits only; the source is its Fourier coefficients, known for 1,700 digits
    during training. 300 further digits are queries, searched among all others.
    Relevant are pictures within the mean distance to the 50th neighbour in target
    space ("near"), or pictures of the same digit ("class").
    """
    import numpy as np
    from rich.console import Console
    from threadpoolctl import threadpool_limits

    import thpi
    from thpi.datasets import load_digits_views
    from thpi.ground_truth import label_relevance, neighbour_radius, radius_relevance
    from thpi.metrics import mean_average_precision

    console = Console()
    digits = load_digits_views(target="pix", source="fou")
    assert digits.labels is not None
    X = digits.target
    names = [*thpi.HASHERS, ALL_TARGET]
    scores: Scores = {(name, c): [] for name in names for c in bits}
    bar = progress_bar("", "MofNCompleteColumn", "TimeRemainingColumn")
    # With one thread the table is the same, to the last digit, on any number of cores.
    with bar as update, threadpool_limits(1):
        for split in range(splits):
            rows = np.random.RandomState(split).permutation(digits.n)
            train, query, database = rows[:pairs], rows[-QUERIES:], rows[:-QUERIES]
            near = radius_relevance(X[query], X[database], neighbour_radius(X[database], form="plain"))
            relevant = near, label_relevance(digits.labels[query], digits.labels[database])
            for name, c in scores:
                update(description=f"{name:24}", total=len(scores) * splits)
                hasher = _fit(name, c, split, digits, train, database)
                codes = hasher.transform(X[query]), hasher.transform(X[database])
                scores[name, c].append([100 * float(mean_average_precision(*codes, kind, c)) for kind in relevant])
                update(advance=1)
    console.print(_table(scores, names, bits, pairs, splits))
    console.print(
        f"[dim]Every method but the last row knows {pairs} target rows. ITQ uses no source; a better value is due to "
        "the source or to a better learner. The last row shows what ITQ would reach if the missing target rows were "
        "known. AutoHasher was set to near.[/dim]\n"
    )
    for name in ("ITQ", "LapITQPlus"):
        hasher = _fit(name, max(bits), splits - 1, digits, train, database)
        _show(console, name, hasher, digits, query[0], database)


def _fit(name: str, n_bits: int, seed: int, digits: PairedDataset, train: Ints, database: Ints) -> BaseHasher:
    import thpi

    X, S = digits.target, digits.source
    if name == ALL_TARGET:
        return thpi.ITQ(n_bits, random_state=seed).fit(X[database])
    hasher = thpi.HASHERS[name](n_bits=n_bits, random_state=seed)
    return hasher.fit(X[train], privileged=S[train], source=S[database[len(train) :]])


def _table(scores: Scores, names: list[str], bits: list[int], pairs: int, splits: int) -> Table:
    import numpy as np
    from rich.table import Table

    table = Table(title=f"Mean average precision (%), {pairs} pairs, mean of {splits} splits", title_justify="left")
    table.add_column("method")
    cells = []
    for kind, title in enumerate(("near", "class")):
        for c in bits:
            table.add_column(f"{title}\n{c} bits", justify="right")
            means = [np.mean(scores[name, c], axis=0)[kind] for name in names]
            best = max(mean for name, mean in zip(names, means, strict=True) if name != ALL_TARGET)
            cells.append([f"[bold]{mean:.2f}[/bold]" if mean == best else f"{mean:.2f}" for mean in means])
    for name, *row in zip(names, *cells, strict=True):
        if name == ALL_TARGET:
            table.add_section()
        table.add_row(name, *row)
    return table


def _show(console: Console, name: str, hasher: BaseHasher, digits: PairedDataset, q: int, database: Ints) -> None:
    """Draw a query digit and its nearest by a method, those of the same class in green."""
    import numpy as np
    from rich.columns import Columns
    from rich.text import Text

    from thpi.codes import hamming_distances

    assert digits.labels is not None
    assert isinstance(digits.pictures, np.ndarray)
    distances = hamming_distances(hasher.transform(digits.target[[q]]), hasher.transform(digits.target[database]))[0]
    shown = min(6, console.width // 18 - 1)  # one line of pictures, 15 pixels wide
    pictures = [_draw(digits.pictures[q], "white", "query")]
    for place in np.argsort(distances, kind="stable")[:shown]:
        row = database[place]
        right = digits.labels[row] == digits.labels[q]
        pictures.append(_draw(digits.pictures[row], "green" if right else "red", f"distance {distances[place]}"))
    console.print(Text(f"{name}, {hasher.n_bits} bits: a digit and its nearest", style="bold"))
    console.print(Columns(pictures, padding=(0, 2)))


def _draw(picture: Array, colour: str, caption: str) -> Text:
    """Draw a grey picture with half blocks, two pixels per character."""
    from rich.text import Text

    text = Text()
    for upper, lower in zip(picture[::2].tolist(), picture[1::2].tolist(), strict=True):
        for top, bottom in zip(upper, lower, strict=True):
            text.append({(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}[top > 110, bottom > 110], style=colour)
        text.append("\n")
    text.append(caption, style="dim")
    return text
