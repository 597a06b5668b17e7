"""How many files of the package a reader must open to follow one search over HTTP."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx: pip install httpx")

from starlette.testclient import TestClient

import thpi
from thpi.collection import Collection
from thpi.web import create_app

HOME = Path(thpi.__file__).parent


@pytest.mark.parametrize("asked", [{"id": "item/3"}, {"vector": [0.5] * 12}, {"vector": [0.5] * 12, "details": True}])
def test_a_search_walks_few_files(shop: Collection, asked: dict[str, Any]) -> None:
    walked: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOME):
            walked.add(str(path.relative_to(HOME)))

    client = TestClient(create_app(shop))
    client.post("/search", json=asked)  # what is read once
    threading.setprofile(note)  # of new threads: those of the event loop and of the search
    sys.setprofile(note)
    try:
        client = TestClient(create_app(shop))
        walked.clear()
        answer = client.post("/search", json=asked)
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    assert answer.status_code == 200
    assert "web/searching.py" in walked
    assert len(walked) <= 12, sorted(walked)
