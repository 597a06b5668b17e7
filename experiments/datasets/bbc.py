"""BBC news: each article cut into three segments, each of which is a view."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.io import mmread

from experiments.datasets.entry import (
    DataAlteredError,
    DatasetInfo,
    OtherEditions,
    PaperRole,
    TransferRole,
    check_choice,
    pipelines,
)
from experiments.datasets.texts import Sparse, texts_of
from thpi._types import PathLike
from thpi.datasets import PairedDataset

_SHOWN_TERMS = 20


def load_bbc(
    target: int = 2,
    source: int = 1,
    *,
    pairing: Literal["id", "position"] = "id",
    data_home: PathLike | None = None,
    verify: bool = True,
) -> PairedDataset:
    """Load term counts of two of the three segments.

    Parameters
    ----------
    target, source : number of the segment, 1, 2 or 3. The paper uses target 2 and source 1.
    pairing : ``"id"`` pairs rows of the same article; articles that only the source has go to ``source_only``.
        ``"position"`` pairs the first row with the first row and so on, as the authors' published code does: most
        pairs are then different articles, though often of one class, because the files are sorted by class. Labels
        and names are those of the target rows.
    data_home, verify : folder that holds the folder ``bbc``; whether to compare checksums.

    The texts to show are the most frequent terms (stems) of a segment: the files hold no running text.

    The checksums are those of a rebuild from the raw texts by the published rule: 1,516 articles are in both segments,
    in the paper 1,828. Files of the published collection are read too. Their checksums are not known here, so only
    their structure is checked, and a warning says so.
    """
    check_choice((1, 2, 3), target=target, source=source)
    check_choice(("id", "position"), pairing=pairing)
    stems = [f"bbc_seg{segment}of3" for segment in (target, source)]
    wanted = [stem + ending for stem in stems for ending in (".mtx", ".docs", ".terms")]
    *paths, class_path = ENTRY.locate([*wanted, "bbc.classes"], data_home, verify=verify)
    target_counts, target_docs, target_terms = _read_segment(*paths[:3])
    source_counts, source_docs, source_terms = _read_segment(*paths[3:])

    if pairing == "id":
        row_of = {doc: row for row, doc in enumerate(source_docs)}
        target_rows = np.array([row for row, doc in enumerate(target_docs) if doc in row_of], dtype=np.int64)
        source_rows = np.array([row_of[target_docs[row]] for row in target_rows], dtype=np.int64)
    else:
        target_rows = source_rows = np.arange(min(len(target_docs), len(source_docs)))
    alone = np.setdiff1d(np.arange(len(source_docs)), source_rows)

    names = tuple(target_docs[row] for row in target_rows)
    class_of, label_names = _read_classes(class_path)
    _check_classes(class_path, class_of, names)
    labels = np.array([class_of[name] for name in names], dtype=np.int64)
    X, S = target_counts[target_rows], source_counts[source_rows]
    source_only = source_counts[alone] if len(alone) else None
    texts = texts_of(X, target_terms, _SHOWN_TERMS), texts_of(S, source_terms, _SHOWN_TERMS)
    return PairedDataset(
        "bbc", X, S, names, labels, label_names, source_only, target_texts=texts[0], source_texts=texts[1]
    )


def _read_segment(mtx: Path, docs: Path, terms: Path) -> tuple[Sparse, list[str], list[str]]:
    """Read a segment's counts as documents x terms (the file has them the other way), its ids and its terms."""
    try:
        counts = sparse.coo_array(mmread(mtx))
    except (ValueError, OverflowError, TypeError) as error:
        raise DataAlteredError(f"{mtx} is not a valid Matrix Market file: {error}") from error
    if counts.nnz and not (counts.data >= 0).all():
        raise DataAlteredError(f"{mtx} holds {counts.data.min()}; counts of terms are at least 0.")
    by_document = sparse.csr_array(counts.T, dtype=np.float64)
    by_document.sort_indices()
    ids, vocabulary = docs.read_text("utf-8").split(), terms.read_text("utf-8").split()
    if by_document.shape != (len(ids), len(vocabulary)):
        raise DataAlteredError(
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


def _check_classes(path: Path, class_of: dict[str, int], names: Collection[str]) -> None:
    missing = [name for name in names if name not in class_of]
    if missing:
        raise DataAlteredError(f"{path} has no class for {len(missing)} documents, the first is {missing[0]}.")


def _check_edition(folder: Path) -> None:
    """Check that all segments in the folder can be read and that every document has a class."""
    classes = folder / "bbc.classes"
    class_of = _read_classes(classes)[0] if classes.is_file() else None
    for mtx in sorted(folder.glob("bbc_seg?of3.mtx")):
        docs, terms = mtx.with_suffix(".docs"), mtx.with_suffix(".terms")
        if docs.is_file() and terms.is_file():
            names = _read_segment(mtx, docs, terms)[1]
            if class_of is not None:
                _check_classes(classes, class_of, names)


ENTRY = DatasetInfo(
    name="bbc",
    title="BBC news in three segments (a rebuild)",
    home_page="http://mlg.ucd.ie/datasets/segment.html",
    licence="Rights in the texts: BBC; for research use",
    citation="Greene, D., Cunningham, P. Practical solutions to the problem of diagonal dominance in kernel "
    "document clustering. ICML 2006",
    target="term counts of segment 2 of 3",
    source="term counts of segment 1 of 3",
    loader=load_bbc,
    preprocessing="both tf-idf, PCA to 60 % of the energy",
    pipelines=pipelines("tfidf_pca", "tfidf_pca"),
    folder="bbc",
    files={
        "bbc.classes": "224734bd6a92863019e4b84523415e048c9cad69fd8519397ffacc526470a981",
        "bbc_seg1of3.docs": "779378a715004f2368d21d52c249f88d455de58dfae49a1ffc91c3ae7379b247",
        "bbc_seg1of3.mtx": "f3879b9e4edb687ce246cc9b45c25f53293015a80006ac7ba0d865159c010cd7",
        "bbc_seg1of3.terms": "1c4365054fab8be3ba62a2aea4b4ee1a3c7de66fb29a0e70fcfcb1865477229b",
        "bbc_seg2of3.docs": "e36d4ceb84b36f57393443e92c61a372a0fa9f1e524b6befd6f51c18bdb6a0ef",
        "bbc_seg2of3.mtx": "5e9cb795c77c9ac1bea61a3719f2ba92a9c4657aa1ab6f3e2dd4d7355545f76b",
        "bbc_seg2of3.terms": "0d4b4358d1ba3809f6656a0f15edfafa34d33864cbc3e0eeb99cee9da0aeb9fa",
        "bbc_seg3of3.docs": "716da7afeb474f30f76c9712205eb4dd545def96888e2ad7da2209623f8b9eae",
        "bbc_seg3of3.mtx": "ce2ea8d916214a683370acdecc89b683c377a5e16f6ec373904ec1b01a1aa380",
        "bbc_seg3of3.terms": "79d5210bf5b935e78ce1eb392acc460c326f914242cf37588011604278bdf7a7",
    },
    other_editions=OtherEditions(tuple(f"bbc_seg{segment}of3.mtx" for segment in (1, 2, 3)), _check_edition),
    paper=PaperRole("BBC", "rebuild"),
    transfer=TransferRole("development"),
)
