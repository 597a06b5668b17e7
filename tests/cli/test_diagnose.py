from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from thpi.cli import run


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=60)
    S = 3 * np.eye(3)[labels] + rng.standard_normal((60, 3))
    X = np.hstack([S, rng.standard_normal((60, 5))])
    np.savez(folder / "pairs.npz", target=X, same=S, more=rng.standard_normal((40, 3)), few=S[:10])
    lines = ["sku,kind," + ",".join(f"f{j}" for j in range(8))]
    lines += [f"A{i},k{labels[i]}," + ",".join(map(repr, X[i].tolist())) for i in range(60)]
    (folder / "shop.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_answers_in_words_json_and_a_page(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "page.html"
    command = [
        "diagnose",
        str(files / "shop.csv"),
        "--ignore",
        "sku",
        "--labels",
        "kind",
        "--bits",
        "4",
        "--folds",
        "2",
    ]
    command += ["--privileged", f"{files}/pairs.npz:same", "--source", f"{files}/pairs.npz:more"]
    command += ["--relevance", "labels", "--target", str(files / "shop.csv")]
    assert run([*command, "--html", str(page)]) == 0
    text = capsys.readouterr().out
    assert "60 pairs, 40 source rows without target, 60 target rows without source, 4 bits" in text
    assert "if relevant means same class, or a shared tag" in text
    assert "(chosen)" in text
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [answer["relevance"] for answer in found["answers"]] == ["labels"]
    sentence = found["answers"][0]["sentence"]
    assert sentence.split(":")[0] in text
    assert sentence in page.read_text(encoding="utf-8")
    assert run([*command, "--html", str(page)]) == 2
    assert "--force replaces it" in capsys.readouterr().err


def test_bad_input_gives_one_line_and_exit_code_2(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, csv = f"{files}/pairs.npz", str(files / "shop.csv")
    labels = tmp_path / "labels.txt"
    labels.write_text("a\nb\n")
    for arguments, words in (
        ([f"{pairs}:target", "--privileged", f"{pairs}:few"], "has 10 rows and DATA 60"),
        ([f"{pairs}:target", "--privileged", f"{pairs}:same", "--relevance", "near"], "--relevance 'near'"),
        ([f"{pairs}:target", "--privileged", f"{pairs}:same", "--relevance", "labels"], "needs --labels"),
        (
            [f"{pairs}:target", "--privileged", f"{pairs}:same", "--labels", str(labels)],
            "has 2 labels; DATA has 60 rows",
        ),
        ([csv, "--privileged", f"{pairs}:same", "--ignore", "sku"], "is not a finite number"),
        ([f"{pairs}:target", "--privileged", f"{pairs}:same", "--bits", "4", "--folds", "40"], "n_folds=40"),
        ([f"{pairs}:target", "--privileged", f"{pairs}:same"], "n_bits=32 is more than AutoHasher can give"),
        ([f"{pairs}:target", "--privileged", f"{pairs}:same", "--target", f"{pairs}:same"], "has 3 columns and DATA 8"),
    ):
        assert run(["diagnose", *arguments]) == 2
        text = capsys.readouterr().err
        assert text.startswith("error: ")
        assert words in text
