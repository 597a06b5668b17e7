"""The handwritten digits of the package (UCI Multiple Features)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Array
from thpi.datasets._entry import DatasetInfo, Demo, TransferRole, check_choice, pipelines
from thpi.datasets._paired import PairedDataset

# How digits.npz keeps each view: the integers of pix and fac as they are, other numbers in units of 1e-5.
VIEWS = ("pix", "fac", "fou", "kar", "zer", "mor")
INTEGER_TYPES: dict[str, npt.DTypeLike] = {"pix": np.dtype(np.uint8), "fac": np.dtype("<u2")}
FIXED_POINT_TYPE = np.dtype("<i4")
DECIMALS = 5


def load_digits_views(target: str = "pix", source: str = "fac") -> PairedDataset:
    """Load 2,000 handwritten digits, each described by two of six views; needs no files but the package.

    ======  ====  ==================================================
    view    size  features
    ======  ====  ==================================================
    pix      240  pixels, 16 rows of 15, grey 0 to 6 (6 is full ink)
    fac      216  profile correlations
    fou       76  Fourier coefficients of the character's shape
    kar       64  Karhunen-Loève coefficients
    zer       47  Zernike moments
    mor        6  morphological features
    ======  ====  ==================================================

    Every item has its 16 x 15 picture (uint8, 0 to 252, ink bright) for any views. Features are unscaled;
    the real-valued views are rounded to five decimals. Data by Robert Duin, CC BY 4.0, doi:10.24432/C5HC70.

    >>> digits = load_digits_views(target="pix", source="fou")
    >>> digits.target.shape, digits.source.shape, len(digits.label_names)
    ((2000, 240), (2000, 76), 10)
    >>> digits.show(0).picture.shape
    (16, 15)
    """
    check_choice(VIEWS, target=target, source=source)
    with np.load(ENTRY.folder_in(None) / "digits.npz", allow_pickle=False) as archive:
        views = {view: _decode(archive[view], view) for view in {target, source, "pix"}}
        labels = archive["labels"].astype(np.int64)
    X, S = views[target].astype(np.float64), views[source].astype(np.float64)
    names = tuple(f"{label}-{i:04d}" for i, label in enumerate(labels))
    pictures = (views["pix"] * np.uint8(42)).reshape(-1, 16, 15)
    return PairedDataset("digits", X, S, names, labels, tuple("0123456789"), pictures=pictures)


def _decode(planes: npt.NDArray[np.uint8], view: str) -> Array:
    """Turn bytes, (bytes of an integer) x features x digits, back into numbers, digits x features."""
    raw = np.ascontiguousarray(np.moveaxis(planes, 0, -1))
    numbers = np.ascontiguousarray(raw.view(INTEGER_TYPES.get(view, FIXED_POINT_TYPE))[..., 0].T)
    # Dividing, not multiplying by 1e-5, gives the floating-point number nearest to the printed decimal.
    return numbers if view in INTEGER_TYPES else np.asarray(numbers / 10**DECIMALS)


ENTRY = DatasetInfo(
    name="digits",
    title="UCI Multiple Features: 2,000 handwritten digits in six views",
    home_page="https://archive.ics.uci.edu/dataset/72/multiple+features",
    licence="CC BY 4.0",
    licence_checked=True,  # DIGITS_LICENSE.txt, beside the file
    citation="Duin, R. Multiple Features. UCI Machine Learning Repository. doi:10.24432/C5HC70",
    target="240 pixels (pix), or any other view",
    source="216 profile correlations (fac), or any other view",
    loader=load_digits_views,
    preprocessing="both standardised",
    pipelines=pipelines("standardised", "standardised"),
    folder=None,
    files={"digits.npz": "242f7ec6679b2c9a22a2ec1ba71d8c72181a42249873b36f7a468bbaf0b4c6ac"},
    transfer=TransferRole(
        "development",
        {f"digits-{a}-{b}": {"source": a, "target": b} for a, b in (("fac", "pix"), ("pix", "fou"), ("zer", "kar"))},
    ),
    demo=Demo(
        title="Handwritten digits",
        description="The target is the picture of a digit (240 pixels), the source its Fourier coefficients.",
        vector_name="pixels, grey 0 to 6",
        class_name="digit",
        rows=2_000,
        pairs=100,
        options={"target": "pix", "source": "fou"},
    ),
)
