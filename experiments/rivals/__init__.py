"""Rivals of AutoHasher: simple methods, each in a short file, tuned by the same folds of the pairs.

:mod:`rival` says what a rival is, :mod:`features`, :mod:`source`, :mod:`ridge` and :mod:`rotation` are what they share,
:mod:`tuning` chooses their parameters, and :mod:`hasher` gives a tuned rival the calls of a hasher. They use none of
AutoHasher's learners: a result counts against the strongest simple method.
"""

from __future__ import annotations

from experiments.rivals import (
    cca,
    clusters,
    cmfh,
    discrete,
    discriminant,
    kernel_pca,
    ksh,
    one_hot,
    self_taught,
    source_coordinates,
    thermometer,
)
from experiments.rivals.rival import Rival

RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        kernel_pca.RIVAL,
        thermometer.RIVAL,
        ksh.RIVAL,
        discriminant.RIVAL,
        one_hot.RIVAL,
        cca.RIVAL,
        discrete.SDH,
        discrete.FSDH,
        source_coordinates.PCA,
        source_coordinates.KERNEL_PCA,
        source_coordinates.SPECTRAL,
        self_taught.RIDGE,
        self_taught.LOGISTIC,
        cmfh.RIVAL,
        clusters.RIVAL,
    )
}
"""The rivals by name."""
