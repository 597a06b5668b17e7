"""The page that compares what is found without and with the source, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thpi.web import Catalogue, Settings

api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

pytestmark = pytest.mark.slow
TILE = ".side .tile"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def address(compared: Catalogue, live: Callable[..., str]) -> str:
    return live(compared)


@pytest.fixture
def open_shop(open_page: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *where, **options: open_page(*where, **({"wait": TILE} | options))


def _found(catalogue: Catalogue, method: str, item: int) -> list[int]:
    """Numbers of the nearest items, by the library."""
    engine = catalogue.engine(method, 32)
    projections = engine.hasher.decision_function(catalogue.prepared(catalogue.vector_of(item)[None]))
    return engine.index.search(projections, 25).without(item, 24).ids[0].tolist()


def test_it_opens_with_a_typical_picture(open_shop: Any, compared: Catalogue, keep: Callable[..., Path]) -> None:
    page = open_shop()
    typical = compared.comparison.typical
    api.expect(page.locator("#results-title")).to_have_text(compared.items.names[typical])
    assert page.locator(".side h3").all_inner_texts() == ["Without tags", "With tags"]
    keep(page, "shop")


def test_both_sides_show_what_the_library_finds(open_shop: Any, compared: Catalogue) -> None:
    page = open_shop()
    item = int(compared.gallery[7])
    page.locator("#gallery .tile").nth(7).click()
    api.expect(page.locator("#results-title")).to_have_text(compared.items.names[item])
    counts = []
    for method in ("ITQ", "AutoHasher"):
        side = page.locator(f".side[data-method={method}]")
        found = _found(compared, method, item)
        shown = side.locator(".tile").evaluate_all("(tiles) => tiles.map((tile) => tile.title)")
        assert shown == [compared.items.names[i] for i in found]
        same = [compared.items.labels[i] == compared.items.labels[item] for i in found]
        marked = side.locator(".tile").evaluate_all("(tiles) => tiles.map((t) => t.matches('.relevant'))")
        assert marked == same
        assert side.locator(".mark").count() == sum(same)
        quality = next(
            row["class"] for row in compared.truth.quality if (row["method"], row["order"]) == (method, "asymmetric")
        )
        assert f"{sum(same)} of 24 same category" in side.inner_text()
        assert f"MAP {100 * quality:.1f}\u00a0%" in side.inner_text()
        counts.append(sum(same))
    without, helped = counts
    api.expect(page.locator("#status")).to_have_text(
        f"Of the 24 nearest, {without} are of the same category without the tags and {helped} with them."
    )


def test_every_picture_can_be_seen(open_shop: Any) -> None:
    page = open_shop()
    widths = page.locator(f"{TILE} img").evaluate_all(
        "(images) => Promise.all(images.map((image) => image.decode().then(() => image.naturalWidth)))"
    )
    assert len(widths) == 48
    assert min(widths) > 0


def test_the_chart_has_all_four_lines(open_shop: Any, compared: Catalogue) -> None:
    page = open_shop()
    lines = {row["method"] for row in compared.truth.quality}
    assert lines == {"float features", "ITQ", "AutoHasher alone", "AutoHasher"}
    texts = page.locator("#chart text").all_text_contents()
    assert lines <= set(texts)
    assert page.locator("#chart .bar.chosen").count() == 1
    assert "200 new pictures" in page.locator("#chart-note").inner_text()


def test_a_picture_that_was_found_can_be_searched_by_keyboard(open_shop: Any, compared: Catalogue) -> None:
    page = open_shop()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.locator("#gallery .tile").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    item = int(compared.gallery[1])
    api.expect(page.locator("#results-title")).to_have_text(compared.items.names[item])
    assert page.locator("#gallery [aria-pressed=true]").count() == 1
    page.locator(f".side[data-method=AutoHasher] {TILE.split()[1]}").first.focus()
    page.keyboard.press("Enter")
    first = _found(compared, "AutoHasher", item)[0]
    api.expect(page.locator("#results-title")).to_have_text(compared.items.names[first])
    assert page.evaluate("document.activeElement.id") == "results"
    unnamed = "[...document.querySelectorAll('button, input, select')].filter((e) => !e.ariaLabel && "
    unnamed += "!(e.labels && e.labels.length) && !e.textContent.trim()).length"
    assert page.evaluate(unnamed) == 0


def test_one_category_and_more_of_the_gallery(open_shop: Any) -> None:
    page = open_shop()
    page.get_by_role("button", name="Show more").click()
    api.expect(page.locator("#gallery .tile")).to_have_count(120)
    page.locator("#label").select_option("food")
    api.expect(page.locator("#gallery .caption").first).to_have_text("food")
    assert set(page.locator("#gallery .caption").all_inner_texts()) == {"food"}


def test_names_from_data_stay_text(open_shop: Any, compared: Catalogue) -> None:
    page = open_shop()
    page.locator("#gallery .tile").first.click()
    api.expect(page.locator("#results-title")).to_have_text(compared.items.names[int(compared.gallery[0])])
    assert "<script>" in page.locator("#results-title").inner_text()
    assert page.title() != "owned"
    assert page.locator("#query script, #gallery script, img[src=x]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_both_sides_readably(
    scheme: str, open_shop: Any, keep: Callable[..., Path], luminance: Callable[[str], float]
) -> None:
    page = open_shop(**PHONE, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    tops = page.locator(".side ol").evaluate_all("(lists) => lists.map((list) => list.getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    heights = page.locator("button:visible").evaluate_all("(buttons) => buttons.map((button) => button.offsetHeight)")
    assert min(heights) >= 36
    for part in ("#status", ".side .score", ".side .tile .caption", ".side .tile.relevant .caption"):
        colour, ground = page.evaluate(
            """(part) => {
                let place = document.querySelector(part);
                const colour = getComputedStyle(place).color;
                while (getComputedStyle(place).backgroundColor === "rgba(0, 0, 0, 0)") place = place.parentElement;
                return [colour, getComputedStyle(place).backgroundColor];
            }""",
            part,
        )
        low, high = sorted([luminance(colour), luminance(ground)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, part
    page.locator("#results").scroll_into_view_if_needed()
    page.evaluate("window.scrollTo(0, document.getElementById('results').getBoundingClientRect().top + scrollY - 8)")
    keep(page, "shop-phone" if scheme == "light" else "shop-phone-dark")


def test_a_token_is_asked_for_and_then_used(open_shop: Any, compared: Catalogue, live: Callable[..., str]) -> None:
    page = open_shop(live(compared, Settings(token="open sesame")), wait=None)
    page.get_by_label("This server needs a token").fill("open sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector(TILE)
    api.expect(page.locator("#query img")).not_to_have_js_property("naturalWidth", 0)
