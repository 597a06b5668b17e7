"""Whether the two views of the pairs have anything to do with each other, in words."""

from __future__ import annotations

from thpi.solvers.loo_ridge import least_r2

UNRELATED_LABELS = 0.02
"""Labels that agree with the target as well by chance more often than this are not used."""


class UnrelatedPairsWarning(UserWarning):
    """Neither view of the pairs explains anything of the other: were they joined in the wrong order?"""


class UnrelatedLabelsWarning(UserWarning):
    """The target says nothing about the labels: were they joined in the wrong order?"""


def label_relation(p_value: float) -> str:
    """Return why labels are not used, in words; ``p_value`` as AutoHasher's ``labels_p_``."""
    return (
        "The target says nothing about the labels: as many rows that are near share a label if the labels are shuffled "
        f"(permutation test, p = {p_value:.2g}). Either there are too few labels to show a relation, or they belong to "
        "other rows. AutoHasher does not use such labels."
    )


def relation(n_pairs: int, r2: float) -> str:
    """Return how closely the two views of the pairs are related, in words; ``r2`` as AutoHasher's ``pairs_r2_``.

    >>> relation(200, 0.3)
    'Target and source are related: one explains 30.0 % of the other (ridge regression).'
    """
    if r2 > least_r2(n_pairs):
        return f"Target and source are related: one explains {100 * r2:.1f} % of the other (ridge regression)."
    return (
        f"Target and source of the {n_pairs:,} pairs explain nothing of each other (ridge regression). "
        "Either there are too few pairs to show a relation, or row i of both is not the same item. AutoHasher does "
        "not use such a source, whatever the candidates seem to gain."
    )


def relation_of(n_pairs: int, r2: float) -> tuple[bool, str | None]:
    """Whether the views of a fitted AutoHasher are related, and how, in words; None without a source (r2 = 0)."""
    return r2 == 0 or r2 > least_r2(n_pairs), None if r2 == 0 else relation(n_pairs, r2)
