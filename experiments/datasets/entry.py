"""What a data set declares about itself, and how its files are found and checked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from thpi._files import sha256_of
from thpi._types import PathLike
from thpi.datasets import PairedDataset

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Pipelines: TypeAlias = "Callable[[], tuple[Pipeline, Pipeline]]"
"""Makes the unfitted pipelines of target and source."""


class DataNotFoundError(FileNotFoundError):
    """A file of a data set is missing; the message says where to get it and where to put it."""


class DataAlteredError(ValueError):
    """A file of a data set does not have the expected sha256 checksum, or is damaged."""


def data_home_path(data_home: PathLike | None = None) -> Path:
    """Return the folder that holds the data sets, one folder per set.

    ``data_home`` if given, else the environment variable ``THPI_DATA``, else ``~/thpi_data``.

    >>> data_home_path("somewhere").name
    'somewhere'
    """
    return Path(data_home if data_home is not None else os.environ.get("THPI_DATA") or "~/thpi_data").expanduser()


def check_choice(allowed: Collection[object], **arguments: object) -> None:
    """Refuse arguments whose values are not allowed."""
    for name, value in arguments.items():
        if value not in allowed:
            raise ValueError(f"{name}={value!r} must be one of {', '.join(map(str, allowed))}.")


def pipelines(target: str, source: str, **options: float) -> Pipelines:
    """Return a maker of pipelines, by functions of :mod:`experiments.datasets.preprocessing` for target and source."""

    def make() -> tuple[Pipeline, Pipeline]:
        module = import_module("experiments.datasets.preprocessing")  # here, because it imports scikit-learn
        return getattr(module, target)(**options), getattr(module, source)(**options)

    return make


_KINDS = {
    "original": "the paper's {}",
    "rebuild": "a rebuild of the paper's {}",
    "sample": "a small sample of the paper's {}",
    "stand-in": "stand-in for {}",
}


@dataclass(frozen=True)
class PaperRole:
    """The data set of the paper that this one is, or replaces.

    ``kind``: the files that the paper used ("original"), others made from the same texts by the same rule ("rebuild"),
    a small part of the originals ("sample"), or other data ("stand-in").

    >>> role = PaperRole("BBC", "rebuild")
    >>> role.describe(), role.comparable
    ("a rebuild of the paper's BBC", True)
    """

    name: str
    kind: Literal["original", "rebuild", "sample", "stand-in"]

    def __post_init__(self) -> None:
        check_choice(_KINDS, kind=self.kind)

    @property
    def comparable(self) -> bool:
        """Whether results may be compared with the published ones, cell by cell."""
        return self.kind in ("original", "rebuild")

    def describe(self) -> str:
        """Return the role in a few words."""
        return _KINDS[self.kind].format(self.name)


@dataclass(frozen=True)
class OtherEditions:
    """How files of an edition without known checksums are accepted.

    ``marks`` are files that tell editions apart: if none of those present has its checksum, the folder holds another
    edition. If only some have it, files were altered. ``check`` reads the files in a folder and raises
    :class:`DataAlteredError` if they are not what the loader needs.
    """

    marks: tuple[str, ...]
    check: Callable[[Path], None]


@dataclass(frozen=True)
class TransferRole:
    """The use of a data set in the transfer benchmark.

    ``"development"`` sets were inspected while methods and defaults were chosen, ``"confirmation"`` sets were not.
    ``"further"`` sets joined when everything had been chosen: no choice was made by their figures.
    ``variants`` maps names to options of the loader, for a set that enters the benchmark more than once.
    """

    use: Literal["development", "confirmation", "further"]
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetInfo:
    """The registry entry of a data set.

    Parameters
    ----------
    name, title, home_page, licence, citation : for people.
    licence_checked : whether licence and citation were compared with a text that comes with the files.
    target, source : one-line descriptions of the two views.
    loader : returns the :class:`PairedDataset`; takes ``data_home`` unless the set is bundled.
    preprocessing : one-line description of ``pipelines``.
    pipelines : makes the unfitted pipelines of target and source.
    folder : the set's folder in the data home; None if the set is part of the package.
    files : files that the loader reads by default: path within the folder to sha256 (None: not known).
    public_files : files of the full public collection, if the loader also reads that form.
    other_editions : if given, ``files`` of another edition are read too, after a check of their structure.
    labelled : whether items have classes; other sets have tags only.
    large : whether experiments keep only a sample of the rows.
    paper, transfer : role in the paper and in the transfer benchmark, if any.
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
    files: Mapping[str, str | None] = field(default_factory=dict)
    public_files: Mapping[str, str | None] = field(default_factory=dict)
    other_editions: OtherEditions | None = None
    licence_checked: bool = False
    labelled: bool = True
    large: bool = False
    paper: PaperRole | None = None
    transfer: TransferRole | None = None

    @property
    def all_files(self) -> dict[str, str | None]:
        """Both ``files`` and ``public_files``."""
        return {**self.files, **self.public_files}

    def describe_licence(self) -> str:
        """Return the licence, and whether the files state it."""
        return f"{self.licence} ({'stated with' if self.licence_checked else 'unchecked: not stated in'} the files)"

    def folder_in(self, data_home: PathLike | None) -> Path:
        """Return the folder of the files."""
        if self.folder is None:
            return Path(str(package_files("thpi.datasets"))) / "_bundled"
        return data_home_path(data_home) / self.folder

    def locate(
        self, candidates: Iterable[str | Sequence[str]], data_home: PathLike | None, *, verify: bool = True
    ) -> list[Path]:
        """Find files, and with ``verify`` compare the checksums that are known.

        If a candidate is a sequence of paths, the first that exists is taken.
        """
        folder = self.folder_in(data_home)
        if verify and self.is_other_edition(folder):
            known = f"{self.paper.describe()}, " if self.paper else ""
            message = f"{folder} holds another edition of data set {self.name!r} than the one whose checksums are known"
            warnings.warn(
                f"{message} ({known}see python -m experiments datasets info). Only its structure is checked.",
                stacklevel=3,
            )
            verify = False
        found = []
        for candidate in candidates:
            options = (candidate,) if isinstance(candidate, str) else tuple(candidate)
            present = next((option for option in options if (folder / option).is_file()), None)
            if present is None:
                raise DataNotFoundError(
                    f"{' or '.join(options)} of data set {self.name!r} is missing. Get it from {self.home_page} and "
                    f"put it at {folder / options[0]} (the folder above is data_home, else the environment variable "
                    "THPI_DATA, else ~/thpi_data)."
                )
            if verify:
                self.check_file(folder / present, self.all_files.get(present))
            found.append(folder / present)
        return found

    def is_other_edition(self, folder: Path) -> bool:
        """Whether the folder holds files of an edition without known checksums."""
        marks = () if self.other_editions is None else self.other_editions.marks
        present = [mark for mark in marks if (folder / mark).is_file()]
        return bool(present) and all(_sha256(folder / mark) != self.files[mark] for mark in present)

    def check_file(self, path: Path, expected: str | None) -> None:
        """Raise :class:`DataAlteredError` if the file does not have the expected checksum (None: any)."""
        if expected is None:
            return
        found = _sha256(path)
        if found != expected:
            raise DataAlteredError(
                f"{path} of data set {self.name!r} has sha256 {found}, expected {expected}: it is damaged "
                "or another edition. Fetch it again, or pass verify=False to read it as it is."
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return sha256_of(file)
