"""The page in a real browser.

With THPI_PICTURES set to a folder, the screenshots are kept there: ``THPI_PICTURES=docs/pictures pytest
tests/web/test_page.py tests/web/test_compare_page.py`` makes those of the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thpi.web import Catalogue, Settings

api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(demo: Catalogue, live: Callable[..., str]) -> str:
    return live(demo)


def _distances(page: Any, method: str) -> list[int]:
    texts = page.locator(f".method[data-method={method}] .hit .distance").all_inner_texts()
    return [int(re.search(r"\d+", text).group()) for text in texts]  # type: ignore[union-attr]


def _settled(page: Any, text: str) -> None:
    api.expect(page.locator("#status")).to_contain_text(text)


def test_clicking_an_item_shows_what_the_index_finds(
    open_page: Any, demo: Catalogue, keep: Callable[..., Path]
) -> None:
    page = open_page()
    page.get_by_role("combobox", name="Order").select_option("hamming")
    row = int(demo.gallery[8])
    page.locator("#gallery .tile").nth(8).click()
    api.expect(page.locator("#results-title")).to_have_text(demo.items.names[row])
    assert page.locator(".method h3").all_inner_texts() == ["ITQ", "CCAITQ", "LapITQPlus"]
    for method in ("ITQ", "CCAITQ", "LapITQPlus"):
        index = demo.engine(method, 32).index
        found = index.search(index.get_codes([row]), 11)
        others = [(i, d) for i, d in zip(found.ids[0].tolist(), found.distances[0].tolist(), strict=True) if i != row]
        assert _distances(page, method) == [d for _, d in others[:10]]
        names = page.locator(f".method[data-method={method}] .hit .name").all_inner_texts()
        assert names == [demo.items.names[i] for i, _ in others[:10]]
        right = sum(demo.items.labels[i] == demo.items.labels[row] for i, _ in others[:10])
        assert page.locator(f".method[data-method={method}] .hit.relevant").count() == right
        _settled(page, f"{method} {right} of 10 relevant")
    # The squares that differ are as many as the distance says.
    first = page.locator(".method[data-method=ITQ] .hit svg").first
    assert first.get_attribute("aria-label") == f"{_distances(page, 'ITQ')[0]} of 32 bits differ"
    keep(page, "digits")


def test_bits_neighbours_methods_and_relevance_can_be_chosen(open_page: Any) -> None:
    page = open_page()
    page.get_by_role("slider", name="Bits").press("ArrowLeft")
    _settled(page, "The 10 nearest with 16 bits")
    assert "16 bits" in page.locator("#chart-note").inner_text()
    page.get_by_role("slider", name="Neighbours").fill("4")
    _settled(page, "The 4 nearest with 16 bits")
    page.get_by_role("checkbox", name="DSH").check()
    page.get_by_role("checkbox", name="CCAITQ").uncheck()
    _settled(page, "DSH")
    api.expect(page.locator("#status")).not_to_contain_text("CCAITQ")
    assert page.locator(".method h3").all_inner_texts() == ["DSH", "ITQ", "LapITQPlus"]
    assert [len(_distances(page, method)) for method in ("DSH", "ITQ", "LapITQPlus")] == [4, 4, 4]
    before = page.locator("#chart text").all_text_contents()
    page.get_by_role("combobox", name="Relevant means").select_option("near")
    api.expect(page.locator("#chart-note")).to_contain_text("near in target space")
    assert page.locator("#chart text").all_text_contents() != before
    assert page.locator("#chart .bar.chosen").count() == 3


def test_the_order_is_the_asymmetric_one_of_the_library_unless_chosen(open_page: Any, demo: Catalogue) -> None:
    page = open_page()
    _settled(page, "The 10 nearest with 32 bits by asymmetric distance")
    engine = demo.engine("ITQ", 32)
    assert demo.gallery is not None
    item = int(demo.gallery[0])
    projections = engine.hasher.decision_function(demo.prepared(demo.vector_of(item)[None]))
    expected = engine.index.search(projections, 11).without(item, 10)
    shown = page.locator(".method[data-method=ITQ] .distance").all_inner_texts()
    got = [float(text.split()[1]) for text in shown]
    np.testing.assert_allclose(got, expected.distances[0], rtol=6e-3)
    before = page.locator("#chart text").all_text_contents()
    assert "asymmetric" in page.locator("#chart-note").inner_text()
    page.get_by_role("combobox", name="Order").select_option("hamming")
    _settled(page, "by Hamming distance")
    assert "Hamming" in page.locator("#chart-note").inner_text()
    assert page.locator("#chart text").all_text_contents() != before


def test_names_from_data_stay_text(open_page: Any, demo: Catalogue) -> None:
    page = open_page()  # the first item, chosen at the start, has markup for a name
    assert page.locator("#results-title").inner_text() == demo.items.names[int(demo.gallery[0])]
    assert "<script>" in page.locator("#results-title").inner_text()
    assert page.title() != "owned"
    assert page.locator("#query script, #gallery script, img[src=x]").count() == 0


def test_a_vector_is_searched_and_a_wrong_one_gets_a_readable_error(
    open_page: Any, demo: Catalogue, tmp_path: Path, keep: Callable[..., Path]
) -> None:
    page = open_page()
    page.get_by_label("Numbers").fill("1, 2, 3")
    page.get_by_role("button", name="Search", exact=True).click()
    error = page.locator("#vector-error")
    api.expect(error).to_have_text("a vector must have 240 numbers; got 3.")
    error.scroll_into_view_if_needed()
    keep(page, "error")
    page.get_by_label("Numbers").fill("[1, 2")
    page.get_by_role("button", name="Search", exact=True).click()
    api.expect(error).to_contain_text("not a JSON list")
    # The vector of an item finds the item.
    page.locator("#gallery .tile").nth(3).click()
    api.expect(page.locator("#results-title")).to_have_text(demo.items.names[int(demo.gallery[3])])
    page.get_by_role("button", name="Fill in the chosen item").click()
    api.expect(page.get_by_label("Numbers")).to_have_value(re.compile(r"^\d+(, \d+){239}$"))
    page.get_by_role("button", name="Search", exact=True).click()
    api.expect(page.locator("#results-title")).to_have_text("Your vector")
    assert _distances(page, "ITQ")[0] == 0
    assert error.is_hidden()
    # A file of several vectors: each can be looked at.
    np.save(tmp_path / "three.npy", demo.items.target[:3])
    page.get_by_label("or a file").set_input_files(tmp_path / "three.npy")
    page.get_by_role("button", name="Search", exact=True).click()
    api.expect(page.get_by_label("Show vector")).to_be_visible()
    page.get_by_label("Show vector").select_option("2")
    api.expect(page.locator(".method[data-method=ITQ] ol")).to_contain_text(demo.items.names[2])


def test_it_can_be_used_by_keyboard_alone(open_page: Any, demo: Catalogue) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.locator("#label").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    focused = (
        "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle"
    )
    assert page.evaluate(focused) == "solid"
    page.keyboard.press("Enter")
    api.expect(page.locator("#results-title")).to_have_text(demo.items.names[int(demo.gallery[2])])
    # One stop further in the tab order are the results; arrows move in them, Enter searches on from one.
    page.locator(".hit").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    place = "document.activeElement.closest('.method').dataset.method"
    assert page.evaluate(place) == "CCAITQ"
    name = page.evaluate("document.activeElement.querySelector('.name').textContent")
    page.keyboard.press("Enter")
    api.expect(page.locator("#results-title")).to_have_text(name)
    assert page.evaluate("document.activeElement.id") == "results"
    assert page.locator("#gallery button[tabindex='0']").count() == 1
    unnamed = "[...document.querySelectorAll('button, input, select, textarea')].filter((e) => !e.ariaLabel && "
    unnamed += "!(e.labels && e.labels.length) && !e.textContent.trim()).length"
    assert page.evaluate(unnamed) == 0


def test_more_items_and_one_class_of_them(open_page: Any) -> None:
    page = open_page()
    assert page.locator("#gallery .tile").count() == 60
    page.get_by_role("button", name="Show more").click()
    api.expect(page.locator("#gallery .tile")).to_have_count(120)
    page.locator("#label").select_option("7")
    api.expect(page.locator("#gallery .caption").first).to_have_text("7")
    assert set(page.locator("#gallery .caption").all_inner_texts()) == {"7"}


def test_a_phone_shows_all_without_scrolling_sideways(
    open_page: Any, demo: Catalogue, keep: Callable[..., Path]
) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True)
    page.locator("#gallery .tile").nth(5).tap()
    api.expect(page.locator("#results-title")).to_have_text(demo.items.names[int(demo.gallery[5])])
    _settled(page, "The 10 nearest")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heights = page.locator("button:visible").evaluate_all("(buttons) => buttons.map((button) => button.offsetHeight)")
    assert min(heights) >= 36
    page.wait_for_load_state("networkidle")
    page.locator("#results").scroll_into_view_if_needed()
    page.evaluate("window.scrollTo(0, document.getElementById('gallery').getBoundingClientRect().top + scrollY - 70)")
    keep(page, "phone")


def test_dark_mode_is_dark_and_readable(
    open_page: Any, demo: Catalogue, keep: Callable[..., Path], luminance: Callable[[str], float]
) -> None:
    page = open_page(color_scheme="dark")
    page.locator("#gallery .tile").nth(8).click()
    api.expect(page.locator("#results-title")).to_have_text(demo.items.names[int(demo.gallery[8])])
    keep(page, "dark")
    colours = page.evaluate(
        "['.panel', '#status', '.hit .distance', '.hit.relevant .distance'].map((s) => document.querySelector(s))"
        ".filter(Boolean).map((e) => getComputedStyle(e).color)"
    )
    ground = page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor")
    assert luminance(ground) < 0.05
    # The contrast that the Web Content Accessibility Guidelines ask for text.
    assert all((luminance(colour) + 0.05) / (luminance(ground) + 0.05) >= 4.5 for colour in colours)


def test_a_token_is_asked_for_and_then_used_for_pictures_too(
    open_page: Any, demo: Catalogue, live: Callable[..., str]
) -> None:
    page = open_page(live(demo, Settings(token="open sesame")), wait=None)
    page.get_by_label("This server needs a token").fill("open sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    api.expect(page.locator("#gallery img").first).to_have_js_property("naturalWidth", 15)


def test_a_model_and_index_of_ones_own(open_page: Any, shop: Catalogue, live: Callable[..., str]) -> None:
    page = open_page(live(shop))
    assert page.locator("h1").inner_text() == "shop"
    page.get_by_role("button", name="item/3", exact=True).first.click()
    api.expect(page.locator("#results-title")).to_have_text("item/3")
    assert page.locator("#chart-panel").is_hidden()
    assert page.locator(".method h3").all_inner_texts() == ["LSH"]
