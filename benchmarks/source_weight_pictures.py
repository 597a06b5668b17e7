"""Draw what TransferITQ retrieves with source weight 0 and with a large one.

Writes docs/pictures/source_weight_digits.png and source_weight_openclipart.png:

    python -m benchmarks.source_weight_pictures [--data-home DIR]

The queries are the first of some classes in a fixed split; none is picked by hand. The digits come with the package.
openclipart is drawn only if its files exist.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from experiments.datasets import DataNotFoundError
from experiments.harness.data import DataSpec, load_rows, training_views
from experiments.harness.figures import figure_bytes
from experiments.harness.protocol import PROTOCOLS, relevance_matrix
from thpi import TransferITQ
from thpi.codes import hamming_distances
from thpi.evaluation import database_rows, split_rows

BITS, SHOWN, ALPHA = 64, 8, 0.3
ENDS: dict[str, dict[str, Any]] = {
    "target geometry, source weight 0": {"source_weight": 0.0},
    "source neighbours, weight 16": {"source_weight": 16.0},
    "source groups, weight 32": {"source_weight": 32.0, "source_features": "diffusion"},
}
SETS = {
    "digits": (DataSpec("digits", options=(("source", "pix"), ("target", "fou"))), 6),
    "openclipart": (DataSpec("openclipart", 3000), 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", default=None)
    home = parser.parse_args().data_home
    folder = Path(__file__).resolve().parents[1] / "docs" / "pictures"
    for name, (spec, n_queries) in SETS.items():
        try:
            data = load_rows(spec, home)
        except DataNotFoundError as error:
            print(f"{name} is not drawn: {error}")
            continue
        path = folder / f"source_weight_{name}.png"
        path.write_bytes(figure_bytes(draw(data, n_queries), "png"))
        print(f"wrote {path.name}")


def draw(data: Any, n_queries: int) -> Figure:
    split = split_rows(data.n, ALPHA, random_state=0)
    views, rows = training_views(data, split), database_rows(split, "all")
    found = {end: _nearest(views, split, rows, params) for end, params in ENDS.items()}
    truths = {
        kind: relevance_matrix(
            kind, PROTOCOLS["standard"], split, target=views.target, source=views.source, labels=data.labels
        )
        for kind in ("target", "source", "labels")
    }
    # The first query of each of the largest classes.
    classes = np.argsort(-np.bincount(data.labels[rows]), kind="stable")[:n_queries]
    queries = [int(np.flatnonzero(data.labels[split.query] == label)[0]) for label in sorted(classes)]
    columns = 1 + len(found) * (SHOWN + 1)
    figure = Figure(figsize=(columns * 0.58, len(queries) * 0.66 + 1.2))
    grid = figure.add_gridspec(len(queries), columns, left=0.01, right=0.99, top=0.79, bottom=0.02, wspace=0.08)
    for line, q in enumerate(queries):
        _picture(figure.add_subplot(grid[line, 0]), data, int(split.query[q]), "black")
        for side, nearest in enumerate(found.values()):
            for place, at in enumerate(nearest[q]):
                colour = "#2a9d5c" if truths["labels"][q, at] else "#d1495b"
                axis = figure.add_subplot(grid[line, 2 + side * (SHOWN + 1) + place])
                _picture(axis, data, int(rows[at]), colour)
    figure.text(0.022, 0.82, "query", ha="center", fontsize=11)
    for side, (end, nearest) in enumerate(found.items()):
        share = {k: 100 * np.take_along_axis(truth, nearest, axis=1).mean() for k, truth in truths.items()}
        about = (
            f"of the first {SHOWN} near in target space: {share['target']:.0f} %,\n"
            f"near in source space: {share['source']:.0f} %, same class: {share['labels']:.0f} %"
        )
        x = (2 + side * (SHOWN + 1) + SHOWN / 2) / columns
        figure.text(x, 0.92, f"{end}, {BITS} bits", ha="center", fontsize=14)
        figure.text(x, 0.82, about, ha="center", fontsize=10, color="#444444")
    return figure


def _nearest(views: Any, split: Any, rows: Any, params: dict[str, Any]) -> Any:
    hasher = TransferITQ(BITS, random_state=0, **params)
    hasher.fit(views.target[split.train], privileged=views.source[split.train], source=views.source[split.rest])
    distances = hamming_distances(hasher.transform(views.target[split.query]), hasher.transform(views.target[rows]))
    return np.argsort(distances, axis=1, kind="stable")[:, :SHOWN]


def _picture(axis: Any, data: Any, row: int, colour: str) -> None:
    picture = data.pictures[row]
    if isinstance(picture, bytes):
        image = Image.open(io.BytesIO(picture)).convert("RGBA")
        axis.imshow(Image.alpha_composite(Image.new("RGBA", image.size, "white"), image))
    else:
        axis.imshow(255 - picture, cmap="gray", vmin=0, vmax=255, aspect="auto")
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_color(colour)
        spine.set_linewidth(1.8)


if __name__ == "__main__":
    main()
