from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thpi.datasets import load_bbc


def entries(folder: Path, segment: int, doc: str) -> dict[str, int]:
    """Terms and counts of a document, read from the text of the files line by line."""
    stem = folder / f"bbc_seg{segment}of3"
    column = stem.with_suffix(".docs").read_text().split().index(doc) + 1
    terms = stem.with_suffix(".terms").read_text().split()
    lines = stem.with_suffix(".mtx").read_text().splitlines()[3:]
    triples = (tuple(map(int, line.split())) for line in lines)
    return {terms[i - 1]: count for i, j, count in triples if j == column}


def test_facts(shared_data: Path) -> None:
    bbc = load_bbc(data_home=shared_data)
    assert bbc.n == 1516
    assert bbc.label_names == ("business", "entertainment", "politics", "sport", "tech")
    assert [bbc.label_names[label] for label in bbc.labels] == [name.split(".")[0] for name in bbc.names]
    assert bbc.source_only.shape == (1835 - 1516, bbc.d_source)


@pytest.mark.parametrize("row", [0, 1, 700, 1515])
def test_pairing_by_id_against_the_file_contents(shared_data: Path, row: int) -> None:
    bbc = load_bbc(data_home=shared_data)
    doc = bbc.names[row]
    for segment, counts in ((2, bbc.target), (1, bbc.source)):
        terms = (shared_data / "bbc" / f"bbc_seg{segment}of3.terms").read_text().split()
        columns = counts[[row]].nonzero()[1]
        found = {terms[column]: counts[row, column] for column in columns}
        assert found == entries(shared_data / "bbc", segment, doc)


def test_pairing_by_position(shared_data: Path) -> None:
    bbc = load_bbc(pairing="position", data_home=shared_data)
    target_docs, source_docs = ((shared_data / "bbc" / f"bbc_seg{k}of3.docs").read_text().split() for k in (2, 1))
    assert (len(target_docs), len(source_docs)) == (1858, 1835)
    assert bbc.n == 1835
    assert list(bbc.names) == target_docs[:1835]
    wrong = sum(a != b for a, b in zip(target_docs, source_docs, strict=False))
    assert wrong > 1700, "pairing by position must differ from pairing by id"
    terms = (shared_data / "bbc" / "bbc_seg1of3.terms").read_text().split()
    found = {terms[j]: bbc.source[1000, j] for j in bbc.source[[1000]].nonzero()[1]}
    assert found == entries(shared_data / "bbc", 1, source_docs[1000])


def test_shown_terms_are_the_most_frequent(shared_data: Path) -> None:
    bbc = load_bbc(data_home=shared_data)
    counts = entries(shared_data / "bbc", 2, bbc.names[5])
    shown = bbc.show(5).target_text.split()
    assert counts[shown[0]] == max(counts.values())
    assert np.all(np.diff([counts[term] for term in shown]) <= 0)


def test_tiny_files_in_the_segment_format(tmp_path: Path) -> None:
    folder = tmp_path / "bbc"
    folder.mkdir()
    header = "%%MatrixMarket matrix coordinate integer general\n"
    (folder / "bbc_seg1of3.mtx").write_text(header + "2 3 4\n1 1 5\n2 1 6\n2 2 7\n1 3 8\n")
    (folder / "bbc_seg1of3.docs").write_text("tech.2\nsport.1\ntech.1\n")
    (folder / "bbc_seg1of3.terms").write_text("ball\nchip\n")
    (folder / "bbc_seg2of3.mtx").write_text(header + "1 2 2\n1 1 3\n1 2 4\n")
    (folder / "bbc_seg2of3.docs").write_text("sport.1\ntech.2\n")
    (folder / "bbc_seg2of3.terms").write_text("goal\n")
    (folder / "bbc.classes").write_text("sport.1 0\ntech.1 1\ntech.2 1\n")
    bbc = load_bbc(data_home=tmp_path, verify=False)
    assert bbc.names == ("sport.1", "tech.2")
    assert bbc.target.toarray().tolist() == [[3], [4]]
    assert bbc.source.toarray().tolist() == [[0, 7], [5, 6]]
    assert bbc.source_only.toarray().tolist() == [[8, 0]]
    assert bbc.labels.tolist() == [0, 1]
    (folder / "bbc_seg2of3.docs").write_text("sport.1\n")
    with pytest.raises(ValueError, match=r"bbc_seg2of3\.docs has 1"):
        load_bbc(data_home=tmp_path, verify=False)


def test_unknown_pairing(shared_data: Path) -> None:
    with pytest.raises(ValueError, match="pairing='name' must be one of id, position"):
        load_bbc(pairing="name", data_home=shared_data)  # type: ignore[arg-type]
