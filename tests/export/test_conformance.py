"""One suite over all engines: a table mirrors a collection, and its codes are searched as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.export.conftest import CONNECT, Engine
from thpi.codes import hamming_distances, pack
from thpi.export import DESTINATIONS, CodeTable
from thpi.identity import ModelMismatchError

WIDTHS = [1, 7, 12, 64, 100]
MODEL, OTHER = "c4e8709f0e821f23", "0d1f6f3f1c8e9b7a"


def random_codes(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return pack(np.random.RandomState(seed).rand(n, n_bits) < 0.5)


def table(codes: np.ndarray, ids: Any, n_bits: int, texts: Any = None, model: str | None = MODEL) -> CodeTable:
    return CodeTable.checked(codes, ids, n_bits, model)._replace(texts=texts)


def expected(items: CodeTable) -> list[tuple[Any, bytes, str | None]]:
    texts = items.texts or [None] * len(items.ids)
    return sorted(zip(items.ids.tolist(), map(bytes, items.codes), texts, strict=True))


def test_every_store_of_the_registry_is_in_the_suite() -> None:
    assert {name for name, entry in DESTINATIONS.items() if not entry.is_file} == set(CONNECT) - {"toy"}


@pytest.mark.parametrize("n_bits", WIDTHS)
@pytest.mark.parametrize("kind", ["int64", "string"])
def test_the_engine_finds_what_brute_force_finds(engine: Engine, n_bits: int, kind: str) -> None:
    codes = random_codes(300, n_bits)
    ids = [7 * i - 900 for i in range(300)] if kind == "int64" else [f'item {i}"\\ü' for i in range(300)]
    assert engine.mirror(table(codes, ids, n_bits)) == (300, 0, False)
    assert engine.rows() == expected(table(codes, ids, n_bits))
    row_of = {item: row for row, item in enumerate(ids)}
    for query in random_codes(5, n_bits, seed=1):
        true = hamming_distances(query[None], codes)[0]
        distances, found = engine.search(query, 20, n_bits)
        assert distances == np.sort(true)[:20].tolist()
        assert [true[row_of[item]] for item in found] == distances
        assert len(set(found)) == 20


def test_every_single_bit_keeps_its_place(engine: Engine) -> None:
    codes = pack(np.eye(19, dtype=bool))
    engine.mirror(table(codes, None, 19))
    assert [code for _, code, _ in engine.rows()] == [code.tobytes() for code in codes]
    for row, code in enumerate(codes):
        assert engine.search(code, 1, 19) == ([0], [row])


def test_a_table_follows_its_collection(engine: Engine) -> None:
    """Items are added without a word; what the collection has not is removed on request, and nothing else changes."""
    codes = random_codes(60, 24)
    first, more = table(codes[:40], np.arange(40), 24), table(codes, np.arange(60), 24)
    assert engine.mirror(first) == (40, 0, False)
    assert engine.mirror(first) == (0, 0, False)
    assert engine.mirror(more) == (20, 0, False)
    changed = codes.copy()
    changed[7] = ~changed[7]
    stays = np.arange(60) != 3
    less = table(changed[stays], np.arange(60)[stays], 24)
    with pytest.raises(ValueError, match=r"has 2 items that the collection has not.*--force removes them"):
        engine.mirror(less)
    assert engine.rows() == expected(more)
    assert engine.mirror(less, force=True) == (1, 2, False)
    assert engine.rows() == expected(less)
    assert engine.mirror(table(codes[:0], np.arange(0), 24), force=True) == (0, 59, False)
    assert engine.rows() == []


def test_texts_come_along(engine: Engine) -> None:
    codes, texts = random_codes(4, 8), ["red", None, "ü ☃ 'quoted'", "two\nlines"]
    items = table(codes, ["a", "b", "c", "d"], 8, texts)
    assert engine.mirror(items).added == 4
    known = {item: text for item, _, text in engine.rows()}
    assert {item: text or None for item, text in known.items()} == dict(zip("abcd", texts, strict=True))
    assert engine.mirror(items) == (0, 0, False)
    assert engine.mirror(items._replace(texts=["blue", *texts[1:]]), force=True) == (1, 1, False)
    plain = table(codes, ["a", "b", "c", "d"], 8)
    with pytest.raises(ValueError, match=r"was made for {'texts': True}.*--force replaces all of it"):
        engine.mirror(plain)
    assert engine.mirror(plain, force=True) == (4, 0, True)
    assert engine.rows() == expected(plain)


def test_codes_of_two_models_never_meet(engine: Engine) -> None:
    engine.mirror(table(random_codes(3, 16), None, 16))
    others = table(random_codes(3, 16, seed=1), None, 16, model=OTHER)
    for items in (others, others._replace(model=None)):
        with pytest.raises(ModelMismatchError, match=rf"is of model {MODEL}, but the collection is of model"):
            engine.mirror(items)
    with engine.open() as store:
        assert store.about is not None
        assert (store.about["model"], store.about["n_bits"]) == (MODEL, 16)
    assert engine.rows() == expected(table(random_codes(3, 16), None, 16))
    assert engine.mirror(others, force=True) == (3, 0, True)
    assert engine.rows() == expected(others)
    wider = table(random_codes(5, 40), [f"n{i}" for i in range(5)], 40, model=OTHER)
    with pytest.raises(ValueError, match="n_bits"):
        engine.mirror(wider)
    assert engine.mirror(wider, force=True).replaced
    assert engine.rows() == expected(wider)


def test_ids_at_the_edges(engine: Engine) -> None:
    ends = [-(2**63), -1, 0, 2**63 - 1]
    codes = random_codes(4, 8)
    if engine.name == "milvus":
        for wrong in (ends[0], ends[-1]):
            with pytest.raises(ValueError, match=rf"ids={wrong} is .* which Milvus does not take"):
                engine.mirror(table(codes[:1], [wrong], 8))
        ends[0], ends[-1] = ends[0] + 1, ends[-1] - 1
    engine.mirror(table(codes, ends, 8))
    assert engine.rows() == expected(table(codes, ends, 8))
    engine.mirror(table(codes[1:], ends[1:], 8), force=True)
    assert engine.rows() == expected(table(codes[1:], ends[1:], 8))


def test_hostile_ids_are_only_text(engine: Engine) -> None:
    ids = ["'; DROP TABLE codes; --", "''", '"] or id != "', "\\", "\\'", "%s", "{0}", "", " ", "--", "/* */", "☃ ünï"]
    if engine.name == "milvus" and engine.embedded:
        with pytest.raises(ValueError, match="DROP TABLE"):
            engine.mirror(table(random_codes(1, 16), ids[:1], 16))
        ids = [item for item in ids if "'" not in item]
    codes = random_codes(len(ids), 16)
    engine.mirror(table(codes, ids, 16))
    assert engine.rows() == expected(table(codes, ids, 16))
    engine.mirror(table(codes[::2], ids[::2], 16), force=True)
    assert engine.rows() == expected(table(codes[::2], ids[::2], 16))


@pytest.mark.parametrize("name", ["", "a b", "1a", 'x"; DROP TABLE students; --', "../up", "ü", "nul\0", "a" * 256])
def test_names_of_tables_are_checked(engine: Engine, name: str) -> None:
    with pytest.raises(ValueError, match="table="):
        CONNECT[engine.name](engine.address, name)
