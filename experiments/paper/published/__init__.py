"""The figures that the paper prints, as data.

``table1.csv`` is Table 1 of "Transfer Hashing with Privileged Information" (IJCAI 2016). ``figure1.csv`` is its
Figure 1, read off the vector figures of the follow-up (IEEE TNNLS 2018), to about 0.2 points. Of Figure 2 three
points of LapITQ+ could be read; of Figure 3 only the values in its footnote are given as numbers.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

METHOD_TITLES = {
    "LSH": "LSH",
    "DSH": "DSH",
    "CCAITQ": "CCA-ITQ",
    "CVH": "CVH",
    "ITQPlus": "ITQ+",
    "LapITQPlus": "LapITQ+",
    "ITQ": "ITQ",
    "SpectralHashing": "Spectral Hashing",
}
"""Names of the methods in print, the paper's six first."""

TABLE_ALPHA = 0.5
"""The alpha of Table 1 and Figures 2 and 3."""

FIGURE_BITS = 32
"""The code length of the figures."""

FIGURE2_LAPITQPLUS = {
    "BBC": {10: 50.0, 100: 39.5, 500: 31.0},
    "Reuters": {10: 23.0, 100: 19.5, 500: 14.0},
    "NUS-WIDE": {10: 57.0, 100: 50.5, 500: 44.0},
}
"""Precision at K (%) of LapITQ+, 32 bits."""

FIGURE3_AT_ZERO = {
    "lambda1": {"BBC": 28.49, "Reuters": 11.52, "NUS-WIDE": 41.78},
    "lambda2": {"BBC": 27.56, "Reuters": 13.37, "NUS-WIDE": 42.41},
}
"""LapITQ+ at 32 bits with one parameter 0 and the other .01 (footnote to Figure 3)."""


@cache
def table1() -> dict[tuple[str, int, str], float]:
    """MAP (%) by the paper's data set, bits and method (class name), at alpha = .5.

    >>> table1()["BBC", 32, "LapITQPlus"], len(table1())
    (30.3, 72)
    """
    return {(name, int(bits), method): value for name, bits, method, value in _read("table1.csv")}


@cache
def figure1() -> dict[tuple[str, float, str], float]:
    """MAP (%) by the paper's data set, alpha and method (class name), at 32 bits.

    >>> figure1()["BBC", 0.1, "LSH"]
    17.2
    """
    return {(name, float(alpha), method): value for name, alpha, method, value in _read("figure1.csv")}


def _read(name: str) -> list[tuple[str, str, str, float]]:
    text = files("experiments.paper.published").joinpath(name).read_text("utf-8")
    header, *rows = csv.reader(text.splitlines())
    class_of = {title: method for method, title in METHOD_TITLES.items()}
    return [
        (row[0], row[1], class_of[title], float(value))
        for row in rows
        for title, value in zip(header[2:], row[2:], strict=True)
    ]
