"""Whether the two views of the pairs have anything to do with each other."""

from __future__ import annotations

from thpi.hashers._geometry import Geometry
from thpi.solvers.blocks import spread
from thpi.solvers.loo_ridge import JUDGED_ROWS, loo_ridge

__all__ = ["least_r2", "pairs_r2"]

_MOST_PAIRS = 2000


def pairs_r2(geometry: Geometry) -> float:
    """Share of one view that ridge regression on the other explains, by leave-one-out; the larger of both directions.

    From target to source on the principal components of the source, from source to target by the kernel that imputes
    best.
    """
    source = geometry.source
    assert source is not None
    some = spread(len(geometry.X), _MOST_PAIRS)
    X, S = geometry.X[some], source.linear[geometry.rows[some]]
    forward = loo_ridge(X - X.mean(axis=0), S - S.mean(axis=0)).explained
    return float(max(forward, geometry.imputation.explained))


def least_r2(n: int) -> float:
    """Share that n pairs must explain to count as related.

    Predicting a row by the mean of the others explains ``1 - (n / (n - 1))^2``, about -2 / n, and pairs in the wrong
    order explain no more, up to chance. The threshold is as far above 0. Of views with 2 columns and 20 to 160
    independent rows, 0 to 3 % pass it; of wider views none did.

    >>> least_r2(100)
    0.02
    """
    return 2 / min(n, JUDGED_ROWS)
