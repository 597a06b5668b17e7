"""What several methods are tried on."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def groups():
    """Rows of four groups, some tight and some wide, and the group of each."""
    rng = np.random.RandomState(0)
    group = rng.randint(4, size=300)
    width = np.array([0.4, 0.8, 1.3, 2.1])[group]
    return 2 * rng.standard_normal((4, 12))[group] + width[:, None] * rng.standard_normal((300, 12)), group
