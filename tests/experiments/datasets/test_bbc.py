from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets import DataAlteredError, load_bbc, verify
from experiments.harness.data import DataSpec, data_identity


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
    assert bbc.source_only.shape == (1835 - 1516, bbc.source.shape[1])


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


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Files in the segment format that are not those of the rebuild, as the published collection's are."""
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
    return folder


def test_another_edition_is_read_with_a_warning(tiny: Path) -> None:
    home = tiny.parent
    with pytest.warns(UserWarning, match="another edition of data set 'bbc'.*Only its structure is checked"):
        bbc = load_bbc(data_home=home)
    assert bbc.names == ("sport.1", "tech.2")
    assert bbc.target.toarray().tolist() == [[3], [4]]
    assert bbc.source.toarray().tolist() == [[0, 7], [5, 6]]
    assert bbc.source_only.toarray().tolist() == [[8, 0]]
    assert bbc.labels.tolist() == [0, 1]
    report = verify("bbc", home, strict=True)
    assert {path for path, status in report.items() if status == "unchecked"} == {p.name for p in tiny.iterdir()}
    assert set(report.values()) == {"unchecked", "missing"}
    with pytest.warns(UserWarning, match="another edition"):
        files = data_identity(DataSpec("bbc"), home)["files"]
    about = (tiny / "bbc.classes").stat()
    assert files["bbc.classes"] == [about.st_size, about.st_mtime_ns]
    assert len(files) == 7


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("bbc_seg2of3.docs", "sport.1\n", r"bbc_seg2of3\.docs has 1"),
        ("bbc_seg2of3.terms", "goal\ntry\n", r"bbc_seg2of3\.terms has 2 lines"),
        ("bbc_seg2of3.mtx", "<html>not found</html>", r"bbc_seg2of3\.mtx is not a valid Matrix Market file"),
        ("bbc_seg2of3.mtx", "", r"bbc_seg2of3\.mtx is not a valid Matrix Market file"),
        (
            "bbc_seg2of3.mtx",
            "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 3\n",
            r"bbc_seg2of3\.mtx is not a valid Matrix Market file",
        ),
        (
            "bbc_seg2of3.mtx",
            "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 3\n1 2 -4\n",
            r"bbc_seg2of3\.mtx holds -4; counts of terms are at least 0",
        ),
        ("bbc.classes", "sport.1 0\n", r"bbc\.classes has no class for \d documents, the first is tech\.2"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*another edition")
def test_a_damaged_file_of_another_edition_is_refused(tiny: Path, file: str, content: str, message: str) -> None:
    (tiny / file).write_text(content)
    with pytest.raises(DataAlteredError, match=message):
        load_bbc(data_home=tiny.parent)
    assert verify("bbc", tiny.parent)[file] == "altered"
    with pytest.raises(DataAlteredError, match=message):
        verify("bbc", tiny.parent, strict=True)


def test_a_damaged_file_of_the_rebuild_is_not_taken_for_another_edition(shared_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bbc"
    shutil.copytree(shared_data / "bbc", folder)
    mtx = folder / "bbc_seg2of3.mtx"
    mtx.chmod(0o644)
    lines = mtx.read_text().splitlines()
    row, column, count = lines[5].split()
    lines[5] = f"{row} {column} {int(count) + 1}"  # still a valid file
    mtx.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataAlteredError, match=r"bbc_seg2of3\.mtx .* has sha256"):
        load_bbc(data_home=tmp_path)
    report = verify("bbc", tmp_path)
    assert [path for path, status in report.items() if status != "ok"] == ["bbc_seg2of3.mtx"]
    assert report["bbc_seg2of3.mtx"] == "altered"


def test_unknown_pairing(shared_data: Path) -> None:
    with pytest.raises(ValueError, match="pairing='name' must be one of id, position"):
        load_bbc(pairing="name", data_home=shared_data)  # type: ignore[arg-type]
