"""Descriptions of Debian packages, translated by people."""

from __future__ import annotations

import gzip

import numpy as np
from scipy import sparse

from experiments.datasets.entry import DatasetInfo, PaperRole, TransferRole, pipelines
from experiments.datasets.texts import number_classes
from thpi._types import PathLike
from thpi.datasets import PairedDataset


def load_ddtp(
    *, min_df: int = 5, max_df: float = 0.2, data_home: PathLike | None = None, verify: bool = True
) -> PairedDataset:
    """Load term counts of 19,489 package descriptions, French (target) and English (source); labels are sections.

    Parameters
    ----------
    min_df : keep terms that occur in at least this many descriptions.
    max_df : keep terms that occur in at most this share of the descriptions; replaces a list of stop words.
    data_home, verify : folder that holds the folder ``ddtp``; whether to compare checksums.

    The vocabulary comes from all descriptions, as in the other text sets, whose files fix it. Packages without a
    section have the class ``(none)``.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    (path,) = ENTRY.locate(["ddtp_en_fr.tsv.gz"], data_home, verify=verify)
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        header = next(stream).rstrip("\n").split("\t")
        if header != ["package", "section", "en", "fr"]:
            raise ValueError(f"{path} must have the columns package, section, en, fr, got {header}.")
        rows = [line.rstrip("\n").split("\t") for line in stream]
    packages, sections, english, french = zip(*rows, strict=True)
    classes = number_classes([section or "(none)" for section in sections])
    counter = CountVectorizer(min_df=min_df, max_df=max_df, dtype=np.float64)
    target, source = (sparse.csr_array(counter.fit_transform(texts)) for texts in (french, english))
    return PairedDataset("ddtp", target, source, packages, *classes, target_texts=french, source_texts=english)


ENTRY = DatasetInfo(
    name="ddtp",
    title="Debian package descriptions in English and French",
    home_page="https://ddtp.debian.org/",
    licence="Free: the descriptions of Debian's main section, under the licences of the packages",
    citation="Debian Description Translation Project, https://www.debian.org/international/l10n/ddtp",
    target="term counts of the French text",
    source="term counts of the English text",
    loader=load_ddtp,
    preprocessing="both tf-idf, PCA to at most 500 components (44 % of the energy)",
    pipelines=pipelines("tfidf_pca", "tfidf_pca"),
    folder="ddtp",
    files={"ddtp_en_fr.tsv.gz": "460e495dcbc62c0000213091d6f58d18f0d275b497abd956518bc7e1636c7e7f"},
    large=True,
    paper=PaperRole("Reuters", "stand-in"),
    transfer=TransferRole("confirmation"),
)
