"""The methods that are compared, by name."""

from __future__ import annotations

from thpi.comparison._binary import auto_code, itq_code, rotation_code, sign_code
from thpi.comparison._faiss import (
    float_code,
    half_code,
    product_code,
    rabitq_code,
    residual_code,
    rotated_product_code,
    scalar_code,
)
from thpi.comparison._method import Method

METHODS: dict[str, Method] = {
    "sign": sign_code,
    "rotation": rotation_code,
    "ITQ": itq_code,
    "AutoHasher": auto_code,
    "PQ": product_code,
    "OPQ": rotated_product_code,
    **{f"RaBitQ {bits}": rabitq_code(bits) for bits in (1, 2, 4)},
    "residual": residual_code,
    "SQ 4": scalar_code("QT_4bit", 4),
    "SQ 8": scalar_code("QT_8bit", 8),
    "half": half_code,
    "float": float_code,
}
"""All methods, in the order of the size of their codes."""
