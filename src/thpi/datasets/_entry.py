"""What a data set declares about itself; everything that others look up by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

from thpi.datasets._paired import PairedDataset

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Pipelines: TypeAlias = "Callable[[], tuple[Pipeline, Pipeline]]"
"""Makes the unfitted pipelines of target and source."""


@dataclass(frozen=True)
class FileInfo:
    """A file of a data set: its path within the set's folder and its sha256 (None: not known)."""

    path: str
    sha256: str | None


def checksums(known: Mapping[str, str | None]) -> tuple[FileInfo, ...]:
    """Return file entries from paths and checksums.

    >>> checksums({"a.npz": None})
    (FileInfo(path='a.npz', sha256=None),)
    """
    return tuple(FileInfo(path, sha256) for path, sha256 in known.items())


def pipelines(target: str, source: str, **options: float) -> Pipelines:
    """Return a maker of pipelines, by the functions of :mod:`thpi.datasets.preprocessing` for target and source.

    That module is imported when the maker is called, because it imports scikit-learn.

    >>> [list(pipeline.named_steps) for pipeline in pipelines("tfidf_pca", "unchanged")()]
    [['tfidf', 'pca'], ['unchanged']]
    """

    def make() -> tuple[Pipeline, Pipeline]:
        module = import_module("thpi.datasets.preprocessing")
        return getattr(module, target)(**options), getattr(module, source)(**options)

    return make


@dataclass(frozen=True)
class PaperRole:
    """The data set of the paper that this one is (``same``) or replaces.

    ``notes`` explain why our values differ from the published ones and list what was tried, one sentence each.

    >>> PaperRole("Reuters", same=False).describe()
    'stand-in for Reuters'
    """

    name: str
    same: bool
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the role in a few words."""
        return f"the paper's {self.name}" if self.same else f"stand-in for {self.name}"


@dataclass(frozen=True)
class TransferRole:
    """The use of a data set in the transfer benchmark.

    ``"development"`` sets were inspected while methods and defaults were chosen, ``"confirmation"`` sets were not.
    ``variants`` maps names to options of the loader, for a set that enters the benchmark more than once.
    """

    use: Literal["development", "confirmation"]
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Demo:
    """How ``thpi serve --demo`` shows a data set.

    It takes at most ``rows`` rows; training knows ``pairs`` of them in both domains. ``options`` go to the loader.
    Without ``pipelines`` the methods see the raw rows.
    """

    title: str
    description: str
    vector_name: str
    class_name: str
    rows: int = 3_000
    pairs: int = 300
    options: Mapping[str, str] = field(default_factory=dict)
    pipelines: Pipelines | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """The registry entry of a data set.

    Parameters
    ----------
    name, title, home_page, licence, citation : for people.
    target, source : one-line descriptions of the two views.
    loader : returns the :class:`PairedDataset`; takes ``data_home`` unless the set is bundled.
    preprocessing : one-line description of ``pipelines``.
    pipelines : makes the unfitted pipelines of target and source.
    folder : the set's folder in the data home; None if the set is part of the package.
    files : files that the loader reads by default.
    public_files : files of the full public collection, if the loader also reads that form.
    labelled : whether items have classes; other sets have tags only.
    large : whether experiments keep only a sample of the rows.
    paper, transfer, demo : role in the paper, in the transfer benchmark and on the page, if any.
    """

    name: str
    title: str
    home_page: str
    licence: str
    citation: str
    target: str
    source: str
    loader: Callable[..., PairedDataset]
    preprocessing: str
    pipelines: Pipelines
    folder: str | None
    files: tuple[FileInfo, ...] = ()
    public_files: tuple[FileInfo, ...] = ()
    labelled: bool = True
    large: bool = False
    paper: PaperRole | None = None
    transfer: TransferRole | None = None
    demo: Demo | None = None
