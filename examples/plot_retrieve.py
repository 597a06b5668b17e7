"""
Search by picture, with and without tags
========================================

A shop wants to find similar drawings by short binary codes. It has 200 drawings with tags, and the tags of 600 more.
New drawings come without tags. Do the tags help to learn better codes all the same?
"""

# %%
# The *target* is what you search with: features of the drawings. The *source* is what you know only while training:
# the tags, here as 100 numbers per drawing. The bundled shop has both.

import numpy as np

import thpi
from thpi.datasets import shop_task
from thpi.evaluation import label_relevance, mean_average_precision
from thpi.index import HammingIndex
from thpi.report import plot

shop, X, S, labels, pairs, texts, new, database = shop_task()

# %%
# ITQ learns from the drawings alone. AutoHasher also gets the tags. Neither knows the categories: with
# ``relevance="groups"`` AutoHasher looks for groups in the tags.

hashers = {
    "ITQ": thpi.ITQ(n_bits=32, random_state=0),
    "AutoHasher with tags": thpi.AutoHasher(n_bits=32, relevance="groups", random_state=0),
}
for hasher in hashers.values():
    hasher.fit(X[pairs], privileged=S[pairs], source=S[texts])

# %%
# In a notebook, a fitted AutoHasher shows what it tried and how much the source adds.

hashers["AutoHasher with tags"]

# %%
# New drawings are the queries. Take the first of each category, search the others, and mark what is of the query's
# category.

_, first = np.unique(labels[new], return_index=True)
queries = new[first]
found = {}
for name, hasher in hashers.items():
    index = HammingIndex(32)
    index.add(hasher.transform(X[database]), ids=database)
    found[name] = index.search(hasher.decision_function(X[queries]), k=6).ids

plot.retrieved(queries, found, shop.show, relevant=labels, captions=shop.label_names)

# %%
# Eight queries prove nothing. This is mean average precision by category over all 200:

relevant = label_relevance(labels[new], labels[database])
for name, hasher in hashers.items():
    codes = hasher.transform(X)
    quality = mean_average_precision(codes[new], codes[database], relevant, 32)
    print(f"{name}: MAP {100 * quality.value:.1f}")
