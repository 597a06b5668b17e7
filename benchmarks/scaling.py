"""Is the time linear in n? Fit and transform of every method on growing data, one thread.

The last column is the time of the largest run over that of the smallest, divided by the growth of n: 1 is linear.
"""

from __future__ import annotations

import numpy as np

import thpi
from benchmarks._table import best_times

SIZES = (2_000, 8_000, 32_000)


def main() -> None:
    print(f"Fit, d_T = 64, d_S = 48, 32 bits, 30 iterations; seconds at n = {', '.join(map(str, SIZES))}")
    for name, method in thpi.HASHERS.items():
        times = []
        for n in SIZES:
            rng = np.random.RandomState(0)
            latent = rng.standard_normal((n, 16))
            X = latent @ rng.standard_normal((16, 64)) + rng.standard_normal((n, 64))
            S = latent @ rng.standard_normal((16, 48)) + rng.standard_normal((n, 48))
            hasher = method(n_bits=32, random_state=0)
            if "max_iter" in hasher.get_params():
                hasher.set_params(max_iter=30, tol=0)
            times.append(best_times({"fit": lambda h=hasher, X=X, S=S: h.fit(X, privileged=S)}, repeats=1)["fit"])
        growth = times[-1] / times[0] / (SIZES[-1] / SIZES[0])
        print(f"  {name:18}" + "".join(f"{t:9.2f}" for t in times) + f"   {growth:5.2f}")
    n = 500_000
    X = np.random.RandomState(0).standard_normal((n, 64)).astype(np.float32)
    hasher = thpi.ITQ(64, random_state=0).fit(X[:5000])
    bare = hasher.projection_
    times = best_times({"transform": lambda: hasher.transform(X), "product": lambda: X @ bare}, repeats=3)
    print(
        f"  transform of {n:,} rows to 64 bits: {n / times['transform'] / 1e6:.1f} million rows a second, "
        f"{times['transform'] / times['product']:.2f} x the bare matrix product"
    )


if __name__ == "__main__":
    main()
