"""What a rival is: a way to learn hash functions of features, and the parameters that folds choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.rivals.features import Floats
from experiments.rivals.source import Source

Params = Mapping[str, Any]
EVERY_MEANING = ("target", "labels", "source", "groups")


class Affine(NamedTuple):
    """Hash functions of features: the code of z is the sign of ``z weights - offsets``."""

    weights: Floats
    offsets: Floats

    def __call__(self, Z: Floats) -> Floats:
        """Return the projections, whose signs are the code."""
        return np.asarray(Z @ self.weights - self.offsets)


class Training(NamedTuple):
    """What a rival learns from.

    ``Z`` are features of the target rows: columns centred, orthogonal, of falling variance. ``relevant`` says which of
    these rows are relevant to which. ``labels`` are indicators of classes or tags, None unless labels are known.
    ``rows`` are the places of the rows in ``source``.
    """

    Z: Floats
    relevant: npt.NDArray[np.bool_]
    labels: Floats | None
    source: Source | None
    rows: npt.NDArray[np.int64]

    @property
    def known_labels(self) -> Floats:
        """The labels, of a rival that cannot do without."""
        assert self.labels is not None
        return self.labels

    @property
    def known_source(self) -> Source:
        """The source, of a rival that cannot do without."""
        assert self.source is not None
        return self.source


Learner = Callable[[Training, int, Params, np.random.RandomState], Affine]
"""From training rows, number of bits, parameters and random stream to hash functions."""


@dataclass(frozen=True)
class Rival:
    """A simple method that anybody could write, tuned by folds.

    ``stages`` are searched one after the other: of each all combinations, the other parameters as chosen so far (at
    first the first value). The parameter ``features`` is that of the target rows.
    """

    name: str
    title: str
    meanings: tuple[str, ...]
    learn: Learner
    stages: tuple[Mapping[str, tuple[Any, ...]], ...]

    @property
    def first(self) -> dict[str, Any]:
        """The parameters before any search."""
        return {name: values[0] for stage in self.stages for name, values in stage.items()}
