"""Whether rows say anything about answers: a permutation test."""

from __future__ import annotations

import numpy as np

from thpi._types import Array

__all__ = ["dependence_p_value"]


def dependence_p_value(X: Array, Y: Array, rng: np.random.RandomState, n_permutations: int = 199) -> float:
    """Return the p-value of the Hilbert-Schmidt independence criterion of rows ``X`` and answers ``Y``.

    The statistic is ``sum_ij K_ij y_i'y_j``, where ``K`` are the inner products of centred rows, with a zero diagonal
    and centred: are answers alike where rows are? (Gretton and others 2008.) Its distribution without dependence is
    that of permuted answers. So the p-value is at most p with probability p for unrelated rows, however they are
    distributed.

    >>> rng = np.random.RandomState(0)
    >>> X = rng.standard_normal((50, 3))
    >>> dependence_p_value(X, X[:, :1], rng), dependence_p_value(X, rng.standard_normal((50, 1)), rng) > 0.05
    (0.005, True)
    """
    rows, answers = (values - values.mean(axis=0) for values in (np.asarray(X, float), np.asarray(Y, float)))
    K = rows @ rows.T
    np.fill_diagonal(K, 0.0)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)

    def statistic(values: Array) -> float:
        return float(np.vdot(K @ values, values))

    found = statistic(answers)
    permuted = [statistic(answers[rng.permutation(len(answers))]) for _ in range(n_permutations)]
    return (1 + sum(value >= found for value in permuted)) / (n_permutations + 1)
