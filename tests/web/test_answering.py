from __future__ import annotations

import gc
import sys

import pytest

from thpi.web import Catalogue, Settings
from thpi.web.answering import Answer, Asked, answer_all
from thpi.web.errors import RequestError


@pytest.mark.parametrize("body", [b"{{", b'{"vector": [1], "k": 10000}', b'{"colour": "red"}'])
def test_a_refused_body_is_freed_at_once(shop: Catalogue, body: bytes) -> None:
    """Without a garbage collection: an error must not keep the frames that have the body."""
    before = sys.getrefcount(body)
    gc.disable()
    try:
        (answer,) = answer_all(shop, Settings(), [Asked(lambda: body, "application/json", {})], lambda: None)
        assert isinstance(answer, RequestError)
        assert sys.getrefcount(body) == before
    finally:
        gc.enable()


def test_one_that_is_refused_does_not_affect_the_others(shop: Catalogue) -> None:
    item = shop.engines[0].index.ids[0]
    bodies = [b"{", f'{{"id": "{item}"}}'.encode()]
    refused, answered = answer_all(
        shop, Settings(), [Asked(lambda b=body: b, "application/json", {}) for body in bodies], lambda: None
    )
    assert isinstance(refused, RequestError)
    assert isinstance(answered, Answer)
