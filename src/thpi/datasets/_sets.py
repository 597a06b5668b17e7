"""The data that comes with the package, and the form in which every loader returns a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from thpi._types import Array, InMemory, Ints
from thpi.kernels.threads import small_products

Picture: TypeAlias = "npt.NDArray[np.uint8] | bytes"

_BUNDLED = Path(__file__).parent / "_bundled"

# How digits.npz keeps each view: the integers of pix and fac as they are, other numbers in units of 1e-5.
VIEWS = ("pix", "fac", "fou", "kar", "zer", "mor")
INTEGER_TYPES: dict[str, npt.DTypeLike] = {"pix": np.dtype(np.uint8), "fac": np.dtype("<u2")}
FIXED_POINT_TYPE = np.dtype("<i4")
DECIMALS = 5

# How shop.npz keeps a feature: MobileNetV2's last layer lies between 0 and 6, in 255 steps.
FEATURE_STEP = 6 / 255

SHOP_ROLES = {"pairs": slice(0, 200), "texts": slice(200, 800), "queries": slice(800, 1000)}
"""Rows of the shop by what is known of them while learning: picture and tags, tags alone, nothing."""


class Item(NamedTuple):
    """What can be shown of one row of a data set; None or empty if the set does not have it.

    ``picture`` is a uint8 array (height x width, grey) or the bytes of an image file.
    """

    name: str
    label: str | None
    picture: Picture | None
    target_text: str | None
    source_text: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PairedDataset:
    """Rows seen in two domains: row ``i`` of ``target`` and row ``i`` of ``source`` are the same thing.

    ``target`` exists at query time, ``source`` is the privileged data; they are float64 arrays or
    ``scipy.sparse.csr_array``, and ``source_only`` has source rows without a counterpart. ``labels`` are class numbers,
    ``tags`` (n x t) is nonzero where a row carries a tag. ``pictures`` are uint8 arrays, or bytes of image files.

    >>> toy = PairedDataset("toy", np.eye(2), np.ones((2, 3)), ("a", "b"), np.array([1, 0]), ("no", "yes"))
    >>> toy.n, toy.show(0).label
    (2, 'yes')
    """

    name: str
    target: InMemory
    source: InMemory
    names: tuple[str, ...]
    labels: Ints | None = None
    label_names: tuple[str, ...] = ()
    source_only: InMemory | None = None
    tags: InMemory | None = None
    tag_names: tuple[str, ...] = ()
    pictures: Sequence[Picture] | npt.NDArray[np.uint8] | None = None
    target_texts: Sequence[str] | None = None
    source_texts: Sequence[str] | None = None

    @property
    def n(self) -> int:
        """Number of paired rows."""
        return int(self.target.shape[0])

    def show(self, i: int) -> Item:
        """Return what can be shown of row ``i``."""
        if not 0 <= i < self.n:
            raise IndexError(f"i={i!r} must be a row number from 0 to {self.n - 1}.")

        def at(values: Any) -> Any:
            return None if values is None else values[i]

        label = None if self.labels is None else self.label_names[int(self.labels[i])]
        carried = [] if self.tags is None else self.tags[[i]].nonzero()[1].tolist()
        texts = at(self.target_texts), at(self.source_texts)
        return Item(self.names[i], label, at(self.pictures), *texts, tuple(self.tag_names[j] for j in carried))


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
    with np.load(_BUNDLED / "digits.npz", allow_pickle=False) as archive:
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


def load_shop() -> PairedDataset:
    """Load 1,000 drawings: 1,280 features of MobileNetV2 (target), tags (source), 8 categories, WebP thumbnails.

    Of the first 200 rows picture and tags are known while learning (the pairs), of the next 600 the tags alone. The
    last 200 are new: they are the queries, and the database is all others. :data:`SHOP_ROLES` has these slices.

    The drawings are from the Open Clip Art Library, public domain: 125 of each of the eight categories with the most
    drawings, chosen at random and put in random order. Drawings that are in more than one category were left out, and
    so was every copy of a drawing but the first. Features are rounded to 1/255 of their range.

    >>> shop = load_shop()
    >>> shop.target.shape, len(shop.label_names), len(shop.names)
    ((1000, 1280), 8, 1000)
    >>> shop.show(0).tags
    ('animal', 'bird', 'silhouette')
    """
    with np.load(_BUNDLED / "shop.npz", allow_pickle=False) as archive:
        steps, carried, counts, vocabulary = (archive[key] for key in ("features", "tags", "tag_counts", "vocabulary"))
        names, labels, label_names = (archive[key] for key in ("names", "labels", "label_names"))
        pictures, ends = archive["pictures"].tobytes(), np.cumsum(archive["picture_sizes"]).tolist()
    tags = sparse.csr_array(
        (np.ones(len(carried)), carried, np.concatenate([[0], np.cumsum(counts)])), shape=(len(names), len(vocabulary))
    )
    classes = labels.astype(np.int64), tuple(label_names.tolist())
    drawings = tuple(pictures[start:end] for start, end in zip([0, *ends], ends, strict=False))
    known = {"tags": tags, "tag_names": tuple(vocabulary.tolist()), "pictures": drawings}
    return PairedDataset("shop", steps * FEATURE_STEP, tags, tuple(names.tolist()), *classes, **known)


class ShopTask(NamedTuple):
    """Target rows ``X`` and source rows ``S`` of all drawings, their labels, and the rows of each role.

    Learn from ``X[pairs]``, ``S[pairs]`` and ``S[texts]``. Search ``X[database]`` with ``X[queries]``; the database is
    pairs and texts.
    """

    shop: PairedDataset
    X: Array
    S: Array
    labels: Ints
    pairs: Ints
    texts: Ints
    queries: Ints
    database: Ints

    @property
    def ids(self) -> Array:
        """Names of the drawings, by the first word of their category: "signs-17" is of "signs_and_symbols"."""
        kinds = [self.shop.label_names[label].split("_")[0] for label in self.labels]
        return np.array([f"{kind}-{row}" for row, kind in enumerate(kinds)])

    @property
    def steps(self) -> Array:
        """Target rows as whole numbers from 0 to 255."""
        return np.rint(self.X / FEATURE_STEP).astype(int)


def shop_task() -> ShopTask:
    """Load the shop with its tags as 100 numbers per drawing: tf-idf and principal components, without the queries.

    >>> task = shop_task()
    >>> task.X.shape, task.S.shape, len(task.pairs), len(task.texts), len(task.queries), str(task.ids[0])
    ((1000, 1280), (1000, 100), 200, 600, 200, 'animals-0')
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    shop = load_shop()
    assert shop.labels is not None
    pairs, texts, queries = (np.arange(shop.n)[SHOP_ROLES[role]] for role in ("pairs", "texts", "queries"))
    database = np.concatenate([pairs, texts])
    weights = TfidfTransformer().fit(shop.source[database]).transform(shop.source)
    with small_products(shop.n):  # the same components with any number of threads
        S = TruncatedSVD(100, n_iter=2, random_state=0).fit(weights[database]).transform(weights)
    return ShopTask(shop, np.asarray(shop.target), np.asarray(S), shop.labels, pairs, texts, queries, database)
