"""The handwritten digits of the package (UCI Multiple Features)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thpi._types import Array
from thpi.datasets._paired import BUNDLED, PairedDataset

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
    for argument, view in {"target": target, "source": source}.items():
        if view not in VIEWS:
            raise ValueError(f"{argument}={view!r} must be one of {', '.join(VIEWS)}.")
    with np.load(BUNDLED / "digits.npz", allow_pickle=False) as archive:
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
