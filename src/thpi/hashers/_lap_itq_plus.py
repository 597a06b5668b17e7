"""LapITQ+: ITQ+ with a graph over the hash codes of all source data."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from thpi._types import Array, Fitted
from thpi.base import Views, count, one_of, parameter, weight
from thpi.codes import n_bytes, pack_signs
from thpi.graph import hamming_knn_graph, laplacian
from thpi.hashers._geometry import Geometry
from thpi.hashers._itq import restart_seeds
from thpi.hashers._itq_plus import ITQPlus
from thpi.hashers._source_features import SourceFeatures, few_coordinates
from thpi.rows import Rows
from thpi.solvers.moments import centred_product, column_mean, principal_axes
from thpi.solvers.quantisation import iterative_quantisation

# Rows for each bit in the sample on which the alternation of many rows begins if ``coarse``.
_COARSE = 256


@dataclass(eq=False, repr=False, kw_only=True)
class LapITQPlus(ITQPlus):
    """ITQ+ whose codes also follow a neighbourhood graph of the source domain: the paper's LapITQ+.

    1. ITQ on all source rows, paired and unpaired, gives source codes.
    2. A Hamming k-nearest-neighbour graph over them, restricted to the n paired rows, gives the Laplacian ``L``.
    3. ``min ||E||_F^2 + lambda1 ||E - S P||_F^2 + lambda2 tr(B'LB)`` over balanced ``B``, ``R'R = I``, ``P'P = I``
       as ITQ+, but with the code step relaxed to the box ``-1 <= B <= 1``, solved by accelerated projected
       gradients, and rounded back to balanced codes (eq. 11, where ``||B L||`` must read ``||L B||``). When this has
       settled, swaps of two rows improve the codes of the best iterate.

    The paper uses unpaired source rows for the source codes only. With ``max_imputed`` they also join the pairs in X, B
    and the graph, with target rows imputed as in :class:`TransferITQ`, in at most 512 principal coordinates (or twice
    ``n_bits``). The strongest LapITQ+ we know for same class and for source neighbours, a poor one for target
    neighbours, is ``LapITQPlus(variant="reduce", reduction="cca", ridge=3, max_imputed=2000)``.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code, and of the source codes (at most as many as the source has columns).
    lambda1, lambda2 : float, default=0.01 and 0.05
        Weights of the slack term and of the graph term; ``lambda2=0`` leaves ITQ+.
    n_neighbors : int, default=10
        Neighbours of a row in the graph.
    graph_scope : {"paired", "all"}, default="paired"
        Search neighbours among the paired (and imputed) rows, or among all source rows, keeping edges of the former.
    graph_symmetrize : {"union", "mutual", "mean"}, default="union"
        An edge if either row is a neighbour of the other, if both are, or half an edge for each.
    max_imputed : int, default=0
        At most this many unpaired source rows, drawn at random, join the pairs with imputed target rows.
    coarse : bool, default=False
        With 1,024 or more pairs per bit, spend three quarters of ``max_iter`` on a sample of 256 rows per bit, with its
        own graph, and the rest on all rows. Faster, but it may end higher, above all with a large ``lambda2``.
    variant, reduction, ridge, scale, n_init, tol, max_iter, random_state
        As for :class:`ITQPlus`.

    Attributes
    ----------
    graph_ : sparse matrix of shape (n_samples, n_samples)
        Adjacency of the paired rows. With m imputed rows, which come last, it has n_samples + m rows.
    objective_
        The lowest objective so far: relaxing and rounding may rise, and the best iterate is kept.
    slack_projection_, codes_
        As for :class:`ITQPlus`.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((300, 6)); X = S[:100] @ rng.standard_normal((6, 8))
    >>> hasher = LapITQPlus(n_bits=4, random_state=0).fit(X, privileged=S[:100], source=S[100:])
    >>> hasher.transform(X[:3]).shape, hasher.graph_.shape
    ((3, 1), (100, 100))
    """

    summary = "LapITQ+: ITQ+ with a graph over the hash codes of all source rows"
    uses_source = True
    streams_source = True

    lambda2: float = weight(0.05)
    n_neighbors: int = count(10)
    graph_scope: Literal["paired", "all"] = one_of("paired", "all")
    graph_symmetrize: Literal["union", "mutual", "mean"] = one_of("union", "mutual", "mean")
    max_imputed: int = count(0, least=0)
    coarse: bool = parameter(False, "boolean")

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        streams = restart_seeds(deepcopy(rng), self.n_init)
        restart_seeds(rng, 1)  # the graph does not depend on the number of restarts
        if self.max_imputed == 0 or views.S_U is None or views.S_U.shape[0] == 0:
            return self._follow(views, self._source_codes(views, rng), streams, rng)
        encode = _source_hash(views.all_source, self.n_bits, rng)
        joined = join_imputed(views, self.n_bits, self.max_imputed, rng)
        codes = encode(joined.views.S)
        if self.graph_scope == "all":
            codes = np.vstack([codes, np.delete(self._codes(views.S_U, encode), joined.drawn, axis=0)])
        fitted = self._follow(joined.views, codes, streams, rng)
        return fitted | {
            "projection_": joined.back(fitted["projection_"]),
            "codes_": fitted["codes_"][: views.X.shape[0]],
        }

    def _follow(self, views: Views, codes: Any, streams: list[Any], rng: np.random.RandomState) -> Fitted:
        """Alternate with the graph of the source codes of the rows; codes of further rows may follow them."""
        n = views.S.shape[0]
        graph = self._graph(codes, n, rng)
        coarse = None
        if self.coarse and self.lambda2 > 0 and n >= 4 * _COARSE * self.n_bits:
            rows = np.unique(rng.randint(n, size=_COARSE * self.n_bits))
            coarse = rows, laplacian(self._graph(codes[rows], len(rows), rng))
        fitted = self._alternate(views, streams, lambda2=self.lambda2, laplacian=laplacian(graph), coarse=coarse)
        return fitted | {"graph_": graph}

    def _source_codes(self, views: Views, rng: np.random.RandomState) -> Any:
        """Codes of the paired source rows and, for ``graph_scope="all"``, of the others after them."""
        source = views.all_source
        encode = _source_hash(source, self.n_bits, rng)
        return encode(views.S) if self.graph_scope == "paired" else self._codes(source, encode)

    def _codes(self, source: Any, encode: Callable[[Any], Any]) -> Any:
        if isinstance(source, Rows):
            return np.asarray(source.map(encode, n_bytes(self.n_bits), np.uint8))
        return encode(source)

    def _graph(self, codes: Any, n: int, rng: np.random.RandomState) -> Any:
        # A row has len - 1 others at most; small domains get a complete graph, not an error.
        n_neighbors = min(self.n_neighbors, len(codes) - 1)
        return hamming_knn_graph(codes, n_neighbors, n_queries=n, symmetrize=self.graph_symmetrize, random_state=rng)


def _source_hash(source: Any, n_bits: int, rng: np.random.RandomState) -> Callable[[Any], Any]:
    """ITQ on all source rows; as many bits as asked for or as the source has dimensions."""
    mean = column_mean(source)
    V, _ = principal_axes(source, mean, min(n_bits, source.shape[1], source.shape[0] - 1))
    W = V @ iterative_quantisation(centred_product(source, mean, V), rng).R
    return partial(_encode, mean=mean, W=W)


def _encode(rows: Any, mean: Any, W: Any) -> Any:  # by name: it travels to the workers of a cluster
    return pack_signs(centred_product(rows, mean, W))


class Joined(NamedTuple):
    """Real and then imputed pairs, in coordinates; the way back; the unpaired source rows that were drawn."""

    views: Views
    back: Callable[[Array], Array]
    drawn: Array


def join_imputed(views: Views, n_bits: int, most: int, rng: np.random.RandomState) -> Joined:
    """Join to the pairs at most ``most`` of the unpaired source rows, drawn at random, with imputed target rows.

    Their own mean is not subtracted: new rows are centred by the mean of the real ones.

    >>> S = np.random.RandomState(0).standard_normal((60, 3))
    >>> X = S @ np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> joined = join_imputed(Views(X[:40], S[:40], S[40:]), n_bits=2, most=100, rng=np.random.RandomState(0))
    >>> joined.views.X.shape, joined.views.S.shape
    ((60, 2), (60, 3))
    >>> bool(np.allclose(joined.views.X, (X - X[:40].mean(axis=0)) @ joined.back(np.eye(2)), atol=1e-3))
    True
    """
    n = views.S_U.shape[0]
    drawn = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    unpaired = views.S_U.take(drawn) if isinstance(views.S_U, Rows) else views.S_U[drawn]
    some = Views(views.X, views.S, unpaired.astype(views.S.dtype, copy=False))
    coordinates = few_coordinates(views.X, views.mean, n_bits)
    source = SourceFeatures(some, rng, most)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    geometry = Geometry(coordinates.values.astype(np.float64), n_bits, seed, source)
    joined = Views(np.vstack([geometry.X, geometry.imputed]), some.all_source)
    joined.mean = np.zeros(joined.X.shape[1])
    return Joined(joined, coordinates.back, drawn)
