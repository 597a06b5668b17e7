"""A tuned rival with the calls of a hasher, as the benchmark needs them."""

from __future__ import annotations

from typing import Any

from experiments.rivals import RIVALS
from experiments.rivals.features import Floats
from experiments.rivals.tuning import Pairs, Tuned, tuned
from thpi.codes import pack_signs


class RivalHasher:
    """A rival by name, told what relevant means.

    >>> import numpy as np
    >>> X = np.random.RandomState(0).standard_normal((40, 5))
    >>> RivalHasher("kernel_pca", 8, "target").fit(Pairs(X, seed=0)).transform(X).shape
    (40, 1)
    """

    tuned_: Tuned

    def __init__(self, name: str, n_bits: int, relevance: str) -> None:
        self.rival, self.n_bits, self.relevance = RIVALS[name], n_bits, relevance

    def get_params(self) -> dict[str, Any]:
        """Return what a result depends on: also what folds choose from, so that other grids are other results."""
        return {"n_bits": self.n_bits, "relevance": self.relevance, "stages": self.rival.stages}

    def fit(self, pairs: Pairs) -> RivalHasher:
        """Tune and learn; the pairs may be shared with other rivals, and so are their features."""
        self.tuned_ = tuned(self.rival, pairs, self.relevance, self.n_bits)
        return self

    def decision_function(self, rows: Any) -> Floats:
        """Return the projections, whose signs are the code."""
        return self.tuned_(rows)

    def transform(self, rows: Any) -> Any:
        """Return packed codes."""
        return pack_signs(self.decision_function(rows))
