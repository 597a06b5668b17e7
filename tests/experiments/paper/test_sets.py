from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import Normalizer

from experiments.datasets import DATASETS, UnknownDatasetError
from experiments.harness.data import load_rows
from experiments.paper.published import table1
from experiments.paper.sets import SETS, paper_set

BBC = {"bbc", "bbc-position"}
STAND_INS = {"ddtp", "mediamill", "openclipart"}


def test_every_set_of_the_paper_is_run_and_bbc_in_two_readings() -> None:
    assert {entry.data.name for entry in SETS.values()} == {name for name, e in DATASETS.items() if e.paper}
    assert [name for name, entry in SETS.items() if entry.data.name == "bbc"] == ["bbc", "bbc-position"]
    assert all(name == entry.name for name, entry in SETS.items())
    assert {entry.published for entry in SETS.values()} == {name for name, _, _ in table1()}


def test_the_readings_of_bbc_differ_in_pairing_and_idf() -> None:
    one, other = SETS["bbc"].data, SETS["bbc-position"].data
    assert one == replace(other, options=(), pipeline="tfidf_pca")
    assert dict(other.options) == {"pairing": "position"}
    assert [list(pipeline.named_steps) for pipeline in other.pipelines()] == [["unit", "pca"]] * 2
    assert isinstance(other.pipelines()[0][0], Normalizer)


def test_only_rebuilds_are_comparable_and_samples_are_not_shown_beside_the_paper() -> None:
    assert {name for name, entry in SETS.items() if entry.comparable} == BBC
    assert {name for name, entry in SETS.items() if not entry.beside_published} == {"reuters", "nuswide"}
    assert {name for name, entry in SETS.items() if entry.counted} == {"bbc", *STAND_INS}


def test_any_set_of_the_registry_can_be_run_and_others_are_refused() -> None:
    digits = paper_set("digits")
    assert (digits.title, digits.published, digits.comparable, digits.counted) == ("digits", None, False, False)
    assert digits.data.pipelines()[0].named_steps.keys() == DATASETS["digits"].pipelines()[0].named_steps.keys()
    with pytest.raises(UnknownDatasetError, match="'bcc' is not a data set"):
        paper_set("bcc")


def test_a_sample_keeps_options_and_pipeline() -> None:
    sampled = SETS["bbc-position"].sampled(500)
    assert (sampled.max_rows, sampled.options, sampled.pipeline) == (500, (("pairing", "position"),), "tf_pca")
    assert SETS["bbc"].sampled(None) == SETS["bbc"].data


def test_bbc_by_position_has_the_papers_rows(shared_data: Path) -> None:
    rows = load_rows(SETS["bbc-position"].data, shared_data)
    assert rows.n == 1835
    assert not np.array_equal(rows.names, load_rows(SETS["bbc"].data, shared_data).names)
