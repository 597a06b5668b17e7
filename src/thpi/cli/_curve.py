"""A curve drawn with block characters."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"


def curve(values: Sequence[float], width: int = 60, height: int = 4) -> list[str]:
    """Draw ``values`` from left to right in ``height`` lines of at most ``width`` columns.

    A value is several columns wide if there is room.

    >>> curve([4, 2, 1, 0], width=8, height=1)
    ['██▅▅▃▃▁▁']
    """
    n = min(width, len(values))
    # The first and the last value are always among those drawn.
    chosen = [values[round(i * (len(values) - 1) / max(1, n - 1))] for i in range(n) for _ in range(width // n)]
    low, high = min(chosen), max(chosen)
    steps = 8 * height - 1
    levels = [1 + round((value - low) / (high - low) * steps) if high > low else 1 for value in chosen]
    return [
        "".join(_BLOCKS[min(8, max(0, level - 8 * row))] for level in levels).rstrip()
        for row in reversed(range(height))
    ]
