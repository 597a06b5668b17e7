"""The methods that are compared, by name."""

from __future__ import annotations

from thpi.comparison import _binary, _faiss
from thpi.comparison._method import Method

METHODS: dict[str, Method] = {
    "sign": _binary.sign_code,
    "rotation": _binary.rotation_code,
    "ITQ": _binary.itq_code,
    "AutoHasher": _binary.auto_code,
    "PQ": _faiss.product_code,
    "OPQ": _faiss.rotated_product_code,
    **{f"RaBitQ {bits}": _faiss.rabitq_code(bits) for bits in (1, 2, 4)},
    "residual": _faiss.residual_code,
    "SQ 4": _faiss.scalar_code("QT_4bit", 4),
    "SQ 8": _faiss.scalar_code("QT_8bit", 8),
    "half": _faiss.half_code,
    "float": _faiss.float_code,
}
"""All methods: functions that code rows in at most so many bytes."""
