"""What the OpenAPI description says of ``/search``, whose body the app reads itself to keep to its limits."""

from __future__ import annotations

from typing import Any

__all__ = ["ANSWERS", "SEARCH", "SEARCH_ANSWERS"]

_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}


def _error(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ERROR}}}


ANSWERS: dict[int | str, dict[str, Any]] = {
    401: _error("No token, or a wrong one."),
    422: _error("A value that is not allowed; the message names it and says what is."),
}

SEARCH_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One entry in `results` for each query.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "method": {"type": "string"},
                        "bits": {"type": "integer"},
                        "seconds": {"type": "number", "description": "Time in the index."},
                        "results": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "neighbours": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "id": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
                                                "distance": {
                                                    "type": "number",
                                                    "description": "Bits that differ; with `rerank` their asymmetric "
                                                    "distance.",
                                                },
                                            },
                                        },
                                    }
                                },
                            },
                        },
                    },
                }
            }
        },
    },
    400: _error("The body is not JSON."),
    404: _error("No item has this id."),
    408: _error("The body came too slowly."),
    413: _error("The body is too large."),
    415: _error("The body is of a kind that is not known."),
    503: _error("The search took too long."),
}

_VECTOR = {"type": "array", "items": {"type": "number"}}
_CHOICES = {
    "k": {"type": "integer", "minimum": 1, "default": 10},
    "method": {"type": "string"},
    "bits": {"type": "integer"},
    "rerank": {
        "type": "integer",
        "minimum": 1,
        "description": "Order so many of the nearest by asymmetric distance, then give k; not with `id`.",
    },
    "details": {"type": "boolean", "default": False, "description": "Also codes, items and relevance."},
}

SEARCH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "vector": _VECTOR,
                        "vectors": {"type": "array", "items": _VECTOR},
                        "id": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
                        **_CHOICES,
                    },
                    "oneOf": [{"required": [name]} for name in ("vector", "vectors", "id")],
                },
                "examples": {
                    "by vector": {"value": {"vector": [0.5, 1.0, -2.0], "k": 5}},
                    "by id": {"value": {"id": 41, "k": 5}},
                    "a batch": {"value": {"vectors": [[0.5, 1.0, -2.0], [0.0, 0.0, 1.0]], "k": 5}},
                },
            },
            "text/csv": {"schema": {"type": "string", "description": "One vector a line, without a header."}},
            "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    "parameters": [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": schema,
            "description": "For CSV and .npy bodies; with JSON it stands in the body.",
        }
        for name, schema in _CHOICES.items()
    ],
}
