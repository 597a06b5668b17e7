from __future__ import annotations

import pytest

from thpi.web.settings import Settings, is_loopback


@pytest.mark.parametrize("name", ["max_body", "max_k", "max_neighbours", "n_threads", "time_limit"])
def test_a_limit_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=0"):
        Settings(**{name: 0})


@pytest.mark.parametrize("token", ["", "short", "with a line\nbreak", "nicht-übertragbar"])
def test_a_token_that_cannot_be_used_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ValueError, match="token must have") as caught:
        Settings(token=token)
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
    assert not is_loopback(f"{host}.example.org")
