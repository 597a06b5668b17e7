"""One fit of one method, described so that the description can be the key of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from thpi import HASHERS


def tunable(method: str) -> tuple[str, ...]:
    """Return those of lambda1 and lambda2 that a method has.

    >>> tunable("LapITQPlus"), tunable("ITQ")
    (('lambda1', 'lambda2'), ())
    """
    parameters = HASHERS[method]().get_params()
    return tuple(name for name in ("lambda1", "lambda2") if name in parameters)


@dataclass(frozen=True)
class MethodRun:
    """A method, the length of its codes, its training rows, and its parameters.

    ``trained_on`` is ``"pairs"``, the n training rows, or ``"all"``, every row that is not a query: the reference
    line "all target data". ``parameters`` empty means that lambda1 and lambda2, where the method has them, are
    selected on the training pairs.

    >>> MethodRun("LapITQPlus", 32).selected, MethodRun("ITQ", 32).selected
    (True, False)
    """

    method: str
    bits: int
    trained_on: Literal["pairs", "all"] = "pairs"
    parameters: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.method not in HASHERS:
            raise ValueError(f"method={self.method!r} is not known; the methods are {', '.join(HASHERS)}.")

    @property
    def selected(self) -> bool:
        """Whether lambda1 and lambda2 come from selection."""
        return not self.parameters and bool(tunable(self.method))

    @property
    def label(self) -> str:
        """Short name, different for each run of one code length."""
        fixed = "".join(f" {name}={value:g}" for name, value in self.parameters)
        return self.method + (" (all target data)" if self.trained_on == "all" else "") + fixed

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the key of a result: all parameters of the method, its defaults included.

        When a default changes, the key changes and the fit is done anew.
        """
        hasher = HASHERS[self.method](n_bits=self.bits).set_params(**dict(self.parameters))
        values = hasher.get_params()
        if self.selected:
            values |= dict.fromkeys(tunable(self.method), "selected")
        return {"method": self.method, "trained_on": self.trained_on, "parameters": values}
