"""The methods that are compared, by name."""

from __future__ import annotations

from thpi.comparison._binary import auto_code, itq_code, rotation_code, sign_code
from thpi.comparison._faiss import (
    float_code,
    product_code,
    rabitq_code,
    residual_code,
    rotated_product_code,
    scalar_code,
)
from thpi.comparison._method import Method

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("sign", sign_code),
        Method("rotation", rotation_code),
        Method("ITQ", itq_code),
        Method("AutoHasher", auto_code("target")),
        Method("PQ", product_code),
        Method("OPQ", rotated_product_code),
        *(Method(f"RaBitQ {b}", rabitq_code(b), "IndexRaBitQ") for b in (1, 2, 4)),
        Method("residual", residual_code),
        Method("SQ 4", scalar_code("QT_4bit", 4)),
        Method("SQ 8", scalar_code("QT_8bit", 8)),
        Method("half", scalar_code("QT_fp16", 16)),
        Method("float", float_code),
    )
}
"""All methods that need the vectors alone; :func:`thpi.compare` may add AutoHasher with labels or with the source."""

WITH_LABELS = Method("AutoHasher, labels", auto_code("labels"))
WITH_SOURCE = Method("AutoHasher, source", auto_code("source"))
