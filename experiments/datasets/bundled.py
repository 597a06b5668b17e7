"""What the experiments know of the data that comes with the package."""

from __future__ import annotations

from experiments.datasets.entry import DatasetInfo, TransferRole, pipelines
from thpi.datasets import load_digits_views, load_shop

DIGITS = DatasetInfo(
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
)

SHOP = DatasetInfo(
    name="shop",
    title="A small shop: 1,000 drawings and their tags",
    home_page="https://openclipart.org/",
    licence="Public domain",
    licence_checked=True,  # SHOP_LICENSE.txt, beside the file
    citation="Open Clip Art Library, https://openclipart.org/",
    target="1,280 features of the drawing (MobileNetV2)",
    source="tags",
    loader=load_shop,
    preprocessing="target unchanged; source tf-idf, 100 components",
    pipelines=pipelines("unchanged", "tfidf_svd"),
    folder=None,
    files={"shop.npz": "67e4918b74306c044ba171f2fa132da492a771a09dc29abec1290ea3f7875519"},
)
