"""
Precision and recall of several methods
=======================================

How many of the first results are right, and how many of the right ones are among them? Both depend on how many results
you look at. The curve shows all choices at once.
"""

# %%
# The methods learn from 200 digits with two views. The others are database and queries.

import numpy as np

import thpi
from thpi.datasets import load_digits_views
from thpi.evaluation import label_relevance
from thpi.report import plot

digits = load_digits_views(target="pix", source="fou")
rows = np.random.RandomState(0).permutation(digits.n)
pairs, queries, database = rows[:200], rows[200:400], rows[400:]

methods = [thpi.LSH, thpi.SpectralHashing, thpi.ITQ, thpi.LapITQPlus, thpi.GroupITQ]
hashers = {}
for method in methods:
    hasher = method(n_bits=32, random_state=0)
    hasher.fit(digits.target[pairs], privileged=digits.source[pairs], source=digits.source[database[:600]])
    hashers[method.__name__] = hasher

# %%
# Digits of the same class are relevant. Many rows are at the same Hamming distance from a query. They have no order, so
# the curve is the mean over all orders of such rows.

relevant = label_relevance(digits.labels[queries], digits.labels[database])
plot.precision_recall(hashers, relevant, digits.target[queries], digits.target[database])

# %%
# Codes from elsewhere can be compared, too: pass pairs of packed codes, of the queries and of the database.

itq = hashers["ITQ"]
codes = itq.transform(digits.target[queries]), itq.transform(digits.target[database])
first_bytes = codes[0][:, :1], codes[1][:, :1]
plot.precision_recall({"32 bits": codes, "the first 8 of them": first_bytes}, relevant)
