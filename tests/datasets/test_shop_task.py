from __future__ import annotations

import numpy as np

from experiments.datasets import info
from thpi.datasets import load_shop, shop_task


def test_the_rows_have_their_roles():
    task = shop_task()
    assert sorted([*task.pairs, *task.texts, *task.queries]) == list(range(1000))
    np.testing.assert_array_equal(task.database, np.arange(800))
    np.testing.assert_array_equal(task.labels, load_shop().labels)


def test_the_tags_of_the_queries_have_no_part_in_the_components():
    task, shop = shop_task(), load_shop()
    _, alone = info("shop").pipelines()
    np.testing.assert_allclose(task.S[:800], alone.fit_transform(shop.source[:800]), atol=1e-10)
