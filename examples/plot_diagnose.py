"""
Is my source any good
=====================

Before you build on a source, ask whether it helps. ``thpi.diagnose`` answers from the pairs alone, by cross-validation.
It also notices if the pairs were joined in the wrong order.
"""

# %%
# The pairs are 200 drawings of the bundled shop with their tags. Of 600 more drawings only the tags are known.

import numpy as np

import thpi
from thpi.datasets import shop_task
from thpi.report import plot

_, X, S, _, pairs, texts, _, _ = shop_task()

diagnosis = thpi.diagnose(X[pairs], S[pairs], S[texts], relevances=["target", "groups"], n_bits=16, random_state=0)
for answer in diagnosis.answers:
    print(answer.sentence)

# %%
# The plot has the same numbers.

plot.gains(diagnosis)

# %%
# In a notebook, the diagnosis shows itself. ``diagnosis.to_html()`` is a page to send to others.

diagnosis

# %%
# Now shuffle the tags of 80 drawings, as if the two tables had been joined wrongly. Neither view explains anything of
# the other, and AutoHasher would not use such a source.

wrong = np.random.RandomState(0).permutation(S[pairs])
shuffled = thpi.diagnose(X[pairs][:80], wrong[:80], relevances=["groups"], n_bits=16, n_folds=2, random_state=0)
print(shuffled.relation)
