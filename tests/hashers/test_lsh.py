from __future__ import annotations

import numpy as np

from thpi import LSH
from thpi.codes import paired_hamming_distances


def test_a_bit_differs_with_probability_angle_over_pi():
    rng = np.random.RandomState(0)
    for angle in (0.2, 1.0, 2.5):
        a = rng.standard_normal(50)
        a /= np.linalg.norm(a)
        b = rng.standard_normal(50)
        b -= (a @ b) * a
        b = np.cos(angle) * a + np.sin(angle) * b / np.linalg.norm(b)
        hasher = LSH(n_bits=20_000, random_state=1).fit(np.vstack([a, b, -a, -b]))  # mean zero
        codes = hasher.transform(np.vstack([a, b]))
        share = paired_hamming_distances(codes[:1], codes[1:])[0] / 20_000
        assert abs(share - angle / np.pi) < 4 * 0.5 / np.sqrt(20_000)


def test_data_are_centred():
    X = np.random.RandomState(0).standard_normal((500, 5)) + 100
    assert 0.3 < (LSH(n_bits=64, random_state=0).fit(X).signs(X) > 0).mean() < 0.7
