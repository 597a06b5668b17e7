from __future__ import annotations

import logging

import pytest

from thpi.web import logs


@pytest.fixture
def logger(caplog: pytest.LogCaptureFixture) -> logging.Logger:
    logger = logging.getLogger("tests.seldom")
    logger.addFilter(seldom := logs.Seldom())
    yield logger
    logger.removeFilter(seldom)


def test_one_place_says_one_thing_in_a_minute(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(logs.time, "monotonic", lambda: now)
    for second in range(200):
        now = 1000.0 + second
        logger.warning("refused %d", second)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["refused 0", *(f"refused {n} (59 more since the last one)" for n in (60, 120, 180))]


def test_other_places_and_other_errors_are_said(logger: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    for error in (ValueError, KeyError, ValueError):
        try:
            raise error
        except error:
            logger.exception("failed")
    logger.warning("elsewhere")
    assert [record.exc_info and record.exc_info[0] for record in caplog.records] == [ValueError, KeyError, None]
