"""What an attack did, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass
class Outcome:
    """One row of the table: how often something was tried, what came of it, and what must not have happened."""

    attack: str
    tried: int
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def demand(self, holds: bool, otherwise: str) -> None:
        """Note what went wrong, unless a condition holds."""
        if not holds:
            self.wrong.append(otherwise)


Attack: TypeAlias = Callable[[float, int], Iterator[Outcome]]
"""Takes how long to go on (1 is the size of the reported results, 0.1 a tenth of it) and a seed."""
