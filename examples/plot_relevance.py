"""
Choose what relevant means
==========================

Whether a source helps depends on what you search for. Here the target is a small picture of a digit, and the source its
Fourier coefficients. AutoHasher learns codes for four meanings of *relevant*, and says for each what the source adds.
"""

# %%
# 300 digits are pairs: both views are known. Of 600 more only the source is known.

import numpy as np

import thpi
from thpi.datasets import load_digits_views
from thpi.report import plot

digits = load_digits_views(target="pix", source="fou")
rows = np.random.RandomState(0).permutation(digits.n)
pairs, more = rows[:300], rows[300:900]

# %%
# Labels are given to all, but only ``relevance="labels"`` uses them.

hashers = []
for relevance in ("target", "source", "labels", "groups"):
    hasher = thpi.AutoHasher(n_bits=16, relevance=relevance, random_state=0)
    hasher.fit(
        digits.target[pairs],
        digits.labels[pairs],
        privileged=digits.source[pairs],
        source=digits.source[more],
    )
    print(f"{relevance}: {hasher.choice_}")
    hashers.append(hasher)

# %%
# The gain compares the best method with source and the best without, on rows that neither was chosen by. A hollow
# point has an interval that contains 0: the source may just as well not help.

plot.gains(hashers)
