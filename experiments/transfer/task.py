"""One split of one data set: fit every line, measure it under every meaning of relevant, keep each result at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import thpi
from experiments.harness.bench import Bench, make_bench
from experiments.harness.data import DataSpec, load_rows
from experiments.harness.protocol import PROTOCOLS
from experiments.harness.store import ResultStore
from experiments.rivals.tuning import Pairs
from experiments.transfer.lines import LINES, Line
from thpi.base import TooManyBitsError

KIND = "transfer"
PROTOCOL = PROTOCOLS["standard"]


class Fit(NamedTuple):
    """One fit: a line at a code length, for one meaning of relevant (None: the method does not ask)."""

    line: str
    bits: int
    relevance: str | None


@dataclass(frozen=True)
class TransferTask:
    """All fits of one split: the unit of work that is given to a process."""

    set_name: str
    data: DataSpec
    alpha: float
    seed: int
    bits: tuple[int, ...]
    control_bits: tuple[int, ...]
    lines: tuple[str, ...]
    relevances: tuple[str, ...]
    identity: dict[str, Any] = field(compare=False)

    @property
    def fits(self) -> tuple[Fit, ...]:
        """What is to be fitted."""
        return tuple(
            Fit(key, bits, relevance)
            for bits in self.bits
            for key in self.lines
            if bits in self.control_bits or not LINES[key].one_length
            for relevance in LINES[key].told(self.relevances)
        )

    def config(self, fit: Fit) -> dict[str, Any]:
        """What a result depends on."""
        return {
            "thpi": thpi.__version__,
            "data": self.identity,
            "protocol": PROTOCOL.name,
            "alpha": self.alpha,
            "seed": self.seed,
            **LINES[fit.line].to_dict(fit.bits, fit.relevance),
        }

    @property
    def label(self) -> str:
        """What is shown while tasks run."""
        return f"{self.set_name}, alpha {self.alpha:g}, split {self.seed}"

    def left(self, store: ResultStore) -> int:
        """Number of fits without a result; files are not read for it."""
        paths = {store.path(KIND, self.config(fit), "json") for fit in self.fits}
        return sum(not path.is_file() for path in paths)

    def run(self, store: ResultStore, data_home: str | None = None) -> None:
        """Do the fits that have no result yet."""
        done = finished(self, store)
        missing = [fit for fit in self.fits if fit not in done]
        if not missing:
            return
        bench = make_bench(load_rows(self.data, data_home), PROTOCOL, self.alpha, self.seed, self.identity, store)
        for fit in missing:
            config = self.config(fit)
            if store.read_values(KIND, config) is None:  # lines with different measures may share a fit
                store.write_values(KIND, config, _result(bench, fit))


def finished(task: TransferTask, store: ResultStore) -> dict[Fit, dict[str, Any]]:
    """Return the results of a task that exist."""
    known = ((fit, store.read_values(KIND, task.config(fit))) for fit in task.fits)
    return {fit: values for fit, values in known if values is not None}


def fitted(bench: Bench, line: Line, bits: int, told: str | None) -> tuple[Any, Any]:
    """Return the hasher of a line, fitted for a meaning of relevant, and the target rows that it codes."""
    if line.role == "rival":
        return _fitted_rival(bench, line, bits, told), bench.views.target
    hasher = line.hasher(bits, told, bench.seed)
    if line.trained_on == "pairs":
        return bench.fitted_on_pairs(hasher, with_labels=told == "labels", shuffled=line.shuffled)
    target, rows, S, _ = bench.training("all")
    return hasher.fit(target[rows], privileged=S if line.per_relevance else None), target


def _fitted_rival(bench: Bench, line: Line, bits: int, told: str | None) -> Any:
    """Return a rival, fitted; all rivals of a split share features, and both orders of one share the fit."""
    if Pairs not in bench.shared:
        target, rows, S, unpaired = bench.training()
        labels = bench.known_labels if "labels" in bench.kinds else None
        bench.shared[Pairs] = Pairs(target[rows], labels, S, unpaired, seed=bench.seed)
    key = (line.method, bits, told)
    if key not in bench.shared:
        bench.shared[key] = line.hasher(bits, told, bench.seed).fit(bench.shared[Pairs])
    return bench.shared[key]


def _result(bench: Bench, fit: Fit) -> dict[str, Any]:
    """Fit and measure; the reason where the data do not allow this many bits."""
    if fit.relevance == "labels" and "labels" not in bench.kinds:
        return {"unavailable": f"{bench.dataset.name} has neither classes nor tags"}
    line = LINES[fit.line]
    start = time.perf_counter()
    try:
        hasher, target = fitted(bench, line, fit.bits, fit.relevance)
    except TooManyBitsError as error:
        return {"unavailable": str(error)}
    seconds = time.perf_counter() - start
    about = {"n_rows": bench.dataset.n, "n_pairs": len(bench.split.train), "seconds": seconds}
    return {"measures": bench.measured(hasher, target, line.order), **about, **_choice(hasher)}


def _choice(hasher: Any) -> dict[str, Any]:
    """What an AutoHasher chose, or the folds for a rival."""
    if hasattr(hasher, "tuned_"):
        return {"params": {name: repr(value) for name, value in hasher.tuned_.params.items()}}
    if not hasattr(hasher, "choice_"):
        return {}
    return {"choice": hasher.choice_, "choice_params": hasher.choice_params_, "uses_source": hasher.uses_source_}


def forget(tasks: Sequence[TransferTask], store: ResultStore, lines: tuple[str, ...]) -> None:
    """Remove the results of some lines: for methods whose code has changed but whose parameters have not."""
    unknown = [line for line in lines if line not in LINES]
    if unknown:
        raise ValueError(f"again: {unknown[0]!r} is not one of {', '.join(LINES)}.")
    for task in tasks:
        for fit in task.fits:
            if fit.line in lines:
                store.path(KIND, task.config(fit), "json").unlink(missing_ok=True)
