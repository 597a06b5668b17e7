"""BBC news, each article cut into three segments of which each is a view."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.io import mmread

from thpi.datasets._files import locate
from thpi.datasets._paired import PairedDataset

__all__ = ["load_bbc"]

_SHOWN_TERMS = 20


def load_bbc(
    target: int = 2,
    source: int = 1,
    *,
    pairing: Literal["id", "position"] = "id",
    data_home: str | os.PathLike[str] | None = None,
    verify: bool = True,
) -> PairedDataset:
    """Load term counts of two of the three segments.

    Parameters
    ----------
    target, source : number of the segment, 1, 2 or 3. The paper has target 2 and source 1.
    pairing : ``"id"`` pairs the rows that belong to the same article; articles that only the source has go to
        ``source_only``. ``"position"`` pairs the first row with the first row and so on, as the authors'
        published code does: most pairs are then different articles, though often of one class, because the
        files are sorted by class. Labels and names are those of the target rows.
    data_home : folder that holds the folder ``bbc``.
    verify : compare checksums.

    The texts that are shown are the most frequent terms (stems) of a segment: the files hold no running text.

    >>> load_bbc(target=4)
    Traceback (most recent call last):
        ...
    ValueError: target=4 must be 1, 2 or 3.
    """
    for argument, segment in (("target", target), ("source", source)):
        if segment not in (1, 2, 3):
            raise ValueError(f"{argument}={segment!r} must be 1, 2 or 3.")
    if pairing not in ("id", "position"):
        raise ValueError(f"pairing={pairing!r} must be 'id' or 'position'.")
    stems = [f"bbc_seg{segment}of3" for segment in (target, source)]
    names = [stem + ending for stem in stems for ending in (".mtx", ".docs", ".terms")]
    *paths, class_path = locate("bbc", [*names, "bbc.classes"], data_home, verify=verify)
    target_counts, target_docs, target_terms = _read_segment(*paths[:3])
    source_counts, source_docs, source_terms = _read_segment(*paths[3:])

    if pairing == "id":
        row_of = {doc: row for row, doc in enumerate(source_docs)}
        target_rows = np.array([row for row, doc in enumerate(target_docs) if doc in row_of], dtype=np.int64)
        source_rows = np.array([row_of[target_docs[row]] for row in target_rows], dtype=np.int64)
    else:
        target_rows = source_rows = np.arange(min(len(target_docs), len(source_docs)))
    alone = np.setdiff1d(np.arange(len(source_docs)), source_rows)

    docs = [target_docs[row] for row in target_rows]
    class_of, label_names = _read_classes(class_path)
    paired_target, paired_source = target_counts[target_rows], source_counts[source_rows]
    return PairedDataset(
        name="bbc",
        target=paired_target,
        source=paired_source,
        names=tuple(docs),
        labels=np.array([class_of[doc] for doc in docs], dtype=np.int64),
        label_names=label_names,
        source_only=source_counts[alone],
        target_texts=_frequent_terms(paired_target, target_terms),
        source_texts=_frequent_terms(paired_source, source_terms),
    )


def _read_segment(mtx: Path, docs: Path, terms: Path) -> tuple[sparse.csr_array[Any, Any], list[str], list[str]]:
    """Read a segment's counts as documents x terms (the file has them the other way), its ids and its terms."""
    counts: Any = mmread(mtx)
    by_document = sparse.csr_array(sparse.coo_array(counts).T, dtype=np.float64)
    by_document.sort_indices()
    ids, vocabulary = docs.read_text("utf-8").split(), terms.read_text("utf-8").split()
    if by_document.shape != (len(ids), len(vocabulary)):
        raise ValueError(
            f"{mtx} is {counts.shape[0]} terms x {counts.shape[1]} documents, but {terms.name} has "
            f"{len(vocabulary)} lines and {docs.name} has {len(ids)}."
        )
    return by_document, ids, vocabulary


def _read_classes(path: Path) -> tuple[dict[str, int], tuple[str, ...]]:
    """Read the class of every document; a class is named by the part of its ids before the full stop."""
    lines = (line.split() for line in path.read_text("utf-8").splitlines())
    class_of = {line[0]: int(line[1]) for line in lines if line and not line[0].startswith("%")}
    names = {label: doc.split(".")[0] for doc, label in class_of.items()}
    return class_of, tuple(names[label] for label in sorted(names))


def _frequent_terms(counts: sparse.csr_array[Any, Any], terms: list[str]) -> tuple[str, ...]:
    def text(row: int) -> str:
        span = slice(counts.indptr[row], counts.indptr[row + 1])
        order: npt.NDArray[Any] = np.argsort(-counts.data[span], kind="stable")[:_SHOWN_TERMS]
        return " ".join(terms[column] for column in counts.indices[span][order])

    return tuple(text(row) for row in range(counts.shape[0]))
