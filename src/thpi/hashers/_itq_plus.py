"""ITQ+ and LapITQ+, the paper's methods: a slack function, and a graph, learned from privileged data."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import StrOptions

from thpi._types import Array, Fitted
from thpi.base import BaseHasher, Views, count, dimension_limit, one_of, pair_limit, parameter, weight
from thpi.codes import n_bytes, pack_signs
from thpi.graph import hamming_knn_graph, laplacian
from thpi.hashers._cca import canonical_directions
from thpi.hashers._geometry import Geometry
from thpi.hashers._itq import best_run, evidence, restart_seeds
from thpi.hashers._source_features import SourceFeatures, few_coordinates
from thpi.rows import Rows
from thpi.solvers.moments import (
    Coordinates,
    centred_product,
    column_mean,
    cross_moment,
    full_rank_coordinates,
    principal_axes,
)
from thpi.solvers.quantisation import iterative_quantisation
from thpi.solvers.slack_quantisation import slack_quantisation


@dataclass(eq=False, repr=False, kw_only=True)
class ITQPlus(BaseHasher):
    """Iterative quantisation whose error is approximated from paired source data: the paper's ITQ+.

    With centred target rows ``X``, their source rows ``S``, balanced codes ``B`` and ``E = B - X R``:

        ``min ||E||_F^2 + lambda1 ||E - S P||_F^2``   over ``B``, ``R'R = I``, ``P'P = I``

    (eq. 2 with the weight its updates use). Alternates the balanced signs of ``(1 + lambda1) X R + lambda1 S P``
    for ``B`` with two Procrustes steps for ``R`` and ``P``. The hash function is ``sgn((x - mean) R)``: nothing of
    the source is needed for new rows.

    Parameters
    ----------
    n_bits : int, default=32
        Length of a code; at most ``min(n_features, n_samples - 1)``. If the source has fewer columns than bits, P
        has orthonormal rows instead of columns.
    lambda1 : float, default=0.01
        Weight of the slack term. 0 leaves balanced ITQ.
    variant : {"reduce", "trace", "loss"}, default="trace"
        Which problem the updates of R and P solve, as the paper's closed form is exact for square R only. "reduce"
        first reduces both views to ``n_bits`` columns; "trace" takes the closed form literally, for the linear part of
        the loss, ``max tr(R'X'A)`` (with ``lambda1=0`` balanced L1-norm PCA); "loss" solves the true one by generalised
        power iteration. ``objective_`` is that of the variant; it never rises.
    reduction : {"pca", "cca"}, default="pca"
        How ``variant="reduce"`` reduces the views.
    ridge : float, default=10.0
        Ridge of the CCA, for ``reduction="cca"``.
    scale : {"unit", "radius", None}, default="unit"
        Scale of both views, as the loss compares them with +-1. "unit": the best ``n_bits`` directions have mean square
        1; "radius": the mean distance to the 50th neighbour is 1 (the authors' code, for the target); None: as given.
    n_init, tol, max_iter, random_state
        As for :class:`ITQ`; 150 iterations are the paper's cap.

    Attributes
    ----------
    projection_, slack_projection_ : arrays of shape (n_features, n_bits) and (n_source_features, n_bits)
        R and P, up to the scale of the views; the slack function is ``(s - source_mean_) slack_projection_``.
    codes_ : uint8 array of shape (n_samples, ceil(n_bits / 8))
        The learned B. It is balanced and knows the source, so some bits are not those of ``transform(X)``.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> S = rng.standard_normal((100, 6)); X = S @ rng.standard_normal((6, 8))
    >>> hasher = ITQPlus(n_bits=4, random_state=0).fit(X, privileged=S)
    >>> hasher.transform(X[:3]).shape, bool(np.all(np.diff(hasher.objective_) <= 0))
    ((3, 1), True)
    """

    summary = "ITQ+: a slack function of the paired source approximates the quantisation error"
    needs_privileged = True

    lambda1: float = weight(0.01)
    variant: Literal["reduce", "trace", "loss"] = one_of("trace", "reduce", "loss")
    reduction: Literal["pca", "cca"] = one_of("pca", "cca")
    ridge: float = weight(10.0)
    scale: Literal["unit", "radius"] | None = parameter("unit", StrOptions({"unit", "radius"}), None)
    n_init: int = count(1)
    tol: float = weight(1e-6)
    max_iter: int = count(150)

    def _max_bits(self, views: Views) -> tuple[int, str]:
        return pair_limit(views) if self.variant == "reduce" and self.reduction == "cca" else dimension_limit(views)

    def _fit(self, views: Views, rng: np.random.RandomState) -> Fitted:
        return self._alternate(views, restart_seeds(rng, self.n_init))

    def _alternate(self, views: Views, streams: list[np.random.RandomState], **graph: Any) -> Fitted:
        """Alternate from random starts; ``graph`` are the terms of LapITQ+, as :func:`slack_quantisation` has them."""
        source_mean = column_mean(views.S)
        X, S = self._coordinates(views, source_mean)
        terms: dict[str, Any] = {"lambda1": self.lambda1, "true_loss": self.variant != "trace", **graph}
        limits: dict[str, Any] = {"n_bits": self.n_bits, "tol": self.tol, "max_iter": self.max_iter}
        best = best_run(slack_quantisation(X.values, S.values, stream, **terms, **limits) for stream in streams)
        return evidence(best) | {
            "projection_": X.back(best.R),
            "slack_projection_": S.back(best.P),
            "source_mean_": source_mean,
            "codes_": pack_signs(best.B),
        }

    def _coordinates(self, views: Views, source_mean: Array) -> tuple[Coordinates, Coordinates]:
        """Coordinates of both views in which R and P are sought, on the scale of +-1."""
        c, both = self.n_bits, ((views.X, views.mean), (views.S, source_mean))
        if self.variant != "reduce":
            X, S = (full_rank_coordinates(*view) for view in both)
        else:
            if self.reduction == "cca":
                cca, _ = canonical_directions(views, c, self.ridge)
                axes = [cca.x_directions * cca.correlations, cca.y_directions * cca.correlations]
            else:
                axes = [principal_axes(*view, min(c, view[0].shape[1]))[0] for view in both]
            X, S = (Coordinates(centred_product(*view, V), axes=V) for view, V in zip(both, axes, strict=True))
        return tuple(view.scaled(_scale_factor(view.values, self.scale, c)) for view in (X, S))  # type: ignore[return-value]


def _scale_factor(values: Array, scale: str | None, n_bits: int) -> float:
    """Give the factor that brings centred data to the scale of +-1."""
    n, d = values.shape
    if scale == "unit":
        k = min(n_bits, d)
        if k == d:
            energy = float(np.einsum("ij,ij->", values, values, dtype=np.float64))
        else:
            # The squares of the leading singular values; the axes themselves are not needed.
            moment = cross_moment(values, values)
            energy = float(linalg.eigvalsh(moment, subset_by_index=[d - k, d - 1]).clip(0).sum())
        return float(np.sqrt(n * k / energy)) if energy > 0 else 1.0
    if scale == "radius":
        neighbour = min(50, n - 1)
        radius = float(np.partition(pairwise_distances(values), neighbour, axis=1)[:, neighbour].mean())
        return 1 / radius if radius > 0 else 1.0
    return 1.0


_COARSE = 256  # rows for each bit in the sample on which the alternation of many rows begins if ``coarse``


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
    and the graph, with target rows imputed as in :class:`TransferITQ`. The strongest LapITQ+ we know for same class and
    source neighbours is ``LapITQPlus(variant="reduce", reduction="cca", ridge=3, max_imputed=2000)``.

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
        source = views.all_source
        encode = _source_hash(source, self.n_bits, rng)
        if self.max_imputed == 0 or views.S_U is None or views.S_U.shape[0] == 0:
            codes = encode(views.S) if self.graph_scope == "paired" else self._codes(source, encode)
            return self._follow(views, codes, streams, rng)
        joined, back, drawn = join_imputed(views, self.n_bits, self.max_imputed, rng)
        codes = encode(joined.S)
        if self.graph_scope == "all":
            codes = np.vstack([codes, np.delete(self._codes(views.S_U, encode), drawn, axis=0)])
        fitted = self._follow(joined, codes, streams, rng)
        codes = fitted["codes_"][: views.X.shape[0]]
        return fitted | {"projection_": back(fitted["projection_"]), "codes_": codes}

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


def join_imputed(
    views: Views, n_bits: int, most: int, rng: np.random.RandomState
) -> tuple[Views, Callable[[Array], Array], Array]:
    """Join to the pairs at most ``most`` of the unpaired source rows, drawn at random, with imputed target rows.

    Returns the real and then the imputed pairs, in coordinates, the way back, and the rows that were drawn. The mean of
    the pairs is not subtracted: new rows are centred by the mean of the real ones.
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
    return joined, coordinates.back, drawn
