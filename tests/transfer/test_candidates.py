from __future__ import annotations

import numpy as np
import pytest

from thpi.hashers import HASHERS
from thpi.transfer import RELEVANCES, candidates


@pytest.mark.parametrize("relevance", RELEVANCES)
def test_every_candidate_is_a_method_with_valid_parameters(relevance):
    listed = candidates(relevance, 16)
    names = [candidate.name for candidate in listed]
    assert names[0] == "ITQ"
    assert len(set(names)) == len(names)
    for candidate in listed:
        hasher = candidate.make(16, random_state=0)
        assert isinstance(hasher, HASHERS[candidate.method])
        hasher._validate_params()
        assert candidate.uses_source != candidate.name.startswith("ITQ")
    # Costly ones stand last: they are raced against the others.
    assert [candidate.costly for candidate in listed] == sorted(candidate.costly for candidate in listed)
    alone = candidates(relevance, 16, has_source=False)
    assert alone == [candidate for candidate in listed if not candidate.uses_source]


@pytest.mark.parametrize("relevance", RELEVANCES)
def test_a_candidate_without_source_ignores_one_that_is_given(relevance):
    rng = np.random.RandomState(0)
    X, S, more = rng.standard_normal((60, 12)), rng.standard_normal((60, 5)), rng.standard_normal((30, 5))
    y = np.arange(60) % 4
    for candidate in candidates(relevance, 8, has_source=False):
        found = [
            candidate.make(8, random_state=0).fit(X, y, privileged=rows, source=further)
            for rows, further in ((S, more), (S[::-1] ** 3, None))
        ]
        np.testing.assert_array_equal(found[0].codes_, found[1].codes_)


def test_an_unknown_relevance_is_named():
    with pytest.raises(ValueError, match="relevance='near' must be one of"):
        candidates("near")
