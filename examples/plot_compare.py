"""
Which code at equal bytes
=========================

Binary codes are one way to make vectors small. Product quantisation and sums of centroids are others. ``thpi.compare``
measures them on your vectors, and names the smallest code that is good enough.
"""

# %%
# The vectors are 240 pixels of 1,000 digits. A code is good enough if nine of the ten nearest digits are among the
# first ten that it finds.

import matplotlib.pyplot as plt

import thpi
from thpi.datasets import load_digits_views

X = load_digits_views(target="pix", source="fou").target[::2]
methods = ["ITQ", "PQ", "residual", "SQ 4"]
found = thpi.compare(X, recall=0.9, k=10, n_bytes=[4, 8, 16], methods=methods, n_queries=100)
print(found.sentence)

# %%
# In a notebook, the result shows the best code of each size.

found

# %%
# All results have their bytes and recall, so you can plot them as you like.

figure, ax = plt.subplots(layout="constrained")
for name in dict.fromkeys(result.name for result in found.results):
    points = [(result.n_bytes, 100 * found.recall(result)) for result in found.results if result.name == name]
    ax.plot(*zip(*points, strict=True), marker="o", label=name)
ax.axhline(90, color="grey", linestyle=":", linewidth=1)
ax.set_xscale("log", base=2)
ax.set_xticks([4, 8, 16], ["4", "8", "16"])
ax.set(xlabel="bytes a row", ylabel="recall of the ten nearest (%)")
ax.legend(frameon=False)
