"""The source rows, the paired ones first, and coordinates of them; each is computed once for all rivals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from experiments.rivals.features import FeatureChoice, Floats, fit_features
from thpi.solvers.diffusion_map import group_coordinates

MOST_UNPAIRED = 3000
COMPONENTS = 100


class Source:
    """Source rows of ``n`` pairs, then at most 3,000 unpaired ones, drawn at random."""

    def __init__(self, paired: Any, unpaired: Any, seed: int) -> None:
        self.n, self.seed = len(paired), seed
        rows = np.asarray(paired, dtype=np.float64)
        if unpaired is not None and len(unpaired):
            drawn = np.sort(np.random.RandomState(seed).permutation(len(unpaired))[:MOST_UNPAIRED])
            rows = np.vstack([rows, np.asarray(unpaired, dtype=np.float64)[drawn]])
        self.rows = rows
        self._known: dict[Any, Floats] = {}

    def once(self, key: Any, compute: Callable[[], Floats]) -> Floats:
        """Return what was computed under this key, or compute it."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def components(self, choice: FeatureChoice) -> Floats:
        """Leading principal components of the rows, linear or of a kernel."""
        rng = np.random.RandomState(self.seed)
        return self.once(("components", choice), lambda: fit_features(self.rows, choice, rng, COMPONENTS).values)

    def spectral(self, n_neighbors: int, steps: int) -> Floats:
        """Leading eigenvectors of the walk on the graph of nearest neighbours, times eigenvalues to a power."""
        space = FeatureChoice()
        found = self.once(("spectral", n_neighbors), lambda: _spectral(self.components(space), n_neighbors))
        weighted = found[1:] * found[0] ** steps
        return np.asarray(weighted / np.sqrt(np.mean(np.sum(weighted**2, axis=1))))

    def clusters(self, space: str, k: int) -> Floats:
        """Indicators of k-means clusters in the space of the rows or in spectral coordinates."""
        return self.once(("clusters", space, k), lambda: self._clusters(space, k))

    def _clusters(self, space: str, k: int) -> Floats:
        rows = self.spectral(10, 1)[:, :k] if space == "spectral" else self.components(FeatureChoice())
        found = KMeans(min(k, len(rows)), n_init=3, random_state=self.seed).fit_predict(rows)
        return np.asarray(np.eye(found.max() + 1)[found])

    def groups(self) -> Floats:
        """The coordinates in which AutoHasher measures nearness by groups."""
        return self.once("groups", lambda: group_coordinates(self.components(FeatureChoice()), self.seed))


def _spectral(rows: Floats, n_neighbors: int) -> Floats:
    """Return the leading eigenvalues and, below them, the eigenvectors; centring removes the constant one.

    It need not be the first: a graph of several parts has as many constant ones, in any mixture.
    """
    n = len(rows)
    K = NearestNeighbors(n_neighbors=min(n_neighbors, n - 1)).fit(rows).kneighbors_graph()
    A = K.maximum(K.T)
    degree = np.asarray(A.sum(axis=1)).ravel()
    root = 1 / np.sqrt(degree)
    M = sparse.csr_matrix(A.multiply(root[:, None]).multiply(root))
    # Any start but the constant eigenvector, with which Lanczos makes no progress.
    values, vectors = eigsh(M, k=min(COMPONENTS + 1, n - 1), which="LA", v0=np.cos(np.arange(n)))
    vectors = vectors[:, ::-1] * root[:, None]
    return np.vstack([np.clip(values[::-1], 0.0, 1.0), vectors - degree @ vectors / degree.sum()])
