"""NUS-WIDE: pictures from Flickr and the tags of their owners."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse

from experiments.datasets.entry import DatasetInfo, PaperRole, TransferRole, check_choice, pipelines
from experiments.datasets.texts import Sparse, texts_of
from thpi._types import Array, PathLike
from thpi.datasets import PairedDataset

_KINDS = ("CH", "CM55", "CORR", "EDH", "WT")
_COLOR_MOMENTS = slice(64, 64 + 225)
_LINES_AT_ONCE = 5_000


def load_nuswide(
    features: Literal["color_moments", "all"] = "color_moments",
    *,
    form: Literal["auto", "sample", "collection"] = "auto",
    parts: tuple[str, ...] = ("Train", "Test"),
    max_rows: int | None = None,
    data_home: PathLike | None = None,
    verify: bool = True,
) -> PairedDataset:
    """Load picture features (target) and the 1,000 most frequent tags (source).

    Parameters
    ----------
    features : ``"color_moments"`` gives 225 colour moments on a 5 x 5 grid; ``"all"`` gives 634 features: 64 colour
        histogram, 225 colour moments, 144 correlogram, 73 edge directions, 128 wavelet texture.
    form : ``"sample"`` reads the csv files of a published sample: 599 pictures with tags, 1,301 rows of tags alone
        (``source_only``), one binary label. ``"collection"`` reads the public distribution, where present with its 81
        concepts (``Groundtruth/TrainTestLabels/Labels_<concept>_<part>.txt``), which become ``tags``. ``"auto"`` takes
        the collection if it is there. ``python -m experiments datasets info nuswide`` lists the files.
    parts : parts of the collection, ``"Train"`` and ``"Test"``, one after the other.
    max_rows : read at most this many pictures of each part of the collection (269,648 in all).
    data_home, verify : folder that holds the folder ``nuswide``; whether to compare checksums (known for the sample).

    The form of the collection is tested only on small files in its published layout.
    """
    check_choice(("color_moments", "all"), features=features)
    check_choice(("auto", "sample", "collection"), form=form)
    if not parts or not set(parts) <= {"Train", "Test"}:
        raise ValueError(f"parts={parts!r} must hold 'Train', 'Test' or both.")
    folder = ENTRY.folder_in(data_home)
    if form == "auto":
        form = "collection" if (folder / "Low_Level_Features").is_dir() else "sample"
    if form == "sample":
        return _load_sample(ENTRY.locate(ENTRY.files, data_home, verify=verify), features)
    kinds = _KINDS if features == "all" else ("CM55",)
    needed = [f"Low_Level_Features/{part}_Normalized_{kind}.dat" for part in parts for kind in kinds]
    needed += [f"NUS_WID_Tags/{part}_Tags1k.dat" for part in parts]
    ENTRY.locate([*needed, "NUS_WID_Tags/TagList1k.txt"], data_home, verify=verify)
    return _load_collection(folder, parts, kinds, max_rows)


def _load_sample(paths: list[Path], features: str) -> PairedDataset:
    guest, train_tags, other_tags = (np.loadtxt(path, delimiter=",", skiprows=1) for path in paths)
    tags = np.vstack([train_tags, other_tags])
    row_of = {int(identifier): row for row, identifier in enumerate(tags[:, 0])}
    identifiers = guest[:, 0].astype(np.int64)
    paired = np.array([row_of[int(identifier)] for identifier in identifiers])
    alone = np.setdiff1d(np.arange(len(tags)), paired)
    pictures, labels = guest[:, 1:-1], guest[:, -1].astype(np.int64)
    target = np.ascontiguousarray(pictures[:, _COLOR_MOMENTS] if features == "color_moments" else pictures)
    source, source_only = (sparse.csr_array(tags[rows, 1:]) for rows in (paired, alone))
    return PairedDataset("nuswide", target, source, tuple(map(str, identifiers)), labels, ("0", "1"), source_only)


def _load_collection(
    folder: Path, parts: tuple[str, ...], kinds: tuple[str, ...], max_rows: int | None
) -> PairedDataset:
    def features(part: str, kind: str) -> Array:
        return np.loadtxt(folder / f"Low_Level_Features/{part}_Normalized_{kind}.dat", max_rows=max_rows, ndmin=2)

    blocks = [np.hstack([features(part, kind) for kind in kinds]) for part in parts]
    tags = [_read_tags(folder / f"NUS_WID_Tags/{part}_Tags1k.dat", max_rows) for part in parts]
    source = sparse.csr_array(sparse.vstack(tags, format="csr"))
    names = tuple(f"{part}-{row}" for part, block in zip(parts, blocks, strict=True) for row in range(len(block)))
    concepts, concept_names = _read_concepts(folder, parts, max_rows)
    texts = texts_of(source, (folder / "NUS_WID_Tags/TagList1k.txt").read_text("utf-8").split())
    return PairedDataset(
        "nuswide", np.vstack(blocks), source, names, tags=concepts, tag_names=concept_names, source_texts=texts
    )


def _read_tags(path: Path, max_rows: int | None) -> Sparse:
    """Read 0 and 1 in pieces, because the dense matrix of all pictures takes more than a gigabyte."""
    with path.open(encoding="ascii") as stream:
        lines = islice(stream, max_rows)
        blocks = iter(lambda: list(islice(lines, _LINES_AT_ONCE)), [])
        pieces = [sparse.csr_array(np.loadtxt(block, np.uint8, ndmin=2), dtype=np.float64) for block in blocks]
    return sparse.csr_array(sparse.vstack(pieces, format="csr"))


def _read_concepts(folder: Path, parts: tuple[str, ...], max_rows: int | None) -> tuple[Array | None, tuple[str, ...]]:
    concept_list = folder / "ConceptsList" / "Concepts81.txt"
    if not concept_list.is_file():
        return None, ()
    concepts = tuple(concept_list.read_text("utf-8").split())

    def labels(concept: str, part: str) -> Array:
        path = folder / "Groundtruth" / "TrainTestLabels" / f"Labels_{concept}_{part}.txt"
        return np.loadtxt(path, dtype=np.uint8, max_rows=max_rows, ndmin=1)

    columns = [np.concatenate([labels(concept, part) for part in parts]) for concept in concepts]
    return np.stack(columns, axis=1), concepts


ENTRY = DatasetInfo(
    name="nuswide",
    title="NUS-WIDE: Flickr pictures and their tags",
    home_page="https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html",
    licence="For research use",
    citation="Chua, T.-S. et al. NUS-WIDE: a real-world web image database from National University of "
    "Singapore. CIVR 2009",
    target="225 colour moments on a 5 x 5 grid (or all 634 image features)",
    source="1,000 tags",
    loader=load_nuswide,
    preprocessing="target unchanged; source 60 LDA topics (of 1,000 tags, the paper has 5,018)",
    pipelines=pipelines("unchanged", "lda_topics"),
    folder="nuswide",
    files={
        "nus_wide_train_guest_600.csv.gz": "bad09953017e36f8d1335abdbc0aa8dccdbfd0793505a635bf403c444cfa1066",
        "nus_wide_train_host.csv.gz": "a9c74e900e6fcb688bf9c3249c7f2ae531eb06cb67270f2e1164c36992023a27",
        "nus_wide_validate_host.csv.gz": "504ac2a4e362a2b91b54656bcf73c7fdae707bb7609bf3f5c902363abd4b9700",
    },
    public_files={
        "Low_Level_Features/Train_Normalized_CM55.dat": None,
        "Low_Level_Features/Test_Normalized_CM55.dat": None,
        "NUS_WID_Tags/Train_Tags1k.dat": None,
        "NUS_WID_Tags/Test_Tags1k.dat": None,
        "NUS_WID_Tags/TagList1k.txt": None,
        "ConceptsList/Concepts81.txt": None,
    },
    paper=PaperRole("NUS-WIDE", "sample"),
    transfer=TransferRole("confirmation"),
)
