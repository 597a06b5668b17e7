"""One split of one data set: fit every line, measure it under every meaning of relevant, keep each result at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import thpi
from thpi.base import TooManyBitsError
from thpi.evaluation import DataSpec, ResultStore
from thpi.evaluation.data import load_rows
from thpi.transfer_report.bench import PROTOCOL, Bench, make_bench
from thpi.transfer_report.lines import LINES

__all__ = ["Fit", "TransferTask", "finished", "fits_left", "forget", "run_transfer_task"]

KIND = "transfer"


class Fit(NamedTuple):
    """One fit: a line at a code length, told one meaning of relevant (None: the line is not told)."""

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
        """What a result hangs on."""
        return {
            "thpi": thpi.__version__,
            "data": self.identity,
            "protocol": PROTOCOL.name,
            "alpha": self.alpha,
            "seed": self.seed,
            **LINES[fit.line].to_dict(fit.bits, fit.relevance),
        }


def finished(task: TransferTask, store: ResultStore) -> dict[Fit, dict[str, Any]]:
    """Give the results of a task that are there."""
    known = ((fit, store.read_values(KIND, task.config(fit))) for fit in task.fits)
    return {fit: values for fit, values in known if values is not None}


def run_transfer_task(task: TransferTask, store: ResultStore, data_home: str | None = None) -> None:
    """Do the fits of a task that have no result yet."""
    done = finished(task, store)
    missing = [fit for fit in task.fits if fit not in done]
    if not missing:
        return
    bench = make_bench(load_rows(task.data, data_home), task.alpha, task.seed, task.identity, store)
    for fit in missing:
        config = task.config(fit)
        if store.read_values(KIND, config) is None:  # lines that are judged by different meanings may share a fit
            store.write_values(KIND, config, _result(bench, fit))


def _result(bench: Bench, fit: Fit) -> dict[str, Any]:
    """Fit and measure; where the data do not allow so many bits, the reason."""
    if fit.relevance == "labels" and "labels" not in bench.kinds:
        return {"unavailable": f"{bench.dataset.name} has neither classes nor tags"}
    line = LINES[fit.line]
    start = time.perf_counter()
    try:
        hasher, target = bench.fitted(line, fit.bits, fit.relevance)
    except TooManyBitsError as error:
        return {"unavailable": str(error)}
    seconds = time.perf_counter() - start
    about = {"n_rows": bench.dataset.n, "n_pairs": len(bench.split.train), "seconds": seconds}
    return {"measures": bench.measured(hasher, target, line.order), **about, **_choice(hasher)}


def _choice(hasher: Any) -> dict[str, Any]:
    """What an AutoHasher chose."""
    if not hasattr(hasher, "choice_"):
        return {}
    found = next(candidate for candidate in hasher.candidates_ if candidate["name"] == hasher.choice_)
    return {"choice": found["name"], "uses_source": bool(found["uses_source"])}


def fits_left(tasks: list[TransferTask], store: ResultStore) -> Iterator[tuple[TransferTask, int]]:
    """Give the tasks with something left to do, and how many fits."""
    for task in tasks:
        # Reading checks every file; to know whether there is work, its name is enough.
        paths = {store.path(KIND, task.config(fit), "json") for fit in task.fits}
        left = sum(not path.is_file() for path in paths)
        if left:
            yield task, left


def forget(tasks: list[TransferTask], store: ResultStore, lines: tuple[str, ...]) -> None:
    """Remove the results of some lines, for methods whose code has changed though their parameters have not."""
    unknown = [line for line in lines if line not in LINES]
    if unknown:
        raise ValueError(f"again: {unknown[0]!r} is not one of {', '.join(LINES)}.")
    for task in tasks:
        for fit in task.fits:
            if fit.line in lines:
                store.path(KIND, task.config(fit), "json").unlink(missing_ok=True)
