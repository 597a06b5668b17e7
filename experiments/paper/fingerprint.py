"""Which protocol did the paper use? The published values of LSH and DSH tell.

LSH learns nothing and DSH uses no source, so their published cells depend on the evaluation alone, and nothing about
ITQ+ or LapITQ+ can be tuned by looking at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from experiments.harness.area import AREA
from experiments.harness.bench import make_bench
from experiments.harness.data import DataSpec, data_identity, load_rows
from experiments.harness.figures import figure_bytes, legend_below, panels
from experiments.harness.protocol import PROTOCOLS, Protocol
from experiments.harness.report import DataHome, ResultsFolder, run_missing
from experiments.harness.store import ResultStore
from experiments.harness.writers import to_csv
from experiments.paper.published import figure1, table1
from experiments.paper.sets import SETS
from thpi import HASHERS
from thpi._files import atomic_write
from thpi.codes import hamming_distances
from thpi.evaluation import evaluate, ranked_average_precision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("LSH", "DSH")
ALPHAS = (0.1, 0.3, 0.5, 0.7)
BITS = (8, 16, 32, 64)
_STABLE = "average_precision_stable"
_PAPER = PROTOCOLS["paper"]


@dataclass(frozen=True)
class Candidate:
    """A way in which the paper may have prepared and evaluated a set."""

    title: str
    data: DataSpec
    protocol: Protocol
    measure: str = "average_precision"


def candidates() -> list[Candidate]:
    """Return the two readings of BBC that are run, then readings that differ from the first in one thing each.

    >>> [candidate.title for candidate in candidates()][:2]
    ['tf-idf, pairs by id', 'unit counts, pairs by position']
    """
    data, other = SETS["bbc"].data, SETS["bbc-position"].data
    whole = replace(_PAPER, radius_rows=None)
    return [
        Candidate("tf-idf, pairs by id", data, _PAPER),
        Candidate("unit counts, pairs by position", other, _PAPER),
        Candidate("unit counts, pairs by id", replace(data, pipeline="tf_pca"), _PAPER),
        Candidate("tf-idf, pairs by position", replace(other, pipeline="tfidf_pca"), _PAPER),
        Candidate("counts", replace(data, pipeline="pca_energy"), _PAPER),
        Candidate("database: all rows but queries", data, replace(whole, database="all")),
        Candidate("database: training rows", data, replace(whole, database="train")),
        Candidate("radius over 100 rows, as the follow-up", data, replace(_PAPER, radius="authors", radius_rows=100)),
        Candidate("tied rows in file order", data, _PAPER, _STABLE),
        Candidate("pooled area", data, _PAPER, AREA),
        Candidate("the follow-up's protocol", data, PROTOCOLS["followup"], AREA),
    ]


def protocols() -> list[Candidate]:
    """Return three protocols on every set that the figure shows."""
    shown = (
        ("rows neither trained on nor queries", _PAPER, "average_precision"),
        ("all rows but queries", replace(_PAPER, database="all"), "average_precision"),
        ("training rows, pooled area", replace(PROTOCOLS["followup"], max_queries=1_000), AREA),
    )
    sets = [found for found in SETS.values() if found.counted]
    return [Candidate(title, found.data, protocol, measure) for found in sets for title, protocol, measure in shown]


@dataclass(frozen=True)
class FingerprintTask:
    """One split of one candidate: LSH and DSH at all cells that the paper has, or LSH alone over alpha."""

    candidate: Candidate
    seed: int
    methods: tuple[str, ...]
    lengths: tuple[int, ...]
    home: str | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """What is shown while tasks run."""
        return f"{self.candidate.data.label}: {self.candidate.title}"

    @property
    def config(self) -> dict[str, Any]:
        """What the values depend on."""
        protocol = {**vars(self.candidate.protocol), "headline": self.candidate.measure}
        identity = _identity(self.candidate.data, self.home)
        return {"data": identity, "protocol": protocol, "seed": self.seed, "of": [self.methods, self.lengths]}

    def left(self, store: ResultStore) -> int:
        """Number of values without a result."""
        return 0 if store.read_values("fingerprint", self.config) else 1

    def run(self, store: ResultStore, data_home: str | None = None) -> None:
        """Compute all values of the split."""
        found = [[*where, value] for where, value in self._values(store, data_home)]
        store.write_values("fingerprint", self.config, found)

    def _values(self, store: ResultStore, data_home: str | None) -> Iterator[tuple[tuple[str, float, int], float]]:
        data, protocol = self.candidate.data, self.candidate.protocol
        identity, rows = _identity(data, data_home), load_rows(data, data_home)
        for alpha in ALPHAS:
            bench = make_bench(rows, protocol, alpha, self.seed, identity, store, data.pipelines())
            target, train = bench.views.target, bench.split.train
            for method in self.methods:
                for bits in self.lengths if alpha == 0.5 else (32,):
                    codes = HASHERS[method](n_bits=bits, random_state=self.seed).fit(target[train]).transform(target)
                    pair = codes[bench.split.query], codes[bench.database]
                    found = _measured(self.candidate.measure, *pair, bench.relevance("target"), bits)
                    yield (method, alpha, bits), 100 * float(np.nanmean(found))


def _measured(measure: str, queries: Any, database: Any, relevance: Any, n_bits: int) -> Any:
    if measure != _STABLE:
        return evaluate(queries, database, relevance, n_bits, [measure])[measure]
    distances, n = hamming_distances(queries, database).astype(np.int64), len(database)
    return ranked_average_precision(n * distances + np.arange(n), relevance)


@cache
def _identity(data: DataSpec, data_home: str | None) -> dict[str, Any]:
    return data_identity(data, data_home)


Values = dict[tuple[str, float, int], float]


def mean_values(tasks: Sequence[FingerprintTask], store: ResultStore) -> dict[Candidate, Values]:
    """Return the means over splits by candidate."""
    found: dict[Candidate, dict[tuple[str, float, int], list[float]]] = {}
    for task in tasks:
        for method, alpha, bits, value in store.read_values("fingerprint", task.config) or ():
            found.setdefault(task.candidate, {}).setdefault((method, alpha, bits), []).append(value)
    return {candidate: {k: float(np.mean(v)) for k, v in cells.items()} for candidate, cells in found.items()}


def differences(values: Values, published: str = "BBC") -> dict[str, list[float]]:
    """Ours minus published of the 16 cells, by method: four of Table 1, then four of Figure 1.

    >>> exact = {("LSH", 0.5, bits): table1()["BBC", bits, "LSH"] for bits in BITS}
    >>> exact |= {("LSH", alpha, 32): figure1()["BBC", alpha, "LSH"] for alpha in ALPHAS if alpha != 0.5}
    >>> [round(value, 1) for value in differences(exact)["LSH"]]
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0]
    """
    return {
        method: [values[method, 0.5, bits] - table1()[published, bits, method] for bits in BITS]
        + [values[method, alpha, 32] - figure1()[published, alpha, method] for alpha in ALPHAS]
        for method in METHODS
        if (method, 0.5, 8) in values
    }


def records(found: dict[Candidate, Values]) -> list[dict[str, Any]]:
    """Return one record per candidate: the mean distance of each method, the worst cell of LSH, and all cells."""
    table = []
    for candidate, values in found.items():
        by_method = differences(values)
        record: dict[str, Any] = {"candidate": candidate.title}
        record |= {f"{method} distance": round(float(np.abs(d).mean()), 2) for method, d in by_method.items()}
        worst = int(np.abs(by_method["LSH"]).argmax())
        record["LSH worst"] = round(by_method["LSH"][worst], 2)
        where = [*(f"{bits} bits" for bits in BITS), *(f"alpha {alpha:g}" for alpha in ALPHAS)]
        cells = ((m, w, v) for m, d in by_method.items() for w, v in zip(where, d, strict=True))
        record |= {f"{method} {name}": round(value, 2) for method, name, value in cells}
        table.append(record)
    return table


def draw(found: dict[Candidate, Values]) -> Figure:
    """LSH over alpha under three protocols, and the published curve, on every set."""
    sets = [shown for shown in SETS.values() if shown.counted]
    figure, axes, grid = panels([shown.title for shown in sets], 2, (4.6, 3.0), extra=0.9, least=7.5, fontsize=9)
    figure.suptitle("LSH learns nothing: its curve shows the evaluation alone (MAP in %, 32 bits)", fontsize=11)
    for axis, shown in zip(axes, sets, strict=True):
        for candidate, values in found.items():
            if candidate.data == shown.data:
                axis.plot(ALPHAS, [values["LSH", a, 32] for a in ALPHAS], marker="o", ms=4, label=candidate.title)
        y = [figure1()[str(shown.published), alpha, "LSH"] for alpha in ALPHAS]
        axis.plot(ALPHAS, y, color="black", linestyle=":", marker="v", label="published")
        axis.set_xticks(ALPHAS)
    for axis in grid[-1]:
        axis.set_xlabel("alpha")
    legend_below(figure, axes, columns=4)
    return figure


def fingerprint(
    splits: Annotated[int, typer.Option("--splits", help="Splits of BBC; the figure has at most 3.")] = 10,
    results: ResultsFolder = Path("results"),
    output: Annotated[Path, typer.Option("--output", help="Folder for the table and the figure.")] = Path(
        "docs/results"
    ),
    workers: Annotated[int, typer.Option("--workers", help="Processes.")] = 2,
    data_home: DataHome = None,
) -> None:
    """Candidate protocols against the published values of LSH and DSH."""
    from rich.console import Console

    store, home = ResultStore(results), None if data_home is None else str(data_home)
    seeds = range(splits)
    bbc = [FingerprintTask(one, seed, METHODS, BITS, home) for one in candidates() for seed in seeds]
    curves = [FingerprintTask(one, seed, ("LSH",), (32,), home) for one in protocols() for seed in seeds[:3]]
    run_missing(Console(), [*bbc, *curves], store, home, workers)
    drawn = draw(mean_values(curves, store))
    output.mkdir(parents=True, exist_ok=True)
    atomic_write(output / "fingerprint.csv", to_csv(records(mean_values(bbc, store))))
    for ending in ("png", "svg"):
        atomic_write(output / f"fingerprint.{ending}", figure_bytes(drawn, ending))
