"""A plot of recall against bytes in characters, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from string import ascii_letters

Points = Mapping[str, Sequence[tuple[int, float]]]


def draw_points(points: Points, wished: float, width: int = 64, height: int = 15) -> list[str]:
    """Draw named points (bytes, percent) on a logarithmic axis of bytes, a letter a name; the first name is on top.

    >>> print(chr(10).join(draw_points({"ITQ": [(8, 50.0), (16, 60.0)], "PQ": [(8, 40.0)]}, 55, width=12, height=5)))
     60 |           a
     55 |············
     50 |a
     45 |
     40 |b
        +------------
         8         16  bytes
      a ITQ   b PQ
    """
    sizes = [size for line in points.values() for size, _ in line]
    heights = [value for line in points.values() for _, value in line]
    low, high = min([*heights, wished]), max([*heights, wished])
    first, span = log2(min(sizes)), (log2(max(sizes)) - log2(min(sizes))) or 1.0
    rise = (high - low) or 1.0
    cells = [[" "] * width for _ in range(height)]

    def column(size: float) -> int:
        return round((log2(size) - first) / span * (width - 1))

    def row(value: float) -> int:
        return height - 1 - round((value - low) / rise * (height - 1))

    cells[row(wished)] = ["·"] * width
    letters = dict(zip(points, ascii_letters, strict=False))
    for name in reversed(list(points)):
        for size, value in points[name]:
            cells[row(value)][column(size)] = letters.get(name, "*")
    marks = [f"{high - rise * number / (height - 1):4.0f}" for number in range(height)]
    lines = [f"{mark} |{''.join(line)}".rstrip() for mark, line in zip(marks, cells, strict=True)]
    return [*lines, "     +" + "-" * width, f"      {_ticks(sizes, column, width)}  bytes", *_legend(letters, width)]


def _ticks(sizes: Sequence[int], column: object, width: int) -> str:
    assert callable(column)
    line = [" "] * width
    powers = {2**power for power in range(24)} & set(range(min(sizes), max(sizes) + 1))
    taken = -1
    for size in sorted(powers | {min(sizes)}):
        text = str(size)
        start = min(max(0, column(size) - len(text) // 2), width - len(text))
        if start > taken:
            line[start : start + len(text)] = text
            taken = start + len(text)
    return "".join(line).rstrip()


def _legend(letters: Mapping[str, str], width: int) -> list[str]:
    lines: list[str] = []
    line = " "
    for name, letter in letters.items():
        entry = f" {letter} {name}  "
        if len(line) + len(entry) > width + 10:
            lines, line = [*lines, line.rstrip()], " "
        line += entry
    return [*lines, line.rstrip()]
