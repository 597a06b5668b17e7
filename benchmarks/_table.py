"""The tables of the benchmarks, lined up for the terminal or as markdown, and putting them into a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks._cases import Case, Measured
from benchmarks._growth import Grown, Growth
from benchmarks._machine import Peaks

__all__ = ["BEGIN", "END", "case_header", "case_row", "growth_rows", "lined_up", "markdown", "put_between_markers"]

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"

Row = Sequence[str]


def case_header(threads: Sequence[int]) -> list[str]:
    ratios = [f"ratio, {n} thread{'s' * (n > 1)}" for n in threads]
    return ["what", "against", "ours", "other", *ratios, "target", "met", "limit / ours", "remark"]


def case_row(case: Case, measured: Sequence[Measured], peaks: Sequence[Peaks]) -> list[str]:
    """Return the line of one case, ``measured`` at each number of threads; the seconds are those of the first.

    "limit / ours" is the least time that the machine would need over the time of ours, for each number of threads.
    """
    least = [peak.least_seconds(case.operations, case.bytes_read) for peak in peaks]
    met = all(m.ratio <= case.target for m in measured)
    return [
        case.what,
        case.against,
        seconds(measured[0].ours),
        seconds(measured[0].other),
        *(f"{m.ratio:.3g}" for m in measured),
        f"<= {case.target:.3g}",
        "yes" if met else "NO",
        ", ".join(f"{100 * low / m.ours:.0f} %" for low, m in zip(least, measured, strict=True) if low > 0),
        measured[0].remark,
    ]


def growth_rows(growth: Growth, grown: Grown) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of one growth: one column per size, then the exponent and whether it meets the target."""

    def verdict(found: float | None, target: float | None) -> list[str]:
        if found is None or target is None:
            return ["" if found is None else f"{found:.2f}", "", ""]
        return [f"{found:.2f}", f"<= {target:.3g}", "yes" if found <= target else "NO"]

    peaks = ["" if m is None else f"{m:.0f} MiB" for m in grown.mebibytes]
    return [growth.what, *(f"n = {n:,}" for n in growth.sizes), "exponent", "target", "met"], [
        ["time", *map(seconds, grown.seconds), *verdict(grown.exponent, growth.target)],
        ["peak memory", *peaks, *verdict(grown.memory_exponent, growth.memory_target)],
    ]


def seconds(value: float) -> str:
    """Write a time with its unit.

    >>> seconds(0.01234), seconds(12.34)
    ('12.3 ms', '12.3 s')
    """
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def lined_up(header: Row, rows: Sequence[Row]) -> str:
    """Line up columns by spaces."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return "\n".join(line.rstrip() for line in lines)


def markdown(header: Row, rows: Sequence[Row]) -> str:
    """Write a table as markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def put_between_markers(path: Path, section: str, name: str = "speed") -> None:
    """Put ``section`` between two markers of a file and leave the rest as it is; add them to a file without."""
    begin, end = BEGIN.replace("speed", name), END.replace("speed", name)
    text = path.read_text(encoding="utf-8") if path.exists() else "# Measured\n"
    if (begin in text) != (end in text) or text.count(begin) > 1 or text.count(end) > 1:
        raise ValueError(f"{path} must have {begin} and {end} once each, or neither.")
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path} has {end} before {begin}.")
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(f"{before}{begin}\n{section.strip()}\n{end}{after}", encoding="utf-8")
    os.replace(temporary, path)
