"""What notebooks show: well-formed, escaped, without scripts or anything fetched, with the right numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

import thpi
from thpi.evaluation import Judged, PairedDifference, assess, find_truth
from thpi.index import HammingIndex
from thpi.report import Scale

VOID = {"br", "hr", "img", "path", "circle"}


class Reader(HTMLParser):
    """Collects texts, rows of tables and attributes, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts, self.rows = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return "".join(self.texts)

    @property
    def spoken(self):
        return [value for name, value in self.attributes if name == "aria-label"]


def read(shown):
    page = Reader(shown._repr_html_())
    assert not {"script", "style", "link", "img", "iframe"} & set(page.tags)
    assert not [name for name, value in page.attributes if name.startswith("on") or name in ("src", "href", "class")]
    styles = " ".join(value for name, value in page.attributes if name == "style")
    assert "url(" not in styles
    assert not re.search(r"(?<![-\w])color:", styles)  # text has the notebook's own colour
    return page


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.RandomState(0)
    S = rng.standard_normal((90, 4))
    return np.hstack([S, 2 * rng.standard_normal((90, 8))]), S


@pytest.fixture(scope="module")
def hasher(pairs):
    X, S = pairs
    options = {"n_folds": 2, "n_repeats": 1, "random_state": 0}
    return thpi.AutoHasher(6, relevance="source", **options).fit(X, privileged=S)


def test_an_auto_hasher_says_what_it_tried_and_what_it_chose(hasher):
    page = read(hasher)
    head, *rows = page.rows
    assert head[0] == "candidate"
    assert len(rows) == len(hasher.candidates_)
    for row, entry in zip(rows, hasher.candidates_, strict=True):
        assert row[0] == entry["name"] + (", chosen" if entry["chosen"] else "")
        assert row[2] == f"{entry['score']:.1f}"
        if entry["gain_low"] == entry["gain_high"] == 0:
            assert row[3] == "reference"
            continue
        assert row[3] == f"{entry['gain']:+.1f} ({entry['gain_low']:+.1f} to {entry['gain_high']:+.1f})"
    assert f"chose {hasher.choice_}" in page.text
    low, high = hasher.gain_interval_
    words = f"{hasher.gain_:+.1f} ({low:+.1f} to {high:+.1f})"
    assert f"The source adds {words} points of MAP" in page.text
    assert page.spoken[0] == words
    assert page.tags.count("svg") == len(rows)  # and one above the table; the reference has none
    assert "Relevant: near in source space" in page.text


def test_before_fit_and_as_text_scikit_learn_decides(hasher):
    new = thpi.AutoHasher(8)
    assert "sk-top-container" in new._repr_html_()
    assert "sk-top-container" in new._repr_mimebundle_()["text/html"]
    assert hasher._repr_mimebundle_() == {"text/plain": repr(hasher), "text/html": hasher._repr_html_()}
    with sklearn.config_context(display="text"):
        assert not hasattr(hasher, "_repr_html_")
        assert "text/html" not in hasher._repr_mimebundle_()


@pytest.mark.parametrize("method", thpi.HASHERS.values(), ids=lambda method: method.__name__)
def test_every_fitted_hasher_can_be_shown_and_listed(method, pairs):
    X, S = pairs
    fitted = method(3, random_state=0).fit(X[:40], privileged=S[:40])
    assert "<div" in fitted._repr_mimebundle_()["text/html"]
    assert "transform" in dir(fitted)
    assert hasattr(fitted, "source_side") is fitted.is_two_sided


@pytest.mark.filterwarnings("ignore::thpi.auto.UnrelatedPairsWarning")
def test_an_auto_hasher_without_source_or_with_too_few_rows(pairs):
    X, S = pairs
    assert "There is no source." in read(thpi.AutoHasher(4, n_repeats=1, random_state=0).fit(X)).text
    few = read(thpi.AutoHasher(3, random_state=0).fit(X[:8], privileged=S[:8]))
    assert "not known" in few.text


def test_a_loaded_model_shows_the_same(hasher, tmp_path):
    hasher.save(tmp_path / "a.thpi")
    assert thpi.load(tmp_path / "a.thpi")._repr_html_() == hasher._repr_html_()


def test_names_are_escaped(hasher):
    evil = thpi.AutoHasher(6, relevance="source")
    vars(evil).update(vars(hasher))
    evil.candidates_json_ = hasher.candidates_json_.replace(hasher.choice_, "<script>alert(1)</script>")
    evil.relevance = "<img src=x onerror=alert(1)>"
    page = read(evil)
    assert "<script>alert(1)</script>" in page.text
    assert "<img src=x" in page.text


def test_an_index(tmp_path):
    index = HammingIndex(12, model="0123456789abcdef")
    assert "none yet" in read(index).text
    index.add(np.zeros((1500, 2), dtype=np.uint8), ids=[f"item {i}" for i in range(1500)])
    rows = dict(read(index).rows)
    assert rows["codes"] == "1,500 of 12 bits"
    assert rows["size"] == "3,000 bytes of codes, 2 a code"
    assert rows["ids"] == "strings"
    assert rows["search"] == "exact"
    assert rows["model"] == "0123456789abcdef"


@pytest.mark.slow
def test_an_index_that_was_tuned():
    index = HammingIndex(32, recall=0.9)
    assert "the first search chooses" in read(index).text
    index.add(np.random.RandomState(0).randint(0, 256, (12_000, 4)).astype(np.uint8))
    report = index.tune(5)
    page = read(index)
    assert f"{report.kind}, recall {report.reached:.4f} reached" in page.text
    assert dict(page.rows)["speed"] == f"{report.milliseconds:.3f} ms a query; exact {report.exact_milliseconds:.3f}"


def test_differences():
    page = read(PairedDifference(0.0345, 0.012, 0.057, 9))
    assert page.text == "+0.0345 (+0.012 to +0.057), won; n = 9 "
    assert page.spoken == ["+0.0345 (+0.012 to +0.057)"]
    assert read(PairedDifference(1.0, float("nan"), float("nan"), 1)).spoken == ["+1"]


def test_an_assessment(pairs):
    X, _ = pairs
    truth = find_truth("target", Judged(X[:30]), Judged(X[30:]))
    found = assess(thpi.ITQ(6, random_state=0).fit(X[30:]), X[:30], X[30:], truth.relevant)
    found = replace(found, notes=("a <b> note",))
    page = read(found)
    assert page.rows[0] == ["search", *found.measures]
    lines, over = page.rows[1 : 1 + len(found.lines)], page.rows[2 + len(found.lines) :]
    for order, row in zip(found.over_itq, over, strict=True):
        mean, low, high = (100 * value for value in found.over_itq[order][:3])
        assert row[:2] == [order, f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"]
    for row, line in zip(lines, found.lines.values(), strict=True):
        mean, low, high = line.measured("average_precision")
        assert row[:2] == [line.words, f"{100 * mean:.1f} {100 * low:.1f} to {100 * high:.1f}"]
    assert "a <b> note" in page.text
    assert len(page.spoken) == len(found.over_itq) == 2


@pytest.mark.slow
def test_a_diagnosis(pairs):
    X, S = pairs
    found = thpi.diagnose(X, S, n_bits=6, n_folds=2, random_state=0)
    page = read(found)
    for row, answer in zip(page.rows[1:], found.answers, strict=True):
        gain = f"{answer.gain.mean:+.1f} ({answer.gain.low:+.1f} to {answer.gain.high:+.1f})"
        assert row[:5] == [answer.title, answer.verdict, f"{answer.no_source:.1f}", f"{answer.with_source:.1f}", gain]
        assert row[6] == answer.choice
    assert found.relation in page.text
    assert "Check the pairs" in read(replace(found, related=False)).text


@pytest.mark.slow
def test_a_comparison():
    X = np.random.RandomState(0).standard_normal((400, 16)).astype(np.float32)
    found = thpi.compare(X, n_bytes=[1, 2], methods=["ITQ"], n_queries=100)
    found = replace(found, left_out=("<x>: too long",))
    page = read(found)
    assert found.sentence in page.text
    assert "Left out: <x>: too long." in page.text
    for row, result in zip(page.rows[1:], found.frontier, strict=True):
        value, low, high = (100 * number for number in result.recalls[found.cut])
        assert row[:3] == [result.name, str(result.n_bytes), f"{value:.1f} {low:.1f} to {high:.1f}"]


def test_intervals_are_drawn_to_scale():
    drawn = Scale([-2.0, 6.0]).interval(1.0, -2.0, 4.0)
    zero, left, right, _ = map(
        float, re.findall(r"M([\d.]+) ", drawn)[:1] + re.findall(r"M([\d.]+) ", drawn)[1::2] + [0]
    )
    at = float(re.search(r'cx="([\d.]+)"', drawn)[1])
    assert (at - zero) / (right - left) == pytest.approx(1 / 6, abs=0.01)
    assert (zero - left) / (right - left) == pytest.approx(2 / 6, abs=0.01)
    assert 'fill="none"/></svg>' in drawn  # 0 is inside: hollow
    assert 'fill="none"/></svg>' not in Scale([6.0]).interval(4.0, 1.0, 6.0)
