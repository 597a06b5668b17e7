from __future__ import annotations

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


def test_an_unknown_relevance_is_named():
    with pytest.raises(ValueError, match="relevance='near' must be one of"):
        candidates("near")
