"""The bundled data as ``thpi serve --demo`` shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from thpi.datasets import PairedDataset, load_digits_views, load_shop, tag_components


@dataclass(frozen=True)
class Demo:
    """How a data set is shown.

    At most ``rows`` rows are shown; training knows ``pairs`` of them in both domains and nothing of ``queries``. If the
    rows are ``ordered``, all are, the pairs come first and the queries last; else they are shuffled. ``prepare_source``
    makes an unfitted transformer of the source rows.

    The page of ``"methods"`` has every method at several code lengths. The page of ``"source"`` compares what is found
    without and with the source, which is called ``source_name`` there.
    """

    load: Callable[[], PairedDataset]
    title: str
    description: str
    vector_name: str
    class_name: str
    rows: int = 3_000
    pairs: int = 300
    queries: int = 300
    ordered: bool = False
    prepare_source: Callable[[], Any] | None = None
    page: Literal["methods", "source"] = "methods"
    source_name: str = "source"


DEMOS = {
    "digits": Demo(
        partial(load_digits_views, target="pix", source="fou"),
        title="Handwritten digits",
        description="The target is the picture of a digit (240 pixels), the source its Fourier coefficients.",
        vector_name="pixels, grey 0 to 6",
        class_name="digit",
        pairs=100,
    ),
    "shop": Demo(
        load_shop,
        title="A small shop",
        description="Search by picture: 1,280 features that a network finds in it.",
        vector_name="features of MobileNetV2",
        class_name="category",
        pairs=200,
        queries=200,
        ordered=True,
        prepare_source=tag_components,
        page="source",
        source_name="tags",
    ),
}
"""By name. Assign a demo to add one of your own."""
