from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold

from experiments.paper.selection import RIDGE_GRID, SelectionRule, select_lambdas, select_ridge
from thpi.evaluation import mean_average_precision
from thpi.hashers import CCAITQ, CVH, ITQPlus, LapITQPlus

RNG = np.random.RandomState(0)
S = RNG.standard_normal((160, 6))
X = S @ RNG.standard_normal((6, 10)) + RNG.standard_normal((160, 10))
RULE = SelectionRule(grid=(0.0, 0.01, 1.0), n_folds=2, max_pairs=100, max_iter=5)


def _select(rule: SelectionRule = RULE, **options: object):  # type: ignore[no-untyped-def]
    arguments: dict[str, object] = {"n_bits": 6, "relevant_share": 0.1, "random_state": 0, **options}
    return select_lambdas(X[:120], S[:120], S[120:], rule=rule, **arguments)  # type: ignore[arg-type]


def test_the_chosen_parameters_have_the_best_score() -> None:
    chosen = _select()
    itq_plus = {name: score for name, score in chosen.scores.items() if name.startswith("ITQPlus")}
    assert len(itq_plus) == 3
    lambda1 = chosen.parameters["ITQPlus"]["lambda1"]
    assert itq_plus[f"ITQPlus lambda1={lambda1:g}"] == max(itq_plus.values())
    # One parameter after the other: lambda2 is tried at the chosen lambda1 only, and 0 is the score of ITQ+.
    tried = {name for name in chosen.scores if name.startswith("Lap")}
    assert tried == {f"LapITQPlus lambda1={lambda1:g} lambda2={value:g}" for value in (0.01, 1.0)}
    best = chosen.parameters["LapITQPlus"]
    name = (
        f"LapITQPlus lambda1={best['lambda1']:g} lambda2={best['lambda2']:g}"
        if best["lambda2"]
        else f"ITQPlus lambda1={best['lambda1']:g}"
    )
    assert chosen.scores[name] == max([itq_plus[f"ITQPlus lambda1={lambda1:g}"], *(chosen.scores[n] for n in tried)])


def test_the_full_grid_tries_all_pairs_and_finds_no_less() -> None:
    full = _select(SelectionRule(search="full", grid=RULE.grid, n_folds=2, max_pairs=100, max_iter=5))
    assert len(full.scores) == 9
    assert max(full.scores.values()) >= max(_select().scores.values())


def test_lapitq_plus_without_graph_is_itq_plus_so_one_fit_serves_both() -> None:
    options = {"n_bits": 6, "lambda1": 0.1, "random_state": 0}
    plain = ITQPlus(**options).fit(X, privileged=S)
    graph = LapITQPlus(**options, lambda2=0.0).fit(X, privileged=S, source=S)
    np.testing.assert_array_equal(plain.projection_, graph.projection_)


def test_the_same_seed_gives_the_same_scores() -> None:
    assert _select() == _select()
    assert _select().scores != _select(random_state=1).scores


def test_only_what_is_asked_for_is_tried() -> None:
    chosen = _select(methods=("ITQPlus",))
    assert set(chosen.parameters) == {"ITQPlus"}
    assert not any(name.startswith("Lap") for name in chosen.scores)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="relevant_share=0"):
        _select(relevant_share=0)
    with pytest.raises(ValueError, match="'ITQ'"):
        _select(methods=("ITQ",))


def _ridge_score(hasher: object, seed: int, kept: np.ndarray) -> float:
    """Mean MAP over the folds, written out: a fold is asked, the others are trained on and searched."""
    scores = []
    for train, held in KFold(2, shuffle=True, random_state=seed).split(kept):
        known, asked = kept[train], kept[held]
        radius = np.sort(cdist(X[known], X[known]), axis=1)[:, round(0.1 * len(known))].mean()
        hasher.fit(X[known], privileged=S[known])  # type: ignore[attr-defined]
        codes = [hasher.transform(X[rows]) for rows in (asked, known)]  # type: ignore[attr-defined]
        scores.append(mean_average_precision(*codes, cdist(X[asked], X[known]) < radius, 8).value)
    return float(np.mean(scores))


@pytest.mark.parametrize("method", [CCAITQ, CVH])
def test_the_ridge_is_the_best_of_the_grid_on_the_folds_of_the_lambdas(method: type) -> None:
    # 8 bits of 6 canonical pairs: the missing directions are filled.
    name, options = method.__name__, {"n_bits": 8, "relevant_share": 0.1, "rule": RULE, "random_state": 0}
    chosen = select_ridge(X[:120], S[:120], method=name, **options)
    rng = np.random.RandomState(0)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    kept = np.sort(rng.choice(120, 100, replace=False))
    more = {"max_iter": RULE.max_iter, "random_state": seed} if method is CCAITQ else {}
    expected = {
        f"{name} ridge={ridge:g}": _ridge_score(method(n_bits=8, ridge=ridge, fill="pca", **more), seed, kept)
        for ridge in RIDGE_GRID
    }
    assert chosen.scores == pytest.approx(expected, abs=1e-12)
    best = max(expected.values())
    assert chosen.parameters == {name: {"ridge": max(r for r in RIDGE_GRID if expected[f"{name} ridge={r:g}"] == best)}}
    assert len(set(expected.values())) > 2
    plus = select_lambdas(X[:120], S[:120], methods=("ITQPlus",), **options)
    start = ITQPlus(8, lambda1=0.01, max_iter=RULE.max_iter, random_state=seed)
    assert plus.scores["ITQPlus lambda1=0.01"] == pytest.approx(_ridge_score(start, seed, kept), abs=1e-12)


def test_of_equal_ridges_the_largest_wins_and_other_methods_have_none() -> None:
    same = select_ridge(X, S, method="CVH", n_bits=4, relevant_share=0.1, grid=(10.0, 10.0 + 1e-9), random_state=0)
    assert same.parameters["CVH"]["ridge"] == 10.0 + 1e-9
    with pytest.raises(ValueError, match="method='ITQPlus' must be 'CCAITQ' or 'CVH'"):
        select_ridge(X, S, method="ITQPlus", n_bits=4, relevant_share=0.1)  # type: ignore[arg-type]
