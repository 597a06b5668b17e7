from __future__ import annotations

import numpy as np
import pytest

from thpi.evaluation import SelectionRule, select_lambdas
from thpi.hashers import ITQPlus, LapITQPlus

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
