from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from experiments.datasets import load_ddtp


def write(home: Path, text: str) -> None:
    (home / "ddtp").mkdir()
    with gzip.open(home / "ddtp" / "ddtp_en_fr.tsv.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)


@pytest.mark.slow
def test_facts(shared_data: Path) -> None:
    ddtp = load_ddtp(data_home=shared_data)
    assert ddtp.n == 19_489
    with gzip.open(shared_data / "ddtp" / "ddtp_en_fr.tsv.gz", "rt", encoding="utf-8") as stream:
        package, section, english, french = stream.readlines()[1001].rstrip("\n").split("\t")
    item = ddtp.show(1000)
    assert (item.name, item.label) == (package, section)
    assert (item.source_text, item.target_text) == (english, french)


def test_counts_and_limits_on_document_frequency(tmp_path: Path) -> None:
    write(
        tmp_path,
        "package\tsection\ten\tfr\n"
        'a\tgames\tthe "chess chess\tles échecs échecs\n'
        "b\t\tthe chess once\tles échecs\n"
        "c\tnet\tthe mail\tles courriers\n"
        "d\tnet\tthe mail\tles courriers\n",
    )
    ddtp = load_ddtp(min_df=2, max_df=0.75, data_home=tmp_path, verify=False)
    # Kept: chess, mail ("the" is in every row, "once" in one); likewise in French.
    assert ddtp.source.toarray().tolist() == [[2, 0], [1, 0], [0, 1], [0, 1]]
    assert ddtp.target.toarray().tolist() == [[0, 2], [0, 1], [1, 0], [1, 0]]
    assert [ddtp.label_names[label] for label in ddtp.labels] == ["games", "(none)", "net", "net"]
    assert ddtp.source_texts[0] == 'the "chess chess'


def test_other_columns_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "package\ten\tfr\na\tb\tc\n")
    with pytest.raises(ValueError, match="must have the columns package, section, en, fr"):
        load_ddtp(data_home=tmp_path, verify=False)
