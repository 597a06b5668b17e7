"""Pictures are drawn in the right places and marked by relevance."""

from __future__ import annotations

import io

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from thpi.datasets import load_shop
from thpi.report import plot
from thpi.report.plot import RELEVANT, WRONG, pixels_of

rng = np.random.RandomState(0)
PIXELS = [rng.randint(0, 256, (6, 8, 3)).astype(np.uint8) for _ in range(6)]
CLASSES = [0, 1, 0, 1, 0, 1]


def axes():
    return Figure().subplots()


def drawn(ax):
    """Pictures in the order in which they were drawn, with the centres of their places."""
    found = []
    for image in ax.images:
        left, right, bottom, top = image.get_extent()
        found.append(((left + right) / 2, (bottom + top) / 2, np.asarray(image.get_array())))
    return found


def frames(ax):
    """Colours of the frames in the order in which they were drawn."""
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    return [box.get_facecolor() for box in boxes[::2]]


def test_each_picture_is_in_its_place():
    found = {"a": [[2, 3], [4, 5]], "b": [[5, 0], [1, 2]]}
    ax = plot.retrieved([0, 1], found, PIXELS, ax=axes())
    rows = [0, 2, 3, 5, 0, 1, 4, 5, 1, 2]
    places = drawn(ax)
    assert len(places) == len(rows)
    for row, (_, _, pixels) in zip(rows, places, strict=True):
        np.testing.assert_array_equal(pixels, PIXELS[row])
    xs, ys = np.array([place[:2] for place in places]).reshape(2, 5, 2).transpose(2, 0, 1)
    assert (np.diff(xs, axis=1) > 1).all()  # from left to right, a tile apart
    np.testing.assert_allclose(np.ptp(ys, axis=1), 0)
    assert ys[1, 0] > ys[0, 0]  # further down: the axis points downwards
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


@pytest.mark.parametrize(
    "relevant",
    [CLASSES, np.array(CLASSES), dict(enumerate(CLASSES)), lambda query, row: CLASSES[query] == CLASSES[row]],
    ids=["list", "array", "mapping", "function"],
)
def test_frames_and_crosses_tell_what_is_relevant(relevant):
    ax = plot.retrieved([0, 1], [[2, 3, 4], [4, 5, 1]], PIXELS, relevant=relevant, ax=axes())
    right = [True, False, True, False, True, True]
    colours = [to_rgba(RELEVANT if good else WRONG) for good in right]
    found = frames(ax)
    assert found[1:4] + found[5:] == colours
    assert [line.get_marker() for line in ax.get_lines()] == ["X"] * right.count(False)
    assert [image.get_alpha() < 1 for image in ax.images] == [
        False,
        *np.invert(right[:3]),
        False,
        *np.invert(right[3:]),
    ]


def test_without_relevance_nothing_is_marked():
    ax = plot.retrieved([0], [[1, 2]], PIXELS, ax=axes())
    assert not {to_rgba(RELEVANT), to_rgba(WRONG)} & set(frames(ax))


def test_captions_are_below_the_queries():
    ax = plot.retrieved([0, 1], [[1, 2], [3, 4]], PIXELS, captions=["zero", "one"], ax=axes())
    texts = [text for text in ax.texts if text.get_text()]
    assert [text.get_text() for text in texts] == ["zero", "one"]
    queries = [place[1] for place in drawn(ax) if place[0] < 1]
    for text, y in zip(texts, queries, strict=True):
        assert y + 0.5 < text.get_position()[1] < y + 0.6


def test_items_of_a_data_set_and_ids_that_are_names():
    shop = load_shop()
    ax = plot.retrieved([800], [[0, 1]], shop.show, relevant=shop.labels, ax=axes())
    by_name = dict(zip(shop.names, shop.pictures, strict=True))
    names = plot.retrieved([shop.names[800]], [[shop.names[0], shop.names[1]]], by_name, ax=axes())
    for (*_, one), (*_, other) in zip(drawn(ax), drawn(names), strict=True):
        np.testing.assert_array_equal(one, other)


def _file(image, form):
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


def test_pictures_in_every_form(tmp_path):
    pixels = PIXELS[0]
    png = _file(Image.fromarray(pixels), "png")
    (tmp_path / "a.png").write_bytes(png)
    for picture in (pixels, png, tmp_path / "a.png", str(tmp_path / "a.png"), pixels / 255):
        np.testing.assert_array_equal(pixels_of(picture, 0), pixels)
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.testing.assert_array_equal(pixels_of(grey, 0), np.repeat(grey[..., None], 3, axis=2))
    clear = np.zeros((2, 2, 4), dtype=np.uint8)
    assert (pixels_of(clear, 0) == 255).all()  # transparent is white
    assert max(pixels_of(np.zeros((1000, 3000), dtype=np.uint8), 0).shape) <= 320


def test_a_photograph_stands_upright():
    turned = Image.fromarray(PIXELS[0])
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: 6 rows and 8 columns are shown as 8 rows and 6 columns
    buffer = io.BytesIO()
    turned.save(buffer, "png", exif=exif)
    np.testing.assert_array_equal(pixels_of(buffer.getvalue(), 0), np.rot90(PIXELS[0], -1))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([], [], PIXELS), {}, "queries is empty"),
        (([0], [1, 2], PIXELS), {}, r"found has shape \(2,\)"),
        (([0], {"a": [[1], [2]]}, PIXELS), {}, r"found\['a'\] has shape \(2, 1\)"),
        (([0], [[1]], PIXELS), {"captions": ["a", "b"]}, "captions has 2 texts"),
        (([0], [[1]], [None, None]), {}, "picture of 0 is None"),
        (([0], [[1]], [np.zeros(3)] * 2), {}, r"picture of 0 is an array of shape \(3,\)"),
        (([0], [[1]], [np.full((2, 2), 3.0)] * 2), {}, "floats from 0 to 1"),
    ],
)
def test_errors_name_what_is_wrong(arguments, options, words):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=words):
        plot.retrieved(*arguments, **options)
    assert plt.get_fignums() == before  # no empty figure is left


def test_matplotlib_stays_as_it_was(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("shown"))
    before, figures = dict(matplotlib.rcParams), plt.get_fignums()
    ax = plot.retrieved([0], [[1]], PIXELS, ax=axes())
    assert plt.get_fignums() == figures
    ax = plot.retrieved([0], [[1]], PIXELS)
    assert len(plt.get_fignums()) == len(figures) + 1
    plt.close(ax.figure)
    assert dict(matplotlib.rcParams) == before
