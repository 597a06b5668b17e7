"""One fit of one method, described so that the description can be the key of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from experiments.paper.published import METHOD_TITLES
from thpi import HASHERS

TUNED = {"ITQPlus": ("lambda1",), "LapITQPlus": ("lambda1", "lambda2"), "CCAITQ": ("ridge",), "CVH": ("ridge",)}
"""Parameters that cross-validation chooses."""

_FIXED: dict[str, dict[str, Any]] = {"CCAITQ": {"ridge": 0.1, "fill": "pca"}, "CVH": {"ridge": 0.1, "fill": "pca"}}
"""What the experiments set: CCA and not partial least squares, and codes longer than the narrower view is wide."""


@dataclass(frozen=True)
class MethodRun:
    """A method, the length of its codes, its training rows, and its parameters.

    ``trained_on`` is ``"pairs"``, the n training rows, or ``"all"``, every row that is not a query: the reference
    line "all target data". ``parameters`` empty means that lambda1 and lambda2, where the method has them, are
    selected on the training pairs; the ridge of CCA-ITQ and CVH is 0.1 or, with ``tuned``, selected as well.

    >>> MethodRun("LapITQPlus", 32).selected, MethodRun("CVH", 32).selected, MethodRun("CVH", 32, tuned=True).selected
    (True, False, True)
    """

    method: str
    bits: int
    trained_on: Literal["pairs", "all"] = "pairs"
    parameters: tuple[tuple[str, float], ...] = ()
    tuned: bool = False

    def __post_init__(self) -> None:
        if self.method not in HASHERS:
            raise ValueError(f"method={self.method!r} is not known; the methods are {', '.join(HASHERS)}.")

    @property
    def selected(self) -> bool:
        """Whether parameters come from selection."""
        return not self.parameters and (self.tuned or self.method in ("ITQPlus", "LapITQPlus"))

    @property
    def title(self) -> str:
        """Name in print.

        >>> MethodRun("ITQ", 8, "all").title, MethodRun("CCAITQ", 8, tuned=True).title
        ('ITQ, all target data', 'CCA-ITQ, tuned')
        """
        more = (", all target data" if self.trained_on == "all" else "") + (", tuned" if self.tuned else "")
        return METHOD_TITLES[self.method] + more

    @property
    def label(self) -> str:
        """Short name, different for each run of one code length."""
        fixed = "".join(f" {name}={value:g}" for name, value in self.parameters)
        return self.method + (" (all target data)" if self.trained_on == "all" else "") + fixed + " tuned" * self.tuned

    def hasher(self, **parameters: Any) -> Any:
        """Return the unfitted method with what the experiments set, and with ``parameters``."""
        return HASHERS[self.method](n_bits=self.bits, **{**_FIXED.get(self.method, {}), **parameters})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the key of a result: all parameters of the method, its defaults included.

        When a default changes, the key changes and the fit is done anew.
        """
        values = self.hasher(**dict(self.parameters)).get_params()
        if self.selected:
            values |= dict.fromkeys(TUNED[self.method], "selected")
        return {"method": self.method, "trained_on": self.trained_on, "parameters": values}
