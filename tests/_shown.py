"""What a page shows, compared with what is printed.

Words and their order must agree; spaces and line breaks need not, because a changed digit can wrap a line elsewhere.
Whole numbers must be equal. A number with decimals may be off by ``UNITS`` of the last digit shown: other processors
round differently. ``...`` stands for words or lines that the page leaves out.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import groupby

UNITS = 3
LEFT_OUT = "..."
NUMBER = r"[+-]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
BAR = "[█▏▎▍▌▋▊▉]+"
RULE = "─+"
TOKEN = re.compile(rf"\.\.\.|{NUMBER}|{BAR}|{RULE}|[^\W\d]+|\S")


def check_shown(shown: str, printed: str, where: str = "the page") -> None:
    """Raise AssertionError unless ``printed`` is what the page shows."""
    tokens, have = TOKEN.findall(shown), TOKEN.findall(printed)
    parts = [list(part) for left_out, part in groupby(tokens, LEFT_OUT.__eq__) if not left_out]
    begins, ends = tokens[:1] != [LEFT_OUT], tokens[-1:] != [LEFT_OUT]
    at = 0
    for number, part in enumerate(parts):
        last = len(have) - len(part)
        first = last if ends and number == len(parts) - 1 else at
        final = 0 if begins and number == 0 else last
        found = next((i for i in range(max(at, first), final + 1) if _alike(part, have[i : i + len(part)])), None)
        assert found is not None, f"{where} shows\n\n{' '.join(part)}\n\nbut this is printed:\n\n{printed}"
        at = found + len(part)


def _alike(shown: list[str], printed: list[str]) -> bool:
    return len(shown) == len(printed) and all(map(_same, shown, printed))


def _same(shown: str, printed: str) -> bool:
    if re.fullmatch(NUMBER, shown) and re.fullmatch(NUMBER, printed):
        return _same_number(shown, printed)
    if re.fullmatch(BAR, shown) and re.fullmatch(BAR, printed):
        return abs(len(shown) - len(printed)) <= 1
    return shown == printed or bool(re.fullmatch(RULE, shown) and re.fullmatch(RULE, printed))


def _same_number(shown: str, printed: str) -> bool:
    """Equal if whole; else with as many decimals, with or without a sign alike, and near."""
    digits = len(shown.partition(".")[2])
    if digits != len(printed.partition(".")[2]) or (shown[0] == "+" and printed[0] not in "+-"):
        return False
    values = [Decimal(text.replace(",", "")) for text in (shown, printed)]
    return abs(values[0] - values[1]) <= (UNITS * Decimal(10) ** -digits if digits else 0)
