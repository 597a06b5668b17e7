from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def data():
    """20,003 rows of 12 columns with structure, mean far from zero."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((20_003, 5)) @ (rng.standard_normal((5, 12)) * 3) + rng.standard_normal((20_003, 12))
    return X + 7
