from __future__ import annotations

import numpy as np
import pytest

from thpi.auto import RELEVANCES, candidates
from thpi.registry import HASHERS


@pytest.mark.parametrize("relevance", RELEVANCES)
def test_every_candidate_is_a_method_with_valid_parameters(relevance):
    listed = candidates(relevance)
    assert (str(listed[-1]), dict(listed[-1].params)) == ("ITQ without source", {})
    assert RELEVANCES[relevance].default in listed
    assert len({(str(c), *c.params.items()) for c in listed}) == len(listed)
    for candidate in listed:
        hasher = candidate.make(16, random_state=0)
        assert type(hasher) is HASHERS[candidate.method.__name__]
        hasher._validate_params()
        assert str(candidate).endswith("with source" if candidate.uses_source else "without source")
    assert {c.kernel for c in listed} == {c.uses_source for c in listed} == {False, True}
    alone = candidates(relevance, has_source=False)
    assert alone == tuple(candidate for candidate in listed if not candidate.uses_source)
    assert not any(c.method.uses_labels for c in candidates(relevance, has_labels=False))


def test_an_unknown_relevance_is_named():
    with pytest.raises(ValueError, match="relevance='near' must be one of target, source"):
        candidates("near")


@pytest.mark.parametrize("relevance", RELEVANCES)
def test_a_candidate_without_source_is_never_shown_one(relevance):
    """Whatever the source is, candidates without it score the same, if it does not decide what is relevant."""
    from thpi import AutoHasher

    rng = np.random.RandomState(0)
    X, S = rng.standard_normal((60, 12)), rng.standard_normal((90, 5))
    y = np.arange(60) % 4
    scores = []
    for source in (S, S[::-1] ** 3):
        hasher = AutoHasher(8, relevance=relevance, n_repeats=1, random_state=0)
        hasher.fit(X, y, privileged=source[:60], source=source[60:])
        scores.append([e["score"] for e in hasher.candidates_ if not e["uses_source"]])
    if not RELEVANCES[relevance].needs_source:
        assert scores[0] == scores[1]
    views = hasher.check_views(X, y, S[:60], S[60:], None)
    geometry = hasher.trial(views, np.random.RandomState(0)).linear.geometry
    assert geometry.source is not None
    assert geometry.without_source.source is None
