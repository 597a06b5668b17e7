"""What the store knows, arranged for comparison: MAP in percent by set, meaning of relevant, setting and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.harness.store import ResultStore
from experiments.transfer.lines import LINES
from experiments.transfer.settings import TransferSettings
from experiments.transfer.task import TransferTask, finished

Floats = npt.NDArray[np.float64]


class Setting(NamedTuple):
    """Share of rows that are pairs, and code length."""

    alpha: float
    bits: int


class TransferResults:
    """Finished results of some tasks.

    A setting counts for a set only where every line has a value in every split, so that all columns of a table are
    means over the same runs; the others are in :attr:`left_out`, with the reason. Only lines of one code length have
    been run in fewer settings; they are compared with the other lines in these.
    """

    def __init__(self, settings: TransferSettings, tasks: Sequence[TransferTask], store: ResultStore) -> None:
        self.settings = settings
        self._values: dict[tuple[str, str, Setting, str], dict[int, float]] = {}
        self._about: dict[tuple[str, Setting, str], list[dict[str, Any]]] = {}
        self.left_out: dict[tuple[str, Setting], str] = {}
        self.sizes: dict[str, tuple[int, dict[float, int]]] = {}
        for task in tasks:
            for fit, entry in finished(task, store).items():
                self._add(task, fit.line, Setting(task.alpha, fit.bits), fit.relevance, entry)

    def _add(self, task: TransferTask, line: str, at: Setting, relevance: str | None, entry: dict[str, Any]) -> None:
        if "unavailable" in entry:
            if not (relevance == "labels" and "neither classes nor tags" in entry["unavailable"]):
                self.left_out.setdefault((task.set_name, at), f"{LINES[line].title}: {entry['unavailable']}")
            return
        for kind, measure in entry["measures"].items():
            if not LINES[line].measured_under(relevance, kind):
                continue
            self._values.setdefault((task.set_name, kind, at, line), {})[task.seed] = 100 * measure["map"]
        self._about.setdefault((task.set_name, at, line), []).append({**entry, "relevance": relevance})
        _, pairs = self.sizes.setdefault(task.set_name, (entry["n_rows"], {}))
        pairs[task.alpha] = entry["n_pairs"]

    def lines(self, relevance: str) -> tuple[str, ...]:
        """Lines of the table of one meaning of relevant, in its order."""
        return tuple(k for k, line in LINES.items() if k in self.settings.lines and line.is_under(relevance))

    def columns(self, relevance: str) -> tuple[str, ...]:
        """Lines of that table but rivals and those in asymmetric order, which have tables of their own."""
        shown = (line for line in self.lines(relevance) if LINES[line].order == "hamming")
        return tuple(line for line in shown if LINES[line].role != "rival")

    def sets(self, relevance: str) -> tuple[str, ...]:
        """Sets with at least one setting in which all lines have values."""
        return tuple(name for name in self.settings.sets if self.complete(name, relevance))

    def complete(self, name: str, relevance: str) -> tuple[Setting, ...]:
        """Settings in which every line, but those of one code length, has a value in every split."""
        settings = (Setting(alpha, bits) for alpha in self.settings.alphas for bits in self.settings.bits)
        return tuple(
            at
            for at in settings
            if all(self._has(name, relevance, at, line) for line in self.lines(relevance) if not LINES[line].one_length)
        )

    def _has(self, name: str, relevance: str, at: Setting, line: str) -> bool:
        return len(self._values.get((name, relevance, at, line), {})) == self.settings.splits

    def settings_of(self, name: str, relevance: str, line: str) -> tuple[Setting, ...]:
        """Settings that count for a line: the complete ones or, if it has one length, those in which it was run."""
        return tuple(at for at in self.complete(name, relevance) if self._has(name, relevance, at, line))

    def splits(self, name: str, relevance: str, line: str, at: Setting) -> Floats:
        """MAP by split, in the order of the seeds."""
        values = self._values[name, relevance, at, line]
        return np.array([values[seed] for seed in sorted(values)])

    def runs(self, name: str, relevance: str, line: str, of: str | None = None) -> Floats:
        """MAP of every run, settings x splits; ``of`` restricts to the settings of another line."""
        settings = self.settings_of(name, relevance, line if of is None else of)
        return np.array([self.splits(name, relevance, line, at) for at in settings])

    def seconds(self, name: str, line: str) -> float | None:
        """Median seconds of a fit, all settings together."""
        found = [
            e["seconds"] for (s, _, key), entries in self._about.items() if (s, key) == (name, line) for e in entries
        ]
        return float(np.median(found)) if found else None

    def choices(self, name: str, relevance: str, line: str) -> dict[str, int]:
        """How often each candidate was chosen, most often first."""
        counts = Counter(entry["choice"] for entry in self._chosen(name, relevance, line))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def source_share(self, name: str, relevance: str, line: str) -> float | None:
        """Share of runs in which the choice uses the source."""
        used = [entry["uses_source"] for entry in self._chosen(name, relevance, line)]
        return float(np.mean(used)) if used else None

    def _chosen(self, name: str, relevance: str, line: str) -> list[dict[str, Any]]:
        """Runs of a line that made a choice."""
        return [
            entry
            for at in self.complete(name, relevance)
            for entry in self._about.get((name, at, line), [])
            if entry["relevance"] == (LINES[line].told_as or relevance) and "choice" in entry
        ]
