"""The methods that are compared, by name."""

from __future__ import annotations

from thpi.comparison._binary import auto_code, itq_code, rotation_code, sign_code
from thpi.comparison._faiss import float_code, product_code, rabitq_code, rotated_product_code, scalar_code
from thpi.comparison._method import Method
from thpi.comparison._residual import residual_code

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("sign", "signs of the dimensions, as pgvector's binary_quantize", sign_code),
        Method("rotation", "signs of principal coordinates, randomly rotated", rotation_code),
        Method("ITQ", "signs of principal coordinates, rotated by ITQ", itq_code),
        Method("AutoHasher", "signs of AutoHasher, for nearness in target space", auto_code("target")),
        Method("PQ", "product quantisation, 8 bits a part", product_code),
        Method("OPQ", "product quantisation after a learned rotation", rotated_product_code),
        *(Method(f"RaBitQ {b}", f"RaBitQ, bits a dimension: {b}", rabitq_code(b), "IndexRaBitQ") for b in (1, 2, 4)),
        Method("residual", "sums of centroids with an offset: ResidualQuantiser", residual_code),
        Method("SQ 4", "scalar quantisation, 4 bits a dimension", scalar_code("QT_4bit", 4)),
        Method("SQ 8", "scalar quantisation, 8 bits a dimension", scalar_code("QT_8bit", 8)),
        Method("half", "vectors in float16", scalar_code("QT_fp16", 16)),
        Method("float", "vectors in float32", float_code),
    )
}
"""All methods that need the vectors alone; :func:`thpi.compare` may add AutoHasher with labels or with the source."""

WITH_LABELS = Method("AutoHasher, labels", "signs of AutoHasher, for equal labels", auto_code("labels"))
WITH_SOURCE = Method("AutoHasher, source", "signs of AutoHasher, for nearness in source space", auto_code("source"))
