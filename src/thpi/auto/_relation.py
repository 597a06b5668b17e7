"""Whether the two views of the pairs have anything to do with each other, in words."""

from __future__ import annotations

from thpi.auto._trial import least_r2


class UnrelatedPairsWarning(UserWarning):
    """Neither view of the pairs explains anything of the other: were they joined in the wrong order?"""


def relation(n_pairs: int, r2: float) -> str:
    """Return how closely the two views of the pairs are related, in words; ``r2`` as AutoHasher's ``pairs_r2_``.

    >>> relation(200, 0.3)
    'One view of the pairs explains 30.0 % of the other (ridge, leave-one-out).'
    """
    if r2 > least_r2(n_pairs):
        return f"One view of the pairs explains {100 * r2:.1f} % of the other (ridge, leave-one-out)."
    return (
        f"Neither view of the {n_pairs:,} pairs explains anything of the other (ridge, leave-one-out). "
        "Either there are too few pairs to show a relation, or row i of both is not the same item. AutoHasher does "
        "not use such a source, whatever the candidates seem to gain."
    )
