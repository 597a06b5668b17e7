"""Groups of rows by the graph of their nearest neighbours."""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from thpi._types import Array
from thpi.solvers.diffusion_map import diffusion_map

GRAPH_ROWS = 4000
# A neighbour for every 60 rows, 5 at least: with 30 neighbours among 200 rows every group runs into the next.
GRAPH_NEIGHBOURS = 30
LEAST_NEIGHBOURS = 5
ROWS_PER_NEIGHBOUR = 60
DIFFUSION_STEPS = 4
_BLOCK = 8192


def group_coordinates(rows: Array, seed: int) -> Array:
    """Diffusion coordinates of the neighbour graph, scaled to length 1.

    Rows of one group agree in them, whatever its shape, in its middle and at its rim. The graph has at most 4,000 rows,
    drawn at random; the others take the mean of their neighbours among these.

    >>> rows = np.random.RandomState(0).standard_normal((40, 2)) + 6 * np.repeat([[0, 0], [1, 1]], 20, axis=0)
    >>> T = group_coordinates(rows, seed=0)
    >>> bool((T[:20] @ T[:20].T).mean() > 0.5), bool((T[:20] @ T[20:].T).mean() < -0.5)
    (True, True)
    """
    n = len(rows)
    k = min(GRAPH_NEIGHBOURS, max(LEAST_NEIGHBOURS, n // ROWS_PER_NEIGHBOUR))
    if n <= GRAPH_ROWS:
        found = diffusion_map(rows, n_neighbors=k, steps=DIFFUSION_STEPS).coordinates
    else:
        drawn = np.random.RandomState(seed).permutation(n)[:GRAPH_ROWS]
        graph = diffusion_map(rows[drawn], n_neighbors=k, steps=DIFFUSION_STEPS)
        found = np.vstack([graph(rows[block]) for block in gen_batches(n, _BLOCK)])
        found[drawn] = graph.coordinates
    length = np.sqrt(np.einsum("ij,ij->i", found, found))
    return np.asarray(found / np.maximum(length, np.finfo(np.float64).tiny)[:, None])
