"""The page in a real browser.

With THPI_PICTURES set to a folder, the screenshots are kept there: ``THPI_PICTURES=docs/pictures pytest
tests/web/test_page.py`` makes those of the documentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thpi
from benchmarks.attack._server import Server
from thpi.collection import Collection, Details, write
from thpi.datasets import load_shop

api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled shop: drawings, and their tags as texts; the first one has markup for a text."""
    data = load_shop()
    shown = [data.show(i) for i in range(data.n)]
    names = [each.name for each in shown]
    details = {each.name: Details(", ".join(each.tags), each.picture) for each in shown}
    hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    details[names[0]] = details[names[0]]._replace(text=hostile)
    path = tmp_path_factory.mktemp("drawings") / "shop.thpi"
    hasher = thpi.ITQ(32, random_state=0).fit(data.target)
    write(path, hasher, hasher.transform(data.target), names, about={"title": "A small shop"}, details=details)
    return path


@pytest.fixture(scope="module")
def shop(drawings: Path) -> Collection:
    return thpi.open(drawings)


@pytest.fixture(scope="module")
def address(drawings: Path, serve: Callable[..., Server]) -> str:
    return f"http://127.0.0.1:{serve(drawings).port}"


def _settled(page: Any, text: str) -> None:
    api.expect(page.locator("#status")).to_contain_text(text)


def _names(page: Any) -> list[str]:
    return page.locator(".hit").evaluate_all("(hits) => hits.map((hit) => hit.title)")


def test_clicking_an_item_shows_what_the_collection_finds(
    open_page: Any, shop: Collection, keep: Callable[..., Path]
) -> None:
    page = open_page()
    assert page.locator("h1").inner_text() == "A small shop"
    assert page.locator("#description").inner_text() == "1,000 items in codes of 32 bits, learned by ITQ."
    item = shop.ids[4]
    page.locator("#gallery .tile").nth(4).click()
    api.expect(page.locator("#results-title")).to_have_text(item)
    _settled(page, "The 12 nearest by Hamming distance.")
    found = shop.search(id=item, k=12)
    assert _names(page) == found.ids[0].tolist()
    wanted = [f"{at} bit{'s differ' if at != 1 else ' differs'}" for at in found.distances[0].tolist()]
    assert page.locator(".hit .distance").all_inner_texts() == wanted
    assert page.locator("#query .text").inner_text() == shop.details(item).text
    assert page.locator(".hit .excerpt").first.inner_text() == shop.details(found.ids[0, 0]).text
    # The squares that differ are as many as the distance says.
    at = found.distances[0, 0]
    assert page.locator(".hit svg").first.get_attribute("aria-label") == f"{at} of 32 bits differ"
    path = (
        page.locator(".hit svg")
        .first.locator("[class$=differs]")
        .evaluate_all("(e) => e.map((p) => p.getAttribute('d'))")
    )
    assert sum(each.count("M") for each in path) == at
    api.expect(page.locator(".hit img").first).to_have_js_property("complete", True)
    assert page.locator(".hit img").first.evaluate("(image) => image.naturalWidth") > 30
    keep(page, "shop")


def test_the_number_of_neighbours_can_be_chosen(open_page: Any) -> None:
    page = open_page()
    page.get_by_role("slider", name="Neighbours").fill("4")
    _settled(page, "The 4 nearest")
    assert page.locator(".hit").count() == 4
    assert page.locator("#k-value").inner_text() == "4"


def test_a_result_is_searched_on_from(open_page: Any, shop: Collection) -> None:
    page = open_page()
    third = page.locator(".hit").nth(2)
    name = third.get_attribute("title")
    third.click()
    api.expect(page.locator("#results-title")).to_have_text(name)
    _settled(page, "The 12 nearest")
    assert _names(page) == shop.search(id=name, k=12).ids[0].tolist()


def test_names_from_data_stay_text(open_page: Any, shop: Collection) -> None:
    page = open_page()  # the first item, chosen at the start, has markup for a text
    assert page.locator("#query .text").inner_text() == shop.details(shop.ids[0]).text
    assert "<script>" in page.locator("#query .text").inner_text()
    assert page.title() == "A small shop - thpi"
    assert page.locator("#query script, #gallery script, img[src=x]").count() == 0


def test_vectors_are_searched_and_wrong_ones_get_a_readable_error(
    open_page: Any, shop: Collection, tmp_path: Path, keep: Callable[..., Path]
) -> None:
    page, X = open_page(), load_shop().target
    error = page.locator("#vector-error")
    for text, message in (
        ("1, 2, 3", "a vector must have 1280 numbers; got 3."),
        ("[1, 2", "not a JSON list"),
        ("1, x", 'Line 1: "x" is no number.'),
        (" ", "Give some numbers"),
    ):
        page.get_by_label("Numbers").fill(text)
        page.get_by_role("button", name="Search", exact=True).click()
        api.expect(error).to_contain_text(message)
    error.scroll_into_view_if_needed()
    keep(page, "error")
    page.get_by_label("Numbers").fill(json.dumps(X[7].tolist()))
    page.get_by_role("button", name="Search", exact=True).click()
    api.expect(page.locator("#results-title")).to_have_text("Your vector")
    _settled(page, "The 12 nearest by asymmetric distance.")
    expected = shop.search(X[7:8], 12)
    assert _names(page) == expected.ids[0].tolist()
    shown = [float(text.split()[1]) for text in page.locator(".hit .distance").all_inner_texts()]
    np.testing.assert_allclose(shown, expected.distances[0], rtol=6e-3)
    assert error.is_hidden()
    page.get_by_role("combobox", name="Order").select_option("hamming")
    page.get_by_role("button", name="Search", exact=True).click()
    _settled(page, "by Hamming distance")
    assert _names(page) == shop.search(X[7:8], 12, order="hamming").ids[0].tolist()
    # A file of several vectors: each can be looked at.
    np.savetxt(tmp_path / "three.csv", X[:3], delimiter=",")
    page.get_by_label("or a file").set_input_files(tmp_path / "three.csv")
    page.get_by_role("button", name="Search", exact=True).click()
    api.expect(page.get_by_label("Show vector")).to_be_visible()
    page.get_by_label("Show vector").select_option("2")
    api.expect(page.locator(".hit").first).to_have_attribute("title", shop.search(X[2:3], 1, order="hamming").ids[0, 0])


def test_source_rows_are_searched_by_if_the_model_takes_them(
    open_page: Any, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    rng = np.random.RandomState(0)
    S = rng.standard_normal((60, 3))
    hasher = thpi.TwoSidedITQ(8, random_state=0).fit(S @ rng.standard_normal((3, 5)), privileged=S)
    write(tmp_path / "shop.thpi", hasher, hasher.transform_source(S), range(60), about={"title": "sides"})
    page = open_page(f"http://127.0.0.1:{serve(tmp_path / 'shop.thpi').port}")
    assert "5 numbers, one of source rows 3" in page.locator("#vector-note").inner_text()
    page.get_by_role("combobox", name="Vector of").select_option("source")
    page.get_by_label("Numbers").fill(",".join(map(str, S[7])))
    page.get_by_role("button", name="Search", exact=True).click()
    _settled(page, "by asymmetric distance")
    with thpi.open(tmp_path / "shop.thpi") as shop:
        expected = shop.search_codes(hasher.source_side.decision_function(S[7:8]), 12)
    assert _names(page) == [str(item) for item in expected.ids[0]]
    assert page.locator("#gallery.texts .tile").count() == 60


def test_it_can_be_used_by_keyboard_alone(open_page: Any, shop: Collection) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    focused = (
        "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle"
    )
    assert page.evaluate(focused) == "solid"
    page.keyboard.press("Enter")
    api.expect(page.locator("#results-title")).to_have_text(shop.ids[2])
    _settled(page, "The 12 nearest")
    # Arrows move in the results, Enter searches on from one.
    page.locator(".hit").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    name = page.evaluate("document.activeElement.title")
    assert name in _names(page)[1:]
    page.keyboard.press("Enter")
    api.expect(page.locator("#results-title")).to_have_text(name)
    assert page.evaluate("document.activeElement.id") == "results"
    assert page.locator("#gallery button[tabindex='0']").count() == 1
    unnamed = "[...document.querySelectorAll('button, input, select, textarea')].filter((e) => !e.ariaLabel && "
    unnamed += "!(e.labels && e.labels.length) && !e.textContent.trim()).length"
    assert page.evaluate(unnamed) == 0


def test_more_items(open_page: Any) -> None:
    page = open_page()
    assert page.locator("#gallery .tile").count() == 60
    page.get_by_role("button", name="Show more").click()
    api.expect(page.locator("#gallery .tile")).to_have_count(120)


def test_a_phone_shows_all_without_scrolling_sideways(
    open_page: Any, shop: Collection, keep: Callable[..., Path]
) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True)
    page.locator("#gallery .tile").nth(5).tap()
    api.expect(page.locator("#results-title")).to_have_text(shop.ids[5])
    _settled(page, "The 12 nearest")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    heights = page.locator("button:visible").evaluate_all("(buttons) => buttons.map((button) => button.offsetHeight)")
    assert min(heights) >= 36
    page.evaluate("window.scrollTo(0, document.getElementById('gallery').getBoundingClientRect().top + scrollY - 70)")
    keep(page, "phone")


def test_dark_mode_is_dark_and_readable(
    open_page: Any, shop: Collection, keep: Callable[..., Path], luminance: Callable[[str], float]
) -> None:
    page = open_page(color_scheme="dark")
    page.locator("#gallery .tile").nth(8).click()
    api.expect(page.locator("#results-title")).to_have_text(shop.ids[8])
    keep(page, "dark")
    colours = page.evaluate(
        "['.panel', '#status', '.hit .distance', '.hit .excerpt', '.tile .name'].map((s) => document.querySelector(s))"
        ".filter(Boolean).map((e) => getComputedStyle(e).color)"
    )
    assert len(colours) == 5
    ground = page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor")
    assert luminance(ground) < 0.05
    # The contrast that the Web Content Accessibility Guidelines ask for text.
    assert all((luminance(colour) + 0.05) / (luminance(ground) + 0.05) >= 4.5 for colour in colours)


def test_a_token_is_asked_for_and_then_used_for_pictures_too(
    open_page: Any, drawings: Path, serve: Callable[..., Server]
) -> None:
    server = serve(drawings, "--token", "open sesame")
    page = open_page(f"http://127.0.0.1:{server.port}", wait=None)
    page.get_by_label("This server needs a token").fill("open sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    api.expect(page.locator("#gallery img").first).to_have_js_property("complete", True)
    assert page.locator("#gallery img").first.evaluate("(image) => image.naturalWidth") > 30
    assert re.match("blob:", page.locator("#gallery img").first.get_attribute("src"))
