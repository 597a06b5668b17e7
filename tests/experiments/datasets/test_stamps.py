from __future__ import annotations

import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets import DataAlteredError, info, load, load_stamps, take

CAPTIONS = {"en": ["A frog.", "A green frog.", "The letter A.", "A dog."], "ja": ["カエル", "カエル", "エー", "いぬ"]}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Four stamps in the layout of the files."""
    folder = tmp_path / "stamps"
    folder.mkdir()
    rng = np.random.RandomState(0)
    arrays = {
        "picture_mobilenet": rng.random_sample((4, 1280)).astype(np.float16),
        "caption_minilm": rng.standard_normal((4, 384)).astype(np.float16),
        "category": np.array(["animals", "animals", "symbols", "animals"]),
        "subcategory": np.array(["animals/frogs", "animals/frogs", "symbols/letters", "animals/dogs"]),
        "path": np.array(["a/1.png", "a/2.png", "b/3.png", "a/4.png"]),
    }
    np.savez(folder / "stamps.npz", **arrays, **{f"caption_{key}": np.array(texts) for key, texts in CAPTIONS.items()})
    with zipfile.ZipFile(folder / "thumbnails.zip", "w") as archive:
        for row in range(4):
            archive.writestr(f"{row:05d}.webp", f"picture {row}")
    return tmp_path


def test_facts(shared_data: Path) -> None:
    stamps = load_stamps(data_home=shared_data)
    assert stamps.target.shape == (785, 1280)
    assert stamps.source.shape == (785, 384)
    assert len(stamps.label_names) == 16
    assert [stamps.label_names[label] for label in stamps.labels] == [name.split("/")[0] for name in stamps.names]
    assert len(load_stamps(classes="subcategory", data_home=shared_data).label_names) == 121
    # MiniLM gives unit vectors; they were kept in half precision.
    np.testing.assert_allclose(np.linalg.norm(stamps.source, axis=1), 1, atol=2e-3)


@pytest.mark.parametrize("language", ["en", "fr", "de", "es", "it", "ja", "pl", "pt", "ru", "nl"])
def test_every_language_is_a_source(language: str, shared_data: Path) -> None:
    stamps = load("stamps", shared_data, source=language)
    assert stamps.source.shape[0] == 785
    lengths = np.sqrt(stamps.source.multiply(stamps.source).sum(axis=1))
    empty = np.array([not text.strip() for text in stamps.source_texts])
    np.testing.assert_allclose(lengths, 1 - empty)
    assert empty.sum() == (3 if language == "it" else 0)


def test_pictures_follow_their_rows(tiny: Path) -> None:
    stamps = load_stamps(data_home=tiny, verify=False)
    assert stamps.show(2).picture == take(stamps, [3, 2]).show(1).picture == b"picture 2"
    assert stamps.show(2).source_text == "The letter A."
    assert stamps.show(2).label == "symbols"
    assert load_stamps(classes="subcategory", data_home=tiny, verify=False).show(3).label == "animals/dogs"


def test_words_are_weighted_by_their_rarity(tiny: Path) -> None:
    """Against the formula: tf (1 + ln((1 + n) / (1 + df))), rows of length 1; one letter is a word."""
    stamps = load_stamps(source="en", data_home=tiny, verify=False)
    n_with = {"a": 4, "frog": 2, "green": 1, "the": 1, "letter": 1, "dog": 1}
    idf = {word: 1 + math.log(5 / (1 + n)) for word, n in n_with.items()}
    frog = np.sort([idf["a"], idf["frog"]]) / math.hypot(idf["a"], idf["frog"])
    assert stamps.source.shape[1] == len(n_with)
    np.testing.assert_allclose(np.sort(stamps.source[[0]].data), frog)


def test_japanese_is_cut_into_characters(tiny: Path) -> None:
    stamps = load_stamps(source="ja", data_home=tiny, verify=False)
    first, second, _, dog = stamps.source.toarray()
    np.testing.assert_array_equal(first, second)
    assert first @ dog == 0
    assert len(stamps.source[[0]].data) == 5  # カ, エ, ル, カエ, エル


def test_what_is_refused(tiny: Path) -> None:
    with pytest.raises(ValueError, match=r"source='sv' must be one of minilm, en, fr, de"):
        load_stamps(source="sv", data_home=tiny)
    with pytest.raises(ValueError, match=r"classes='colour' must be one of category, subcategory"):
        load_stamps(classes="colour", data_home=tiny)
    with pytest.raises(DataAlteredError):
        load_stamps(data_home=tiny)


def test_the_licence_forbids_bundling() -> None:
    assert info("stamps").licence.startswith("GPL")
    assert info("stamps").folder is not None
