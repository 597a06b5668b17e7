"""Draw docs/pictures/retrieval.png: a few digits and what ITQ and LapITQ+ find nearest, in 16 bits.

    python -m benchmarks.readme_picture

The queries are the first of each class in a fixed split; nothing is picked by hand.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import thpi
from thpi.codes import hamming_distances
from thpi.datasets import load_digits_views

PAIRS, BITS, SHOWN, CLASSES = 100, 16, 8, (2, 3, 5, 8)


def main() -> None:
    digits = load_digits_views(target="pix", source="fou")
    assert digits.labels is not None
    assert isinstance(digits.pictures, np.ndarray)
    rows = np.random.RandomState(0).permutation(digits.n)
    train, query, database = rows[:PAIRS], rows[-300:], rows[:-300]
    hashers = {
        "ITQ: 100 pictures": thpi.ITQ(BITS, random_state=0),
        "LapITQ+: 100 pictures and a source": thpi.LapITQPlus(BITS, random_state=0),
    }
    for hasher in hashers.values():
        hasher.fit(digits.target[train], privileged=digits.source[train], source=digits.source[database[PAIRS:]])
    queries = [next(q for q in query if digits.labels[q] == label) for label in CLASSES]
    figure, axes = plt.subplots(len(CLASSES), 2 * SHOWN + 2, figsize=(12, 3.1))
    for axis in axes.ravel():
        axis.set_axis_off()
    for line, q in enumerate(queries):
        _picture(axes[line, 0], digits.pictures[q], "black")
        for side, hasher in enumerate(hashers.values()):
            codes = hasher.transform(digits.target[[q]]), hasher.transform(digits.target[database])
            nearest = database[np.argsort(hamming_distances(*codes)[0], kind="stable")[:SHOWN]]
            for place, row in enumerate(nearest):
                right = digits.labels[row] == digits.labels[q]
                _picture(
                    axes[line, 1 + side * (SHOWN + 1) + place], digits.pictures[row], "#2a9d5c" if right else "#d1495b"
                )
    figure.subplots_adjust(left=0.01, right=0.99, top=0.88, bottom=0.02, wspace=0.12, hspace=0.12)
    figure.text(0.03, 0.93, "query", ha="center", fontsize=11)
    for side, name in enumerate(hashers):
        figure.text(0.29 + side * 0.5, 0.93, f"{name}, {BITS} bits", ha="center", fontsize=11)
    path = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "retrieval.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    print(f"wrote {path.name}")


def _picture(axis: Axes, picture: np.ndarray, colour: str) -> None:
    axis.set_axis_on()
    axis.imshow(255 - picture, cmap="gray", vmin=0, vmax=255)
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_color(colour)
        spine.set_linewidth(2)


if __name__ == "__main__":
    main()
