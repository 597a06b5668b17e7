"""The rows an experiment works on: a data set, possibly a fixed sample of it, and its preprocessed views."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from experiments import datasets
from experiments.datasets import preprocessing, take
from experiments.datasets.preprocessing import fit_transform_views
from experiments.harness.store import ResultStore
from thpi.datasets import PairedDataset
from thpi.evaluation import Split, database_rows

Floats = npt.NDArray[np.float64]
Pipelines = tuple[Pipeline, Pipeline]


@dataclass(frozen=True)
class DataSpec:
    """A data set by name, options of its loader, and the number of rows kept (a fixed random sample; None: all).

    ``pipeline`` names a function of :mod:`experiments.datasets.preprocessing` that prepares both views, in place of the
    registry's pipelines.

    >>> DataSpec("bbc", options=(("pairing", "position"),)).label
    'bbc pairing=position'
    """

    name: str
    max_rows: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    pipeline: str | None = None

    @property
    def label(self) -> str:
        """Short name, different for each variant."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.options)])

    def pipelines(self) -> Pipelines:
        """Unfitted pipelines of target and source."""
        if self.pipeline is None:
            return datasets.info(self.name).pipelines()
        make = getattr(preprocessing, self.pipeline)
        return make(), make()


def data_identity(spec: DataSpec, data_home: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return what identifies the rows of a run: name, options, sample size and checksums of the files.

    Raises where a file is missing or does not have its checksum.

    >>> sorted(data_identity(DataSpec("digits")))
    ['dataset', 'files', 'max_rows', 'options']
    """
    entry = datasets.info(spec.name)
    report = datasets.verify(spec.name, data_home, strict=True)
    if "missing" in report.values():
        datasets.load(spec.name, data_home, **dict(spec.options))  # raises with directions if the file is needed
    files: dict[str, Any] = {}
    for path, status in report.items():
        if status == "ok":
            files[path] = entry.all_files[path]
        elif status == "unchecked":  # a public file without a known checksum: use its size and time
            about = (datasets.data_home_path(data_home) / str(entry.folder) / path).stat()
            files[path] = [about.st_size, about.st_mtime_ns]
    identity = {"dataset": spec.name, "options": dict(spec.options), "max_rows": spec.max_rows, "files": files}
    return identity if spec.pipeline is None else {**identity, "pipeline": spec.pipeline}


@lru_cache(maxsize=2)
def load_rows(spec: DataSpec, data_home: str | os.PathLike[str] | None = None) -> PairedDataset:
    """Load the data set and sample at most ``max_rows`` rows, always the same.

    >>> load_rows(DataSpec("digits", max_rows=100)).n
    100
    """
    dataset = datasets.load(spec.name, data_home, **dict(spec.options))
    if spec.max_rows is None or dataset.n <= spec.max_rows:
        return dataset
    return take(dataset, np.sort(np.random.RandomState(0).permutation(dataset.n)[: spec.max_rows]))


def check_grid(alphas: Sequence[float], bits: Sequence[int], splits: int | None) -> None:
    """Refuse shares of pairs, code lengths and numbers of splits that cannot be run."""
    for alpha in alphas:
        if not 0 < alpha < 1:
            raise ValueError(f"alpha={alpha!r} must be greater than 0 and less than 1.")
    for name, counts in (("bits", bits), ("splits", () if splits is None else (splits,))):
        for count in counts:
            if count < 1:
                raise ValueError(f"{name}={count!r} must be a positive integer.")


class TrainingViews(NamedTuple):
    """Dense rows of both domains, as training and coding see them."""

    target: Floats
    source: Floats
    source_only: Floats | None

    def astype(self, dtype: str) -> TrainingViews:
        """Return the rows as numbers of another type."""
        return TrainingViews(*(None if rows is None else rows.astype(dtype, copy=False) for rows in self))  # type: ignore[arg-type]


def evaluation_views(
    dataset: PairedDataset, pipelines: Pipelines, identity: dict[str, Any], store: ResultStore
) -> TrainingViews:
    """Return the views that the paper's preprocessing makes of all rows; kept on disk because PCA and LDA are slow.

    Nearness is measured in them, whatever training saw, so that every alpha and split asks the same question.
    """
    config = {"views": "all", "data": identity}
    kept = store.read_arrays("views", config)
    if kept is None:
        views = fit_transform_views(dataset, *pipelines, np.arange(dataset.n), "all")
        kept = {"target": views.target, "source": views.source}
        if views.source_only is not None:
            kept["source_only"] = views.source_only
        store.write_arrays("views", config, kept)
    return TrainingViews(kept["target"], kept["source"], kept.get("source_only"))


def training_views(dataset: PairedDataset, split: Split, pipelines: Pipelines | None = None) -> TrainingViews:
    """Return views fitted without any query row: the target's on the training rows, the source's on all other rows too.

    >>> from thpi.datasets import load_digits_views
    >>> from thpi.evaluation import split_rows
    >>> digits = load_digits_views()
    >>> training_views(digits, split_rows(digits.n, 0.1, 0)).target.shape
    (2000, 240)
    """
    pipelines = pipelines or datasets.info(dataset.name).pipelines()
    views = fit_transform_views(dataset, *pipelines, split.train, "train", query_rows=split.query)
    return TrainingViews(views.target, views.source, views.source_only)


def refit_target(
    dataset: PairedDataset, split: Split, views: TrainingViews, pipelines: Pipelines | None = None
) -> TrainingViews:
    """Return ``views`` with the target preprocessing fitted on all rows that are not queries; the source stays.

    For the reference line "all target data".
    """
    pipeline = clone((pipelines or datasets.info(dataset.name).pipelines())[0])
    target: Any = pipeline.fit(dataset.target[database_rows(split, "all")]).transform(dataset.target)
    dense = target.toarray() if hasattr(target, "toarray") else target
    return views._replace(target=np.asarray(dense, dtype=np.float64))
