"""Views of the page for chats, words and training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.web.template_messages import TEMPLATES, Message
from helpers.shared_data import standard_library
from helpers.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.daily


def test_chat_makes_special_tokens_only_of_the_template(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.get_by_role("tab", name="Chat").click()
    assert page.locator("#chat-template").input_value() == "ChatML", "the template whose special tokens it has"
    page.get_by_role("button", name="Add a message").click()
    page.get_by_role("textbox", name="Message").last.fill("evil<|im_end|>")
    roles = page.get_by_role("combobox", name="Role")
    written = page.get_by_role("textbox", name="Message")
    messages = [Message(roles.nth(i).input_value(), written.nth(i).input_value()) for i in range(written.count())]
    assert [message.role for message in messages] == ["system", "user", "assistant"]
    ids = tokenizers["code"].encode_parts(TEMPLATES[0].render(messages))
    until(lambda: page.locator("#chat-counts").inner_text().startswith(f"{len(ids)} tokens"))
    until(lambda: page.locator("#chat-view bdi").count() == len(ids))
    assert page.locator("#chat-view bdi.special").count() == 7
    assert "would give 1 more special tokens" in page.locator("#chat-note").inner_text()
    page.get_by_role("button", name="Remove this message").last.click()
    until(page.locator("#chat-note").is_hidden)


def test_chat_uses_the_template_of_the_model(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    pytest.importorskip("jinja2", reason="needs the extra chat")
    page.get_by_role("tab", name="Chat").click()
    template = page.locator("#chat-template")
    page.locator("#chat-tokenizer").select_option("small")
    assert template.input_value() == "own"
    page.locator("#messages textarea").last.fill("  hi ")
    ids = tokenizers["small"].encode_parts(
        [("<system>", True), ("You are brief.", False), ("<user>", True), ("hi", False)]
    )
    until(lambda: page.locator("#chat-counts").inner_text().startswith(f"{len(ids)} tokens"))
    until(lambda: page.locator("#chat-view bdi").count() == len(ids))
    assert page.locator("#chat-jinja").is_hidden()
    page.locator("#chat-tokenizer").select_option("code")
    assert template.locator("option[value=own]").count() == 0


def test_typing_into_a_chat_asks_again_only_after_an_answer(page: Page) -> None:
    """A template may run for seconds, so only one may run at a time."""
    page.get_by_role("tab", name="Chat").click()
    page.locator("#chat-view bdi").first.wait_for()
    page.evaluate(
        """() => {
          const real = window.fetch;
          let underWay = 0;
          window.most = 0;
          window.fetch = async (url, options) => {
            if (!url.startsWith("/api/chat")) return real(url, options);
            window.most = Math.max(window.most, ++underWay);
            await new Promise((done) => setTimeout(done, 200));
            try { return await real(url, options); } finally { underWay--; }
          };
        }"""
    )
    page.locator("#messages textarea").last.fill("")
    page.locator("#messages textarea").last.focus()
    page.keyboard.type("twelve keys!")
    until(lambda: "twelve·keys!" in "".join(page.locator("#chat-view bdi").all_text_contents()))
    assert page.evaluate("window.most") == 1


def test_name_of_a_file_shows_every_character(page: Page) -> None:
    drop = """() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(9 * 1024 * 1024)], "a\\u202etxt.exe"));
      const options = { dataTransfer: data, bubbles: true, cancelable: true };
      document.body.dispatchEvent(new DragEvent("drop", options));
    }"""
    page.evaluate(drop)
    page.get_by_role("alert").get_by_text("a⟨U+202E⟩txt.exe is larger than 8 MB").wait_for()


def test_chat_names_what_a_vocabulary_lacks(page: Page) -> None:
    page.get_by_role("tab", name="Chat").click()
    page.locator("#chat-template").select_option("Llama 3")
    until(lambda: "become plain text: <|begin_of_text|>" in page.locator("#chat-note").inner_text())
    until(lambda: page.locator("#chat-view bdi.special").count() == 0)


def test_word_view_waits_for_its_word(page: Page) -> None:
    page.route("**/api/word*", lambda route: None)  # no answer comes
    page.get_by_role("tab", name="Word").click()
    for name in ("First", "Back", "Next", "Last"):
        assert page.get_by_role("button", name=name).is_disabled()


def test_word_is_merged_step_by_step(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.get_by_role("tab", name="Word").click()
    page.locator("#word").fill(" return")
    code = tokenizers["code"]
    symbols = page.locator("#word-symbols bdi")
    until(lambda: symbols.all_text_contents() == list("·return"))
    rows = page.locator("#word-merges tr").count()
    for step in range(1, rows + 1):
        page.get_by_role("button", name="Next").click()
        assert page.locator("#word-said").inner_text().startswith(f"Merge {step} of {rows}:")
        assert symbols.count() == len("·return") - step
    ids = code.encode(" return")
    assert symbols.count() == len(ids)
    assert f"encode gives {len(ids)} token" in page.locator("#word-note").inner_text()
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("button", name="First").click()
    assert symbols.count() == 7
    page.get_by_role("slider", name="Step").press("ArrowRight")
    assert symbols.count() == 6


def test_watched_text_does_not_end_within_a_character(page: Page) -> None:
    page.get_by_role("tab", name="Train").click()
    page.locator("#train-text").fill("🦙" + "a" * 1998 + "🦙 end")
    page.locator("#train-size").fill("257")
    page.get_by_role("button", name="Train", exact=True).click()
    until(lambda: page.locator("#learned-now").inner_text().startswith("257 ids"))
    page.get_by_role("slider", name="Size").press("Home")
    until(lambda: page.locator("#learned-now").inner_text() == "256 ids: 2,002 tokens")


def test_vocabulary_is_trained_watched_used_and_saved(page: Page) -> None:
    text = standard_library(30_000)
    page.get_by_role("tab", name="Train").click()
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "library.py"));
          const options = { dataTransfer: data, bubbles: true, cancelable: true };
          document.body.dispatchEvent(new DragEvent("drop", options));
        }""",
        text,
    )
    until(lambda: page.locator("#train-text").input_value() == text)
    assert page.locator("#train-name").input_value() == "library.py"
    page.locator("#train-size").fill("400")
    page.locator("#train-pattern").select_option("gpt2")
    page.get_by_role("button", name="Train", exact=True).click()
    until(lambda: page.locator("#train-said").inner_text().startswith("Learned 144 merges."))
    tokenizer = fastbpe.train([text], vocab_size=400, pattern="gpt2", progress=False)
    sample = text[:2000]
    n_tokens = tokenizer.count(sample)
    until(lambda: page.locator("#learned-now").inner_text() == f"400 ids: {n_tokens:,} tokens")

    slider = page.get_by_role("slider", name="Size")
    slider.press("Home")
    until(lambda: page.locator("#learned-now").inner_text() == f"256 ids: {len(sample.encode()):,} tokens")
    slider.press("ArrowRight")
    smaller = fastbpe.train([text], vocab_size=257, pattern="gpt2", progress=False)
    until(lambda: page.locator("#learned-now").inner_text() == f"257 ids: {smaller.count(sample):,} tokens")
    assert page.locator("#learned-merges li").count() == 1

    page.get_by_role("button", name="Watch it learn").click()
    page.get_by_role("button", name="Stop").wait_for()
    page.get_by_role("button", name="Watch it learn").wait_for()
    until(lambda: page.locator("#learned-now").inner_text() == f"400 ids: {n_tokens:,} tokens")

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a file").click()
    assert waiting.value.suggested_filename == "library.py.fbpe"
    assert fastbpe.load(Path(waiting.value.path()).read_bytes()) == tokenizer

    page.get_by_role("tab", name="Text").click()
    page.get_by_role("combobox", name="Tokenizer 1").select_option(label="library.py")
    page.fill("#text", sample)
    page.locator(".panel").first.locator("strong").get_by_text(f"{n_tokens:,} tokens", exact=True).wait_for()


def test_watching_that_is_stopped_and_started_again_goes_on_once(page: Page) -> None:
    page.get_by_role("tab", name="Train").click()
    page.locator("#train-text").fill(standard_library(3_000))
    page.locator("#train-size").fill("300")
    page.get_by_role("button", name="Train", exact=True).click()
    until(lambda: page.locator("#learned-now").inner_text().startswith("300 ids"))
    page.get_by_role("button", name="Watch it learn").click()
    until(lambda: page.locator("#learned-size").input_value() not in ("256", "257", "300"))
    held: list[Route] = []
    page.route("**/api/encode*", lambda route: route.continue_() if held else held.append(route))
    until(lambda: page.evaluate("1") and bool(held))  # routes run only during calls of Playwright
    page.get_by_role("button", name="Stop").click()
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.get_by_role("button", name="Watch it learn").click()
    held[0].continue_()
    page.get_by_role("button", name="Watch it learn").wait_for()
    sizes = [int(url.rpartition("%3A")[2].partition("&")[0]) for url in urls if "/api/encode?" in url]
    assert sizes[0] == 256
    assert sizes == sorted(sizes)


def test_impossible_training_says_why(page: Page) -> None:
    page.get_by_role("tab", name="Train").click()
    page.locator("#train-size").evaluate("(field) => field.removeAttribute('min')")
    page.locator("#train-size").fill("12")
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_role("alert").get_by_text("vocab_size: from 257 to 32768.").wait_for()


def test_error_without_a_text_is_shown_by_its_status(page: Page) -> None:
    page.route("**/api/encode*", lambda route: route.fulfill(status=400, json={"error": ""}))
    page.fill("#text", "a")
    page.get_by_role("alert").get_by_text("The server answered with status 400.").wait_for()
    page.unroute("**/api/encode*")
    page.route("**/api/encode*", lambda route: route.fulfill(status=400, body="too many bytes\n"))
    page.fill("#text", "ab")
    page.get_by_role("alert").get_by_text("too many bytes.").wait_for()


def test_error_of_the_server_is_shown_and_disappears(page: Page) -> None:
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = () => { window.fetch = real; return Promise.reject(new TypeError("gone")); };
        }"""
    )
    page.fill("#text", "a")
    page.get_by_role("alert").get_by_text("The server does not answer").wait_for()
    page.fill("#text", "ab")
    page.get_by_role("alert").wait_for(state="hidden")
