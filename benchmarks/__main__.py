"""``python -m benchmarks [--full] [--threads 1 2] [--only PATTERN] [--output FILE]``: all comparisons of speed.

Runs the cases and growths of every ``benchmarks/speed_*.py``. A case that fails is reported and the run goes on; the
exit code is then 1. A missed target is not a failure; the table shows it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks._cases import Case, measure
from benchmarks._growth import Growth, measure_growth
from benchmarks._machine import Peaks, machine_line, measured_peaks
from benchmarks._table import case_header, case_row, growth_rows, lined_up, markdown, put_between_markers

Table = tuple[list[str], list[list[str]]]


def modules() -> Iterator[ModuleType]:
    for path in sorted(Path(__file__).parent.glob("speed_*.py")):
        yield import_module(f"benchmarks.{path.stem}")


class Run:
    """One run of everything: what was asked for, the tables so far, and what failed."""

    def __init__(self, peaks: dict[int, Peaks], only: str, full: bool) -> None:
        self.threads, self.peaks, self.only, self.full = list(peaks), list(peaks.values()), only.lower(), full
        self.case_rows: list[list[str]] = []
        self.growth_tables: list[Table] = []
        self.failures: list[str] = []

    def wants(self, module: ModuleType, what: str) -> bool:
        return self.only in what.lower() or self.only in module.__name__

    def all(self) -> None:
        for module in modules():
            for kind, take in (("cases", self.case), ("growths", self.growth)):
                items = iter(getattr(module, kind)(self.full)) if hasattr(module, kind) else iter(())
                while True:
                    name = f"{kind} of {module.__name__}"
                    try:
                        item = next(items)
                    except StopIteration:
                        break
                    except Exception as error:  # its data could not be made; a generator ends with that
                        self.failed(name, error)
                        break
                    if self.wants(module, item.what):
                        take(item)
                    del item  # its data go before the next ones are made

    def case(self, case: Case) -> None:
        start = time.perf_counter()
        print(f"{case.what} | against {case.against} ...", end=" ", flush=True)
        try:
            row = case_row(case, [measure(case, n) for n in self.threads], self.peaks)
        except Exception as error:
            self.failed(case.what, error)
            return
        self.case_rows.append(row)
        ratios = ", ".join(row[4 : 4 + len(self.threads)])
        print(f"ratio {ratios}, target {row[-4]}, met: {row[-3]} ({time.perf_counter() - start:.0f} s)", flush=True)

    def growth(self, growth: Growth) -> None:
        print(f"{growth.what} at n = {', '.join(map(str, growth.sizes))} ...", end=" ", flush=True)
        try:
            # The exponent is the same whatever the threads; the largest number of them takes the least time.
            grown = measure_growth(growth, max(self.threads))
        except Exception as error:
            self.failed(growth.what, error)
            return
        self.growth_tables.append(growth_rows(growth, grown))
        print(f"exponent {grown.exponent:.2f}, target <= {growth.target:.3g}", flush=True)

    def failed(self, what: str, error: Exception) -> None:
        self.failures.append(f"{what}: {type(error).__name__}: {error}")
        print(f"FAILED: {type(error).__name__}: {error}", flush=True)

    def tables(self) -> list[Table]:
        return ([(case_header(self.threads), self.case_rows)] if self.case_rows else []) + self.growth_tables


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare speeds side by side.")
    parser.add_argument("--full", action="store_true", help="the sizes of the targets; without it, minutes in all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (default: 1 2)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose name or file contains this")
    parser.add_argument("--output", type=Path, metavar="FILE", help="put the tables between the markers of this file")
    options = parser.parse_args(arguments)
    peaks = measured_peaks(options.threads)
    machine = machine_line(peaks)
    print(machine, flush=True)
    run = Run(peaks, options.only, options.full)
    run.all()
    for header, rows in run.tables():
        print("\n" + lined_up(header, rows))
    for failure in run.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if options.output is not None:
        command = "make bench FULL=1" if options.full else "make bench"
        parts = [f"## Speed: `{command}`", machine, *(markdown(*table) for table in run.tables())]
        parts += [f"Failed: {failure}" for failure in run.failures]
        put_between_markers(options.output, "\n\n".join(parts))
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
