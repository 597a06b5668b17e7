"""What a learner returns, and how long it may work."""

from __future__ import annotations

from typing import NamedTuple

from thpi._types import Array, Fitted


class Steps(NamedTuple):
    """When an alternation stops: relative change of the loss, and number of iterations."""

    tol: float = 1e-6
    max_iter: int = 150


class Limits(NamedTuple):
    """Steps of quantisation and of neighbour embedding, and the most rows that the latter uses."""

    quantisation: Steps = Steps()
    embedding: Steps = Steps(1e-5, 30)
    embedding_rows: int = 1000


class Learned(NamedTuple):
    """Projection of the coordinates (p x c), its loss by iteration, and whether it settled.

    ``mean`` is subtracted from a row before it is projected (None: the mean of the geometry). ``facts`` are further
    fitted attributes of the method.
    """

    projection: Array
    objective: tuple[float, ...] = ()
    converged: bool = True
    mean: Array | None = None
    facts: Fitted | None = None
