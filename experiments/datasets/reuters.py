"""Reuters news in five languages, translated by machine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from experiments.datasets.entry import DatasetInfo, PaperRole, TransferRole, check_choice, pipelines
from experiments.datasets.texts import Sparse, number_classes
from thpi._types import PathLike
from thpi.datasets import PairedDataset

# Vocabulary sizes as published; the last terms of a language may occur in no document of a file.
_VOCABULARY = {"EN": 21_531, "FR": 24_893, "GR": 34_279, "IT": 15_506, "SP": 11_547}


def load_reuters(
    target: str = "FR",
    source: str = "EN",
    *,
    form: Literal["auto", "sample", "collection"] = "auto",
    data_home: PathLike | None = None,
    verify: bool = True,
) -> PairedDataset:
    """Load documents written in English, seen in two of the languages EN, FR, GR, IT, SP; tf-idf weights.

    Parameters
    ----------
    target, source : language of the view. The paper uses target FR and source EN.
    form : ``"sample"`` reads ``reuters_600.mat`` (600 documents, 100 per class; MATLAB lists of 1-based row, column
        and value; its classes are numbered, not named). ``"collection"`` reads the public collection's text files,
        one document per line: category, then ``index:value`` with indices from 1. The English documents are
        ``EN/Index_EN-EN``, their French translations ``FR/Index_EN-FR`` (or ``EN/Index_EN-FR``), in the same order.
        ``"auto"`` takes the collection if it is present.
    data_home, verify : folder that holds the folder ``reuters``; whether to compare checksums (known for the sample).

    The form of the collection is tested only on small files in its published layout.
    """
    check_choice(tuple(_VOCABULARY), target=target, source=source)
    check_choice(("auto", "sample", "collection"), form=form)
    if form == "auto":
        folder = ENTRY.folder_in(data_home)
        form = "collection" if any((folder / path).is_file() for path in _index_paths(target)) else "sample"
    if form == "sample":
        (path,) = ENTRY.locate(["reuters_600.mat"], data_home, verify=verify)
        return _load_sample(path, target, source)
    paths = ENTRY.locate([_index_paths(target), _index_paths(source)], data_home, verify=verify)
    target_categories, target_rows = _read_index(paths[0], _VOCABULARY[target])
    source_categories, source_rows = _read_index(paths[1], _VOCABULARY[source])
    if target_categories != source_categories:
        raise ValueError(f"{paths[0]} and {paths[1]} do not list the same categories line by line.")
    names = tuple(f"EN-{line:05d}" for line in range(1, len(target_categories) + 1))
    return PairedDataset("reuters", target_rows, source_rows, names, *number_classes(target_categories))


def _index_paths(language: str) -> tuple[str, str]:
    return f"{language}/Index_EN-{language}", f"EN/Index_EN-{language}"


def _load_sample(path: Path, target: str, source: str) -> PairedDataset:
    content = loadmat(path)
    classes = content["truth"].ravel().astype(np.int64)

    def view(language: str) -> Sparse:
        rows, columns, values = content[f"EN_{language}_sample"].T
        where = (rows.astype(np.int64) - 1, columns.astype(np.int64) - 1)
        return sparse.csr_array((values, where), shape=(len(classes), _VOCABULARY[language]))

    names = tuple(f"sample-{row:03d}" for row in range(1, len(classes) + 1))
    label_names = tuple(f"class {number}" for number in range(1, int(classes.max()) + 1))
    return PairedDataset("reuters", view(target), view(source), names, classes - 1, label_names)


def _read_index(path: Path, n_terms: int) -> tuple[list[str], Sparse]:
    lines = [line.strip().partition(" ") for line in path.read_text("ascii").split("\n") if line.strip()]
    rows = [np.array(weights.replace(":", " ").split(), dtype=np.float64).reshape(-1, 2) for _, _, weights in lines]
    entries = np.concatenate([np.empty((0, 2)), *rows])
    columns = entries[:, 0].astype(np.int64) - 1
    if len(columns) and not 0 <= columns.min() <= columns.max() < n_terms:
        raise ValueError(
            f"{path} has term indices {columns.min() + 1} to {columns.max() + 1}; allowed: 1 to {n_terms}."
        )
    starts = np.cumsum([0, *map(len, rows)])
    matrix = sparse.csr_array((entries[:, 1].copy(), columns, starts), shape=(len(rows), n_terms))
    return [category for category, _, _ in lines], matrix


ENTRY = DatasetInfo(
    name="reuters",
    title="Reuters RCV1/RCV2 multilingual, multiview collection",
    home_page="https://archive.ics.uci.edu/dataset/259/"
    "reuters+rcv1+rcv2+multilingual+multiview+text+categorization+test+collection",
    licence="For research use",
    citation="Amini, M. R., Usunier, N., Goutte, C. Learning from multiple partially observed views - an "
    "application to multilingual text categorization. NIPS 2009",
    target="French, tf-idf weighted terms",
    source="English, tf-idf weighted terms",
    loader=load_reuters,
    preprocessing="both PCA to 60 % of the energy (the files hold tf-idf)",
    pipelines=pipelines("pca_energy", "pca_energy", max_components=1_500),
    folder="reuters",
    files={"reuters_600.mat": "7891013c24a821f56a5423387caaa4c609ff0a91c8df177a689dfaf0381c5761"},
    public_files={"EN/Index_EN-EN": None, "FR/Index_EN-FR": None},
    paper=PaperRole("Reuters", "sample"),
    transfer=TransferRole("confirmation"),
)
