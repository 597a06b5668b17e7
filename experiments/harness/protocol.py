"""The evaluation protocols, the paper's first, and the meanings of "relevant"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import thpi
from experiments.harness.area import AREA
from thpi.datasets import PairedDataset
from thpi.evaluation import (
    Split,
    database_rows,
    label_relevance,
    multilabel_relevance,
    neighbour_radius,
    radius_relevance,
)

NEIGHBOURS = 50
"""The paper's nominal threshold: the mean distance to the 50th neighbour."""
_AUTHORS_SAMPLE = 100  # rows whose neighbours the authors' code looks at

RELEVANCES = {name: thpi.RELEVANCES[name].title for name in ("target", "labels", "source")}
"""The meanings of "relevant" under which codes are evaluated, with their titles; the paper means the first."""


@dataclass(frozen=True)
class Protocol:
    """What is searched, what the features may have seen, how the radius is found, and which figure is the headline.

    ``database`` goes to :func:`thpi.evaluation.database_rows` and ``fit_on`` to
    :func:`experiments.datasets.preprocessing.fit_transform_views`; ``measure`` is the name of the measure in
    :data:`thpi.evaluation.MEASURES` that tables show. The radius is a mean over at most ``radius_rows`` rows. Of more
    than ``max_queries`` query rows a random sample is asked. Methods learn from rows of type ``dtype``.
    """

    name: str
    title: str
    database: Literal["rest", "train", "all"]
    fit_on: Literal["all", "train"]
    radius: Literal["authors", "plain"]
    measure: str
    measure_title: str
    radius_rows: int | None = None
    max_queries: int | None = None
    dtype: Literal["float32", "float64"] = "float64"


_AREA_TITLE = "area under one precision-recall curve pooled over all queries (the follow-up's MAP)"
_MAP = "mean over queries of average precision, expected under ties (MAP)"
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "paper", "the paper's protocol", "rest", "all", "plain", "average_precision", _MAP,
            radius_rows=2_000, max_queries=1_000, dtype="float32",
        ),
        Protocol(
            "followup", "the follow-up's protocol", "train", "all", "authors", AREA, _AREA_TITLE
        ),
        Protocol("standard", "the standard protocol", "all", "train", "plain", "average_precision", _MAP),
    )
}  # fmt: skip
"""The protocols by name."""


def relevance_kinds(dataset: PairedDataset) -> tuple[str, ...]:
    """Those of :data:`RELEVANCES` that a data set has.

    >>> from thpi.datasets import load_digits_views
    >>> relevance_kinds(load_digits_views())
    ('target', 'labels', 'source')
    """
    labelled = dataset.labels is not None or dataset.tags is not None
    return tuple(kind for kind in RELEVANCES if kind != "labels" or labelled)


def relevance_matrix(
    kind: str,
    protocol: Protocol,
    split: Split,
    *,
    target: Any = None,
    source: Any = None,
    labels: Any = None,
    tags: Any = None,
    random_state: Any = None,
) -> Any:
    """Boolean matrix (queries x database rows) of what is relevant.

    ``target`` and ``source`` hold all rows in the space where nearness is meant; ``labels`` and ``tags`` likewise.
    Near means: closer than the mean distance of database rows to their 50th neighbour among the database rows
    (``protocol.radius`` says in which form: the authors' code counts the row itself, so it takes neighbour 49, and the
    mean over 100 rows). Same class is asked where there are labels, else a shared tag.

    >>> X = np.arange(120.0)[:, None]
    >>> from thpi.evaluation import split_rows
    >>> split = split_rows(120, 0.9, random_state=0)
    >>> relevance_matrix("target", PROTOCOLS["standard"], split, target=X).shape
    (1, 119)
    """
    rows = database_rows(split, protocol.database)
    if kind == "labels":
        if labels is not None:
            return label_relevance(labels[split.query], labels[rows])
        if tags is None:
            raise ValueError("kind='labels' needs labels or tags; the data set has neither.")
        matrix = multilabel_relevance(tags[split.query], tags[rows])
        return matrix.toarray() if hasattr(matrix, "toarray") else matrix
    if kind not in RELEVANCES:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(RELEVANCES)}.")
    space = np.asarray(target if kind == "target" else source)
    k, most = NEIGHBOURS, protocol.radius_rows
    if protocol.radius == "authors":
        k, most = k - 1, most or _AUTHORS_SAMPLE
    threshold = neighbour_radius(space[rows], k=k, n_sample=most, random_state=random_state)
    return radius_relevance(space[split.query], space[rows], threshold)
