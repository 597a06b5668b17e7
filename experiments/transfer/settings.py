"""Which data sets, how many pairs, how many bits, how many splits."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from experiments.datasets import DATASETS
from experiments.harness.data import DataSpec, check_grid, data_identity
from experiments.harness.protocol import RELEVANCES
from experiments.transfer.lines import LINES, NO_SOURCE
from experiments.transfer.task import TransferTask

MAX_ROWS = 3_000
USES = ("development", "confirmation", "further")


@dataclass(frozen=True)
class TransferSet:
    """A data set of the benchmark and what it was used for.

    ``"development"`` sets were looked at while methods and defaults were chosen; ``"confirmation"`` sets were not.
    ``"further"`` sets joined after the choice.
    A set that is not ``labelled`` has tags in place of classes.
    """

    name: str
    data: DataSpec
    use: str
    labelled: bool


SETS: dict[str, TransferSet] = {
    name: TransferSet(
        name, DataSpec(entry.name, MAX_ROWS if entry.large else None, tuple(options.items())), use, entry.labelled
    )
    for use in USES
    for entry in DATASETS.values()
    if entry.transfer is not None and entry.transfer.use == use
    for name, options in (entry.transfer.variants or {entry.name: {}}).items()
}
"""The data sets by name; ``digits-fac-pix`` has the source view fac and the target view pix."""


@dataclass(frozen=True)
class TransferSettings:
    """What is run. Splits have the seeds 0, 1, ...; ``max_rows`` bounds every set (quick runs).

    The controls cost as much as AutoHasher itself; ``control_bits`` None runs them at the middle code length only.
    """

    sets: tuple[str, ...] = tuple(SETS)
    alphas: tuple[float, ...] = (0.05, 0.1, 0.3)
    bits: tuple[int, ...] = (16, 32, 64)
    splits: int = 5
    relevances: tuple[str, ...] = tuple(RELEVANCES)
    lines: tuple[str, ...] = tuple(LINES)
    control_bits: tuple[int, ...] | None = None
    max_rows: int | None = None
    quick: bool = False

    @property
    def middle_bits(self) -> int:
        """The code length of the figures and, by default, of lines of one length."""
        return sorted(self.bits)[(len(self.bits) - 1) // 2]

    @property
    def control_lengths(self) -> tuple[int, ...]:
        """Code lengths of the lines of one length."""
        return (self.middle_bits,) if self.control_bits is None else self.control_bits

    def data(self, name: str) -> DataSpec:
        """Return the rows of a set."""
        spec = SETS[name].data
        return spec if self.max_rows is None else replace(spec, max_rows=self.max_rows)

    def check(self) -> None:
        """Refuse what cannot be run, before anything runs."""
        for argument, values, allowed in (
            ("sets", self.sets, tuple(SETS)),
            ("relevances", self.relevances, tuple(RELEVANCES)),
            ("lines", self.lines, tuple(LINES)),
        ):
            if not values:
                raise ValueError(f"{argument} is empty; it must have some of {', '.join(allowed)}.")
            for value in values:
                if value not in allowed:
                    raise ValueError(f"{argument}: {value!r} is not one of {', '.join(allowed)}.")
        check_grid(self.alphas or (0.0,), self.bits or (0,), self.splits)
        for bits in self.control_lengths:
            if bits not in self.bits:
                raise ValueError(f"control_bits: {bits!r} is not one of the code lengths {self.bits}.")


def named_lines(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return lines by name, in the order of the tables: all rivals for ``"rivals"``, and ITQ to compare with.

    >>> named_lines(("auto",))
    ('itq', 'auto')
    >>> named_lines(("rivals",))[:2]
    ('itq', 'rival_kernel_pca')
    """
    rivals = [key for key, line in LINES.items() if line.role == "rival"] if "rivals" in names else []
    asked = {NO_SOURCE, *rivals, *names} - {"rivals"}
    return tuple(sorted(asked, key=lambda name: [*LINES, name].index(name)))


def quick_settings(**changes: Any) -> TransferSettings:
    """Return settings that run in a minute or two on the bundled digits: 1,000 rows, 2 splits, 16 bits.

    >>> quick_settings().sets
    ('digits-fac-pix', 'digits-pix-fou')
    """
    settings = TransferSettings(
        ("digits-fac-pix", "digits-pix-fou"), alphas=(0.1, 0.3), bits=(16,), splits=2, max_rows=1_000, quick=True
    )
    return replace(settings, **changes)


def transfer_tasks(settings: TransferSettings, data_home: str | os.PathLike[str] | None = None) -> list[TransferTask]:
    """Return all work, one task per split; unknown names, missing files and unfit settings raise here.

    >>> tasks = transfer_tasks(quick_settings())
    >>> len(tasks), tasks[0].set_name, tasks[0].alpha
    (8, 'digits-fac-pix', 0.3)
    """
    settings.check()
    tasks = []
    for name in settings.sets:
        identity = data_identity(settings.data(name), data_home)
        # The longest of a set first, so that no core is idle at the end; set by set, so that rows stay loaded.
        tasks += [
            TransferTask(
                name,
                settings.data(name),
                alpha,
                seed,
                settings.bits,
                settings.control_lengths,
                settings.lines,
                settings.relevances,
                identity,
            )
            for alpha in sorted(settings.alphas, reverse=True)
            for seed in range(settings.splits)
        ]
    return tasks
