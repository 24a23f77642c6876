"""The page for everybody: only a keyboard, screen readers, light and dark, narrow screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fastbpe import Tokenizer
from helpers.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.daily

VIEWS = ("Text", "Chat", "Word", "Train")
TEXT = "def naïve(self):  # 漢 <|im_end|><think>\n\treturn None\n" * 4


def fill(page: Page, view: str) -> None:
    """Open a view of the page, and fill it so that all its parts are shown."""
    page.get_by_role("tab", name=view).click()
    if view == "Text":
        page.fill("#text", TEXT)
        page.get_by_label("Special tokens become ids").check()
        page.locator("bdi.special").first.wait_for()
        page.locator(".panel .view").first.press("ArrowRight")
        page.locator("bdi.active").wait_for()
    elif view == "Chat":
        page.get_by_role("textbox", name="Message").last.fill("a<|im_end|>")
        page.locator("#chat-note").wait_for()
    elif view == "Word":
        page.locator("#word-symbols bdi").first.wait_for()
        page.get_by_role("button", name="Last").click()
        page.locator("#word-note").wait_for()
    else:
        page.fill("#train-text", TEXT)
        page.locator("#train-size").fill("270")
        page.get_by_role("button", name="Train", exact=True).click()
        page.locator("#learned-merges li").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(open_page: Any, view: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = open_page(scheme=scheme, bypass_csp=True)  # axe brings a script of its own
    fill(page, view)
    found = axe.Axe().run(page).response["violations"]
    said = [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        for node in one["nodes"][:3]
    ]
    assert said == []


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.ariaLabel || ''"))


def test_whole_text_view_works_by_keyboard(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    assert focused(page) == "text"
    page.keyboard.type("import self\nreturn")
    code = tokenizers["code"]
    ids = code.encode("import self\nreturn")
    tokens = page.locator(".panel").first.locator("bdi")
    until(lambda: tokens.count() == len(ids))
    seen = []
    while focused(page) != "Tokens of tokenizer 1":
        page.keyboard.press("Tab")
        seen.append(focused(page))
        assert len(seen) < 20
    assert {"special", "open", "share", "Tokenizer 1", "Remove tokenizer 1"} <= {*seen}

    detail = page.locator(".panel .detail").first
    view = page.locator(".panel .view").first
    for n in range(1, len(ids) + 1):
        page.keyboard.press("ArrowRight")
        until(lambda: f"token {n} of {len(ids)}" in detail.inner_text())  # noqa: B023
        active = page.locator(f"#{view.get_attribute('aria-activedescendant')}")
        assert active.get_attribute("aria-label").endswith(f"id {ids[n - 1]}")
        assert active.get_attribute("aria-posinset") == str(n)
        assert active.get_attribute("aria-selected") == "true"
    page.keyboard.press("Home")
    until(lambda: "token 1 of" in detail.inner_text())
    page.keyboard.press("ArrowDown")
    until(lambda: f"id {ids[code.count('import self') + 1]}" in detail.inner_text())
    page.keyboard.press("ArrowUp")
    until(lambda: "token 1 of" in detail.inner_text())
    page.keyboard.press("End")
    until(lambda: f"token {len(ids)} of" in detail.inner_text())


def test_arrow_keys_reach_tokens_that_are_not_drawn(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "low lower lowest\n" * 3000
    page.evaluate(
        """(text) => {
          document.getElementById("text").value = text;
          document.getElementById("text").dispatchEvent(new Event("input"));
        }""",
        text,
    )
    n = tokenizers["code"].count(text)
    page.locator(".panel").first.locator("strong").get_by_text(f"{n:,} tokens", exact=True).wait_for()
    view, detail = page.locator(".panel .view").first, page.locator(".panel .detail").first
    view.focus()
    page.keyboard.press("End")
    until(lambda: f"token {n} of {n}" in detail.inner_text())
    until(lambda: page.locator(".panel").first.locator("bdi.active").is_visible())
    for key, number in (("PageUp", n - 100), ("ArrowLeft", n - 101), ("Home", 1), ("PageDown", 101)):
        page.keyboard.press(key)
        until(lambda: f"token {number} of {n}" in detail.inner_text())  # noqa: B023


def test_end_key_before_the_tokens_are_drawn_reaches_the_last(
    page: Page, tokenizers: dict[str, Tokenizer]
) -> None:
    """Pressed while the page waits for its tokens, when the list is still as short as the text before."""
    page.evaluate(
        """() => {
          const ask = window.fetch;
          const released = new Promise((release) => (window.releaseTokens = release));
          window.fetch = async (url, ...rest) => {
            if (String(url).includes("api/tokens")) await released;
            return ask(url, ...rest);
          };
        }"""
    )
    text = "print(number)\n" * 3000
    page.locator("#text").fill(text)
    n = tokenizers["code"].count(text)
    panel = page.locator(".panel").first
    panel.locator("strong").get_by_text(f"{n:,} tokens", exact=True).wait_for()
    panel.locator(".view").focus()
    page.keyboard.press("End")
    page.evaluate("window.releaseTokens()")
    until(lambda: f"token {n} of {n}" in panel.locator(".detail").inner_text())
    until(panel.locator("bdi.active").is_visible)


def test_tabs_follow_the_arrow_keys(page: Page) -> None:
    page.get_by_role("tab", name="Text").focus()
    for name in (*VIEWS[1:], VIEWS[0]):
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("tab", name=name).get_attribute("aria-selected") == "true"
        assert focused(page) == f"tab-{name.lower()}"
        assert page.get_by_role("tabpanel").count() == 1
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "tab-train"


def test_training_and_words_work_by_keyboard(page: Page) -> None:
    page.get_by_role("tab", name="Train").focus()
    page.keyboard.press("Enter")
    page.locator("#train-text").focus()
    page.keyboard.type("low lower lowest low lower lowest")
    page.locator("#train-size").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("260")
    page.keyboard.press("Enter")
    page.locator("#learned-merges li").first.wait_for()
    page.get_by_role("tab", name="Word").focus()
    page.keyboard.press("Enter")
    page.locator("#word-symbols bdi").first.wait_for()
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    assert page.locator("#word-said").inner_text().startswith("Merge 1 of")


def test_counts_are_told_to_screen_readers_after_a_pause(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.keyboard.type("import")
    n = tokenizers["code"].count("import")
    until(lambda: page.locator("#news").text_content().startswith(f"code: {n} token"))
    assert page.locator("#news").get_attribute("role") == "status"


@pytest.mark.parametrize("view", VIEWS)
def test_phone_needs_no_sideways_scrolling(open_page: Any, view: str) -> None:
    page = open_page(width=360, height=740, has_touch=True, is_mobile=True)
    fill(page, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    outside = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, textarea, .view")]
          .filter((one) => one.offsetParent && !one.closest(".scroll"))
          .map((one) => [one.id || one.className, one.getBoundingClientRect()])
          .filter(([, box]) => box.left < 0 || box.right > 360).map(([name]) => name)"""
    )
    assert outside == []


def test_tap_on_a_token_says_what_it_is(open_page: Any) -> None:
    page = open_page(width=360, height=740, has_touch=True, is_mobile=True)
    page.fill("#text", "import")
    page.locator(".panel bdi").first.wait_for()
    page.wait_for_timeout(300)  # else the page might redraw the token during the tap
    page.locator(".panel bdi").first.tap()
    until(lambda: "token 1 of" in page.locator(".panel .detail").first.inner_text())


def test_dark_page_has_dark_ground_and_other_token_colours(open_page: Any) -> None:
    grounds, colours = [], []
    for scheme in ("light", "dark"):
        page = open_page(scheme=scheme)
        page.fill("#text", "import")
        page.locator(".panel bdi").first.wait_for()
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        colours.append(page.evaluate("getComputedStyle(document.querySelector('.panel bdi')).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"]
    assert colours[0] != colours[1]
