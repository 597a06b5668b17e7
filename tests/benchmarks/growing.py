"""What the tests of growth run in processes of their own."""

import numpy as np


def allocate(n):
    return lambda: np.ones(n * 2**20, dtype=np.uint8).sum()


def fail(n):
    raise ValueError(f"{n} is too many")
