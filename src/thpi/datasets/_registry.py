"""The table of data sets: one entry a set."""

from __future__ import annotations

from dataclasses import dataclass

from thpi.datasets._errors import UnknownDatasetError

__all__ = ["DatasetInfo", "FileInfo", "info", "list_datasets"]


@dataclass(frozen=True)
class FileInfo:
    """A file of a data set, its path within the set's folder, and its sha256 (None: not known)."""

    path: str
    sha256: str | None


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    ``folder`` is the set's folder in the data home, None if the set comes with the package. ``files`` are those
    the loader reads by default; ``public_files`` are those of the full public collection, where that is another
    form which the loader reads as well.
    """

    name: str
    title: str
    home_page: str
    licence: str
    citation: str
    target: str
    source: str
    loader: str
    folder: str | None
    files: tuple[FileInfo, ...]
    public_files: tuple[FileInfo, ...] = ()


def _files(**checksums: str) -> tuple[FileInfo, ...]:
    return tuple(FileInfo(path, sha256) for path, sha256 in checksums.items())


def _unknown(*paths: str) -> tuple[FileInfo, ...]:
    return tuple(FileInfo(path, None) for path in paths)


_ENTRIES = (
    DatasetInfo(
        name="digits",
        title="UCI Multiple Features: 2,000 handwritten digits in six views",
        home_page="https://archive.ics.uci.edu/dataset/72/multiple+features",
        licence="CC BY 4.0",
        citation="Duin, R. Multiple Features. UCI Machine Learning Repository. doi:10.24432/C5HC70",
        target="240 pixels (pix), or any other view",
        source="216 profile correlations (fac), or any other view",
        loader="thpi.datasets._digits:load_digits_views",
        folder=None,
        files=_files(
            **{"digits.npz": "242f7ec6679b2c9a22a2ec1ba71d8c72181a42249873b36f7a468bbaf0b4c6ac"},
        ),
    ),
    DatasetInfo(
        name="bbc",
        title="BBC news in three segments",
        home_page="http://mlg.ucd.ie/datasets/segment.html",
        licence="Rights in the texts: BBC; for research use",
        citation="Greene, D., Cunningham, P. Practical solutions to the problem of diagonal dominance in kernel "
        "document clustering. ICML 2006",
        target="term counts of segment 2 of 3",
        source="term counts of segment 1 of 3",
        loader="thpi.datasets._bbc:load_bbc",
        folder="bbc",
        files=_files(
            **{
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
            }
        ),
    ),
    DatasetInfo(
        name="reuters",
        title="Reuters RCV1/RCV2 multilingual, multiview collection",
        home_page="https://archive.ics.uci.edu/dataset/259/"
        "reuters+rcv1+rcv2+multilingual+multiview+text+categorization+test+collection",
        licence="For research use",
        citation="Amini, M. R., Usunier, N., Goutte, C. Learning from multiple partially observed views - an "
        "application to multilingual text categorization. NIPS 2009",
        target="French, tf-idf weighted terms",
        source="English, tf-idf weighted terms",
        loader="thpi.datasets._reuters:load_reuters",
        folder="reuters",
        files=_files(
            **{"reuters_600.mat": "7891013c24a821f56a5423387caaa4c609ff0a91c8df177a689dfaf0381c5761"},
        ),
        public_files=_unknown("EN/Index_EN-EN", "FR/Index_EN-FR"),
    ),
    DatasetInfo(
        name="nuswide",
        title="NUS-WIDE: Flickr pictures and their tags",
        home_page="https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html",
        licence="For research use",
        citation="Chua, T.-S. et al. NUS-WIDE: a real-world web image database from National University of "
        "Singapore. CIVR 2009",
        target="225 colour moments on a 5 x 5 grid (or all 634 image features)",
        source="1,000 tags",
        loader="thpi.datasets._nuswide:load_nuswide",
        folder="nuswide",
        files=_files(
            **{
                "nus_wide_train_guest_600.csv.gz": "bad09953017e36f8d1335abdbc0aa8dccdbfd0793505a635bf403c444cfa1066",
                "nus_wide_train_host.csv.gz": "a9c74e900e6fcb688bf9c3249c7f2ae531eb06cb67270f2e1164c36992023a27",
                "nus_wide_validate_host.csv.gz": "504ac2a4e362a2b91b54656bcf73c7fdae707bb7609bf3f5c902363abd4b9700",
            }
        ),
        public_files=_unknown(
            "Low_Level_Features/Train_Normalized_CM55.dat",
            "Low_Level_Features/Test_Normalized_CM55.dat",
            "NUS_WID_Tags/Train_Tags1k.dat",
            "NUS_WID_Tags/Test_Tags1k.dat",
            "NUS_WID_Tags/TagList1k.txt",
            "ConceptsList/Concepts81.txt",
        ),
    ),
    DatasetInfo(
        name="openclipart",
        title="Open Clip Art Library: drawings and their tags",
        home_page="https://openclipart.org/",
        licence="Public domain (CC0)",
        citation="Open Clip Art Library, https://openclipart.org/",
        target="225 colour moments on a 5 x 5 grid",
        source="645 tags",
        loader="thpi.datasets._openclipart:load_openclipart",
        folder="openclipart",
        files=_files(
            **{
                "openclipart_cm225_tags.npz": "b8e26bf32b153bdc8f0948c71d732638c28ef6ee62f928937ce83cb44029daf4",
                "thumbnails.zip": "1995acf577047d6f2fdbc40bc47d4df3958622dde80f0fe531f981609e86c84a",
            }
        ),
    ),
    DatasetInfo(
        name="ddtp",
        title="Debian package descriptions in English and French",
        home_page="https://ddtp.debian.org/",
        licence="Free: the descriptions of Debian's main section, under the licences of the packages",
        citation="Debian Description Translation Project, https://www.debian.org/international/l10n/ddtp",
        target="term counts of the French text",
        source="term counts of the English text",
        loader="thpi.datasets._ddtp:load_ddtp",
        folder="ddtp",
        files=_files(
            **{"ddtp_en_fr.tsv.gz": "460e495dcbc62c0000213091d6f58d18f0d275b497abd956518bc7e1636c7e7f"},
        ),
    ),
    DatasetInfo(
        name="mediamill",
        title="MediaMill: video shots and their concepts",
        home_page="https://mulan.sourceforge.net/datasets-mlc.html",
        licence="Not stated by its authors; for research use",
        citation="Snoek, C. G. M. et al. The challenge problem for automated detection of 101 semantic concepts "
        "in multimedia. ACM Multimedia 2006",
        target="120 visual features",
        source="101 concepts",
        loader="thpi.datasets._mediamill:load_mediamill",
        folder="mediamill",
        files=_files(
            **{"mediamill.npz": "e477c506addf7b0c215968fb2fb7d5f4aad5b815b187a0019e69e1d71463980b"},
        ),
    ),
    DatasetInfo(
        name="wikipedia",
        title="Wikipedia featured articles: pictures and texts",
        home_page="http://www.svcl.ucsd.edu/projects/crossmodal/",
        licence="Not stated by its authors; for research use",
        citation="Rasiwasia, N. et al. A new approach to cross-modal multimedia retrieval. ACM Multimedia 2010",
        target="128 features of the picture (SIFT words)",
        source="100 features of the text",
        loader="thpi.datasets._wikipedia:load_wikipedia",
        folder="wiki",
        files=_files(
            **{"wiki.npz": "64976508506486609e30955596b4eaa2249f519e66d19b734aa8f13e0b3bee8d"},
        ),
    ),
)

_BY_NAME = {entry.name: entry for entry in _ENTRIES}


def list_datasets() -> tuple[str, ...]:
    """Names of the data sets, the bundled one first.

    >>> list_datasets()[:3]
    ('digits', 'bbc', 'reuters')
    """
    return tuple(_BY_NAME)


def info(name: str) -> DatasetInfo:
    """Give the registry entry of a data set.

    >>> info("digits").licence
    'CC BY 4.0'
    """
    if name not in _BY_NAME:
        raise UnknownDatasetError(f"name={name!r} is not a data set; known: {', '.join(_BY_NAME)}.")
    return _BY_NAME[name]
