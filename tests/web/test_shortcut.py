"""Searches that do not pass through the routes."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

import thpi
from thpi.index import HammingIndex, Neighbours
from thpi.web import Catalogue, Engine, create_app


def test_a_search_that_fails_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(HammingIndex):
        def search(self, *args: Any, **kwargs: Any) -> Neighbours:
            raise ZeroDivisionError("the index is broken")

    hasher = thpi.LSH(n_bits=8, random_state=0).fit(np.eye(10, 4))
    index = Broken(8, model=hasher.fingerprint_)
    index.add(hasher.codes_)
    client = TestClient(create_app(Catalogue("broken", (Engine(hasher, index),))))
    with caplog.at_level(logging.ERROR, "thpi.web"):
        answer = client.post("/search", json={"vector": [1, 2, 3, 4]})
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server failed on this request; its log says why."}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "the index is broken" in caplog.text
    assert 'thpi_requests_total{route="/search",status="500"} 1.0' in client.get("/metrics").text
