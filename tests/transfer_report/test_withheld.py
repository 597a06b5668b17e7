"""The learners alone, on the folds that they have with a source."""

from __future__ import annotations

import numpy as np
import pytest

from thpi import AutoHasher
from thpi.transfer_report.withheld import WithheldSource


def _pairs(seed, n=90):
    rng = np.random.RandomState(seed)
    y = rng.randint(3, size=n)
    X = 2 * rng.standard_normal((3, 12))[y] + rng.standard_normal((n, 12))
    return X, y, rng.standard_normal((n, 7)), rng.standard_normal((40, 7))


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["target", "labels"])
def test_what_the_source_says_has_no_part(relevance):
    X, y, S, U = _pairs(0)
    told = y if relevance == "labels" else None
    one = WithheldSource(8, relevance=relevance, random_state=0).fit(X, told, privileged=S, source=U)
    other = WithheldSource(8, relevance=relevance, random_state=0).fit(X, told, privileged=S[::-1] ** 3, source=-U)
    assert one.choice_ == other.choice_
    assert not any(candidate["uses_source"] for candidate in one.candidates_)
    np.testing.assert_array_equal(one.projection_, other.projection_)


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["target", "labels"])
def test_it_is_autohasher_where_that_uses_no_source(relevance):
    """The source is noise, and the gate high: AutoHasher does without it, by the same scores."""
    X, y, S, U = _pairs(1)
    told = y if relevance == "labels" else None
    auto, alone = (
        made(8, relevance=relevance, gate=4.0, random_state=0).fit(X, told, privileged=S, source=U)
        for made in (AutoHasher, WithheldSource)
    )
    assert auto.choice_ == alone.choice_
    np.testing.assert_array_equal(auto.projection_, alone.projection_)
    with_source = {c["name"]: c["scores"] for c in auto.candidates_ if not c["uses_source"]}
    assert with_source.keys() == {c["name"] for c in alone.candidates_}
    for candidate in alone.candidates_:
        scores, others = candidate["scores"], with_source[candidate["name"]]
        # A costly one goes on after the first fold if it leads there, be it over one that uses the source.
        both = min(len(scores), len(others)) if candidate["method"] == "ITQPlus" else len(scores)
        assert scores[:both] == others[:both]
        assert both == 1 or len(scores) == len(others)
