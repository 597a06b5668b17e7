"""Which code has the highest recall at equal bytes, on six real sets of vectors?

    python -m benchmarks.compare_codes [--data DIR] [--sets minilm ...] [--methods ...] [--bytes 8 ...] [--output FILE]

Every method of ``thpi compare`` on MiniLM and WordLlama embeddings of texts, MobileNet features of pictures, colour and
texture features of video (MediaMill), SIFT words of pictures (Wikipedia), and pixels of digits. At most 10,000 rows, of
which 500 (at most a fifth) are queries; the others are the database, from which all methods learn. Results are kept in
FILE, so that an interrupted run goes on where it stopped; the table is printed from it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import thpi
from benchmarks._table import markdown
from experiments.datasets import data_home_path, load
from thpi._files import atomic_write
from thpi.comparison import METHODS
from thpi.datasets import load_digits_views

Rows = npt.NDArray[np.float32]
MOST_ROWS = 10_000
KINDS = {
    "sign": ["sign"],
    "rotation": ["rotation"],
    "ITQ": ["ITQ"],
    "AutoHasher": ["AutoHasher"],
    "PQ": ["PQ"],
    "OPQ": ["OPQ"],
    "RaBitQ": ["RaBitQ 1", "RaBitQ 2", "RaBitQ 4"],
    "SQ": ["SQ 4", "SQ 8"],
    "residual": ["residual"],
}
METHODS_MEASURED = [method for methods in KINDS.values() for method in methods]


def _array(file: str, name: str) -> Callable[[Path], Rows]:
    return lambda home: np.asarray(np.load(home / file)[name], dtype=np.float32)


SETS: dict[str, Callable[[Path], Rows]] = {
    "MiniLM": _array("ddtp/embeddings.npz", "minilm_en"),
    "digits": lambda home: np.asarray(load_digits_views(target="pix").target, dtype=np.float32),
    "Wikipedia SIFT": _array("wiki/wiki.npz", "image_sift128"),
    "MediaMill": lambda home: np.asarray(load("mediamill", data_home=home).target, dtype=np.float32),
    "WordLlama": _array("ddtp/embeddings.npz", "wordllama_en"),
    "MobileNet": _array("openclipart/mobilenet.npz", "mobilenet"),
}


def rows_of(name: str, home: Path) -> Rows:
    X = SETS[name](home)
    return X[np.random.RandomState(0).permutation(len(X))[:MOST_ROWS]]


def measure(X: Rows, method: str, sizes: list[int]) -> list[dict[str, Any]]:
    return [result.to_dict() for result in thpi.compare(X, methods=[method], n_bytes=sizes).results]


def recall_at_ten(result: dict[str, Any]) -> dict[str, float]:
    return next(each for each in result["recalls"] if each["k"] == each["candidates"] == 10)


def table(known: dict[str, Any], sizes: list[int]) -> str:
    """One line per set and size: recall at ten of the best code of each kind, in its better order; the best in bold.

    A kind without a code of that size has "-"; "?" was not measured.
    """
    lines = []
    for name in SETS:
        for size in sizes:
            cells = {kind: _best(known, name, methods, size) for kind, methods in KINDS.items()}
            best = max((value for value in cells.values() if value is not None), default=None)
            shown = [
                ("-" if _measured(known, name, KINDS[kind], size) else "?") if value is None
                else f"**{100 * value:.1f}**" if value == best else f"{100 * value:.1f}"
                for kind, value in cells.items()
            ]  # fmt: skip
            lines.append([name, str(size), *shown])
    return markdown(["vectors", "bytes", *KINDS], lines)


def _measured(known: dict[str, Any], name: str, methods: Sequence[str], size: int) -> bool:
    return all(f"{name}|{method}|{size}" in known for method in methods)


def _best(known: dict[str, Any], name: str, methods: Sequence[str], size: int) -> float | None:
    found = [result for method in methods for result in known.get(f"{name}|{method}|{size}", ())]
    return max((recall_at_ten(result)["value"] for result in found), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS_MEASURED)
    parser.add_argument("--bytes", type=int, nargs="+", default=[4, 8, 16, 32, 64, 128, 256])
    parser.add_argument("--output", type=Path, default=Path("results/compare.json"))
    options = parser.parse_args()
    known: dict[str, Any] = json.loads(options.output.read_text("utf-8")) if options.output.exists() else {}
    for size in options.bytes:
        for name in options.sets:
            missing = [method for method in options.methods if f"{name}|{method}|{size}" not in known]
            X = rows_of(name, data_home_path(options.data)) if missing else None
            for method in missing:
                assert X is not None
                known[f"{name}|{method}|{size}"] = measure(X, method, [size])
                atomic_write(options.output, json.dumps(known, indent=0))
                print(
                    name,
                    method,
                    size,
                    [f"{100 * recall_at_ten(r)['value']:.1f}" for r in known[f"{name}|{method}|{size}"]],
                    flush=True,
                )
    print(table(known, options.bytes))


if __name__ == "__main__":
    main()
