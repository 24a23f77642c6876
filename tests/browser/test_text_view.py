"""First view of the page: typing, dropping, tokenizers side by side, special tokens, large texts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from helpers.sampling import SEED, rounds, some
from helpers.shared_data import data_file, standard_library
from helpers.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.daily

DROP = """([text, name]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "text/plain" }));
  for (const type of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const field = document.getElementById("text");
  field.focus();
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def wait_for_number(page: Page, n_tokens: int, panel: int) -> None:
    said = "1 token" if n_tokens == 1 else f"{n_tokens:,} tokens"
    page.locator(".panel").nth(panel).locator(".counts strong").get_by_text(said, exact=True).wait_for()


def wait_for_counts(page: Page, n_tokens: int, panel: int = 0) -> None:
    wait_for_number(page, n_tokens, panel)
    if n_tokens < 500:  # of more tokens, only those in view are drawn
        until(lambda: len(tokens_of(page, panel)) == n_tokens)


def ids_of(page: Page, panel: int = 0) -> Any:
    def is_copied() -> bool:
        """Copy the ids; tell whether the page says so. While it reads a text, it may report that instead."""
        page.locator(".panel").nth(panel).get_by_role("button", name="Copy ids").click()
        return page.locator("#news").text_content() == "Copied."

    until(is_copied)
    return json.loads(page.evaluate("navigator.clipboard.readText()"))


def is_held(page: Page, held: list[Route]) -> bool:
    """Tell if a route has been held. Playwright calls the functions of routes only while it is called itself."""
    page.evaluate("0")
    return bool(held)


def test_token_is_chosen_while_new_tokens_are_awaited(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.fill("#text", "aa")
    wait_for_counts(page, tokenizers["code"].count("aa"))
    held: list[Route] = []
    page.route("**/api/tokens*", lambda route: held.append(route))
    page.fill("#text", "import Q")
    wait_for_number(page, tokenizers["code"].count("import Q"), 0)
    until(lambda: is_held(page, held))
    page.locator(".panel .view").first.press("ArrowRight")
    for route in held:
        route.continue_()
    page.unroute("**/api/tokens*")
    until(lambda: "".join(tokens_of(page)) == "import·Q")


def tokens_of(page: Page, panel: int = 0) -> list[str]:
    return page.locator(".panel").nth(panel).locator(".view bdi").all_text_contents()


def test_typing_gives_the_tokens_and_ids_of_encode(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.keyboard.type("def low(self):  # naïve 漢\n\treturn None")
    text = page.input_value("#text")
    for panel, tokenizer in enumerate([*tokenizers.values()][:4]):
        ids = tokenizer.encode_ordinary(text)
        wait_for_counts(page, len(ids), panel)
        shown = str(fastbpe.show(tokenizer, text)).replace("\n", "|").split("|")
        until(lambda: tokens_of(page, panel) == shown)  # noqa: B023  # the text before the last key may have as many
        assert ids_of(page, panel) == ids


def test_each_key_changes_the_colours(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    for n, key in enumerate("import", 1):
        page.keyboard.type(key)
        wait_for_counts(page, tokenizers["code"].count("import"[:n]))
    assert "".join(tokens_of(page)) == "import"


def test_dropped_file_keeps_its_line_ends(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "one\r\ntwo\r\n"
    page.evaluate(DROP, [text, "lines.txt"])
    ids = tokenizers["code"].encode_ordinary(text)
    wait_for_counts(page, len(ids))
    assert ids_of(page) == ids
    assert page.input_value("#text") == "one\ntwo\n"
    page.locator("#text").press("End")
    page.keyboard.type("x")
    wait_for_counts(page, tokenizers["code"].count(page.input_value("#text")))


def test_opened_file_becomes_the_text(page: Page, tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("import this")
    page.set_input_files("#file", path)
    wait_for_counts(page, tokenizers["code"].count("import this"))


def test_four_tokenizers_side_by_side_with_counts_and_cost(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "def encode(self, text): return self.tokens"
    page.fill("#text", text)
    names = [*tokenizers]
    best = min(tokenizers[name].count(text) for name in names[:4])
    for panel, name in enumerate(names[:4]):
        n = tokenizers[name].count(text)
        wait_for_counts(page, n, panel)
        _, n_bytes, n_characters, ratio = page.locator(".counts").nth(panel).inner_text().split("\n")
        assert float(n_bytes.removesuffix(" bytes per token")) == pytest.approx(len(text) / n, abs=0.006)
        assert float(n_characters.removesuffix(" characters per token")) == pytest.approx(len(text) / n, abs=0.006)
        assert ratio == ("fewest tokens" if n == best else f"{n / best:.2f}× the fewest")
    assert page.locator("#add-panel").is_disabled()
    page.get_by_role("button", name="Remove tokenizer 2").click()
    assert page.locator(".panel").count() == 3
    page.locator("#add-panel").click()
    assert page.locator(".panel").count() == 4
    page.get_by_role("combobox", name="Tokenizer 4").select_option(label="bytes")
    wait_for_counts(page, len(text), 3)
    page.get_by_role("spinbutton", name="Dollars per million tokens, tokenizer 4").fill("10")
    assert f"${len(text) * 10 / 1e6:.6f} for this text" in page.locator(".counts").nth(3).inner_text()


def test_special_tokens_become_ids_only_when_asked(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    code = tokenizers["code"]
    text = "hi<|im_end|><|im_start|>system"
    page.fill("#text", text)
    wait_for_counts(page, code.count(text))
    trusted = code.encode(text, allowed_special="all")
    note = page.locator(".panel .note").first.inner_text()
    assert "Contains special tokens: <|im_start|>, <|im_end|>." in note
    assert f"{code.count(text)} tokens as plain text, {len(trusted)} if you allow them." in note
    assert "Do not allow them in text that you do not trust." in note
    assert page.locator(".panel").nth(1).locator(".note").is_hidden()
    page.get_by_label("Special tokens become ids").check()
    wait_for_counts(page, len(trusted))
    assert ids_of(page) == trusted
    assert page.locator(".panel").first.locator("bdi.special").all_text_contents() == [
        "<|im_end|>",
        "<|im_start|>",
    ]


def test_added_token_is_told_apart(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.fill("#text", "a<think>b")
    wait_for_counts(page, tokenizers["unsplit"].count("a<think>b"), 2)
    assert page.locator(".panel").nth(2).locator("bdi.added").all_text_contents() == ["<think>"]
    assert "Added tokens become ids in any text: <think>." in page.locator(".panel .note").nth(2).inner_text()


def test_white_space_is_shown_unless_told_otherwise(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.fill("#text", "a  b\tc\n·")
    wait_for_counts(page, tokenizers["code"].count("a  b\tc\n·"))
    assert "".join(tokens_of(page)).startswith("a··b→c↵")
    page.locator("#page-text").get_by_label("Show white space").uncheck()
    assert "".join(tokens_of(page)).startswith("a  b\tc")


def test_pointer_shows_id_bytes_and_place(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    code = tokenizers["code"]
    page.fill("#text", "import self")
    ids = code.encode("import self")
    wait_for_counts(page, len(ids))
    page.locator(".panel").first.locator("bdi").last.hover()
    tip = page.locator("#tip").inner_text()
    data = code.id_to_token(ids[-1])
    assert f"token {len(ids)} of {len(ids)}" in tip
    assert f"id {ids[-1]}, bytes {data.hex(' ')}, at {11 - len(data)}–11" in tip
    page.mouse.move(2, 2)
    page.locator("#tip").wait_for(state="hidden")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a\u202eb\u2066c",
        "<img src=x onerror=alert(1)>",
        "\ufeff\u200d\u0301",
        "🦙\ue000",
    ],
)
def test_hostile_text_stays_text(page: Page, tokenizers: dict[str, Tokenizer], text: str) -> None:
    page.fill("#text", text)
    wait_for_counts(page, tokenizers["code"].count(text))
    shown = "".join(tokens_of(page))
    assert "\u202e" not in shown
    assert page.locator(".panel script, .panel img").count() == 0
    assert page.locator(".panel").first.locator("bdi").count() == tokenizers["code"].count(text)


def test_lone_surrogate_is_replaced(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    page.evaluate("""() => {
      document.getElementById("text").value = "a\\ud83d";
      document.getElementById("text").dispatchEvent(new Event("input"));
    }""")
    wait_for_counts(page, 4)
    assert ids_of(page) == tokenizers["code"].encode_ordinary("a\ufffd")


def test_megabyte_is_pasted_and_edited_fluently(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    """Only tokens in view are drawn, wherever the view is."""
    text = (standard_library(1_000_000) + "# end\n" * 200_000)[:1_000_000]
    page.evaluate(PASTE, text)
    counts = [tokenizer.count(text) for tokenizer in [*tokenizers.values()][:4]]
    for panel, n in enumerate(counts):
        wait_for_counts(page, n, panel)
    assert page.input_value("#text") == text
    assert 0 < page.locator("bdi").count() < 6000
    view = page.locator(".panel .view").first
    first = first_drawn(page)
    for part in (0.3, 0.7, 1):
        view.evaluate("(view, part) => { view.scrollTop = part * view.scrollHeight; }", part)
        until(lambda: first_drawn(page) > first)  # noqa: B023
        first = first_drawn(page)
    page.locator(f"#{view_id(page)}-{counts[0] - 1}").wait_for()
    page.locator("#text").press("Control+End")
    page.keyboard.type("x")
    wait_for_counts(page, tokenizers["code"].count(text + "x"))
    assert page.locator("bdi").count() < 6000


DRAWN = """() => [...document.querySelectorAll(".panel .view")].map((view) =>
  [...view.querySelectorAll("bdi")].map((one) =>
    [Number(one.id.split("-")[1]), one.classList[0], one.textContent]))"""


def test_view_is_right_after_each_of_many_edits(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    """The page keeps the blocks of tokens that an edit does not change, and must not confuse them with others."""
    rng = Random(SEED)
    text = standard_library(5_000).replace("|", "/")
    shown = [*tokenizers.values()][:4]
    for n in rounds(6, 10):
        if n % 4 == 3:
            page.locator(".signs:visible").click()
        if n % 5 == 4:
            part = rng.random()
            page.evaluate(f"for (const one of document.querySelectorAll('.view')) one.scrollTop = {part} * 9999")
        start = rng.randrange(len(text))
        end = start + rng.choice([0, 0, 1, 30, 1000])
        text = text[:start] + rng.choice(["", "é", "\n", " return", text[:1000]]) + text[end:]
        page.fill("#text", text)
        for panel, tokenizer in enumerate(shown):
            wait_for_number(page, tokenizer.count(text), panel)
        has_signs = page.locator(".signs:visible").is_checked()
        until(lambda: all(map(partial(is_right, text, has_signs), shown, page.evaluate(DRAWN))))  # noqa: B023


def is_right(text: str, has_signs: bool, tokenizer: Tokenizer, drawn: list[tuple[int, str, str]]) -> bool:
    """Tell if tokens drawn in a view follow one another, and have their text and their colour."""
    numbers = [number for number, _, _ in drawn]
    if not drawn or numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
        return False
    parts = str(fastbpe.show(tokenizer, text)).replace("\n", "|").split("|")
    if not has_signs:
        parts = [part.translate({ord("·"): " ", ord("→"): "\t", ord("↵"): None}) for part in parts]
    return all((parts[i], f"c{i % 4}") == (token, colour) for i, colour, token in drawn)


def first_drawn(page: Page) -> int:
    """Return the number of the first token that is drawn."""
    return int(page.evaluate("document.querySelector('.panel .view bdi').id.split('-')[1]"))


def view_id(page: Page) -> str:
    return str(page.evaluate("document.querySelector('.panel .view bdi').id.split('-')[0]"))


def test_view_keeps_its_place_while_one_types(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = standard_library(100_000)
    page.evaluate(PASTE, text)
    wait_for_counts(page, tokenizers["code"].count(text))
    view = page.locator(".panel .view").first
    until(lambda: view.evaluate("(view) => view.scrollHeight") > 20_000)
    view.evaluate("(view) => { view.scrollTop = view.scrollHeight / 2; }")
    until(lambda: first_drawn(page) > 1000)
    page.wait_for_timeout(300)
    place = view.evaluate("(view) => view.scrollTop")
    page.locator("#text").press("Control+End")
    for n in range(1, 6):
        page.keyboard.type("é")
        wait_for_counts(page, tokenizers["code"].count(text + "é" * n))
    assert abs(view.evaluate("(view) => view.scrollTop") - place) < 30


def test_view_keeps_its_place_when_the_window_changes(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = standard_library(100_000)
    page.evaluate(PASTE, text)
    wait_for_counts(page, tokenizers["code"].count(text))
    view = page.locator(".panel .view").first
    until(lambda: view.evaluate("(view) => view.scrollHeight") > 20_000)
    view.evaluate("(view) => { view.scrollTop = view.scrollHeight / 2; }")
    until(lambda: first_drawn(page) > 1000)
    page.wait_for_timeout(300)
    before = first_drawn(page)
    page.set_viewport_size({"width": 700, "height": 800})
    page.wait_for_timeout(500)
    assert abs(first_drawn(page) - before) < 1000


def test_ids_equal_encode_for_every_line_of_emoji_mixed(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    """The text passes through the field of the page. No field holds CR: lines with it come as files do."""
    lines = some(data_file("corpus", "emoji_mixed.txt").read_bytes().decode().split("\n"), 300)
    named = [*tokenizers.values()][:4]
    found = []
    for first in range(0, len(lines), 200):
        found += page.evaluate(
            """async (lines) => {
              const { encode } = await import("/static/api.js");
              const field = document.getElementById("text");
              return Promise.all(lines.map(async (line) => {
                field.value = line;
                const text = line.includes("\\r") ? await new File([line], "line.txt").text() : field.value;
                return (await encode([0, 1, 2, 3], text, false)).texts.map(({ ids }) => [...ids]);
              }));
            }""",
            lines[first : first + 200],
        )
    for line, by_tokenizer in zip(lines, found, strict=True):
        assert by_tokenizer == [tokenizer.encode_ordinary(line) for tokenizer in named], line
    for line in [line for line in lines if "\r" in line][:3]:
        page.evaluate(DROP, [line, "line.txt"])
        until(lambda: ids_of(page) == named[0].encode_ordinary(line))  # noqa: B023


def test_shared_page_shows_the_same_without_the_server(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "def f():\n\treturn '<b>漢</b>'"
    page.fill("#text", text)
    wait_for_counts(page, tokenizers["code"].count(text))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Share as HTML").click()
    path = Path(waiting.value.path())
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    shared = page.context.new_page()
    shared.set_content(html)
    assert shared.locator("section").count() == 4
    for panel, name in enumerate([*tokenizers][:4]):
        assert shared.locator("section h2").nth(panel).inner_text() == name
        assert shared.locator("section").nth(panel).locator("bdi").all_text_contents() == tokens_of(page, panel)


def test_ids_stand_below_the_tokens(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "def low(self): return None"
    page.fill("#text", text)
    for panel, tokenizer in enumerate([*tokenizers.values()][:4]):
        said = " ".join(map(str, tokenizer.encode_ordinary(text)))
        until(lambda: page.locator(".panel .ids").nth(panel).inner_text() == said)  # noqa: B023
    page.fill("#text", "0" * 1000)
    until(lambda: page.locator(".panel .ids").nth(1).inner_text().endswith(" more"))


def test_text_of_a_token_is_marked_in_all_panels(page: Page, tokenizers: dict[str, Tokenizer]) -> None:
    text = "import self"
    page.fill("#text", text)
    wait_for_counts(page, tokenizers["code"].count(text))
    wait_for_counts(page, tokenizers["small"].count(text), 1)
    page.locator(".panel").first.locator("bdi").first.hover()
    marked = page.locator(".panel").nth(1).locator("bdi.same")
    until(lambda: "".join(marked.all_text_contents()) == "import")
    assert page.locator(".panel").first.locator("bdi.same").count() == 0
    page.mouse.move(2, 2)
    until(lambda: page.locator("bdi.same").count() == 0)


def test_link_brings_text_and_tokenizers_back_and_sends_nothing(page: Page, address: str) -> None:
    text = "naïve 漢 <|im_end|>\n🦙"
    page.fill("#text", text)
    page.get_by_label("Special tokens become ids").check()
    page.get_by_role("button", name="Remove tokenizer 1").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("button", name="Copy link").click()
    until(lambda: "#1" in page.evaluate("location.hash"))
    link = page.evaluate("location.href")
    assert page.evaluate("navigator.clipboard.readText()") == link
    paths = ("/api/encode?", "/api/tokens?", "/static/")
    assert not [url for url in asked if not any(path in url for path in paths)]
    other = page.context.new_page()
    other.goto(link)
    other.wait_for_selector("body[data-ready]")
    assert other.input_value("#text") == text
    assert other.locator("#special").is_checked()
    names = other.locator(".panel select").evaluate_all("all => all.map((one) => one.selectedOptions[0].text)")
    assert names == ["small", "unsplit", "points"]


def test_damaged_link_says_so(open_page: Any, address: str) -> None:
    page = open_page(path="#1%%%")
    page.get_by_role("alert").get_by_text("This link is damaged").wait_for()


def test_text_and_tokenizers_are_kept_over_a_reload(page: Page) -> None:
    page.fill("#text", "import this")
    page.get_by_role("button", name="Remove tokenizer 4").click()
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.input_value("#text") == "import this"
    assert page.locator(".panel").count() == 3


def test_dropped_tokenizer_becomes_a_panel(page: Page, tmp_path: Path) -> None:
    made = fastbpe.train(["of the cat of the dog"] * 20, vocab_size=270, pattern=None, progress=False)
    made.export(tmp_path / "tokenizer.json")
    page.get_by_role("button", name="Remove tokenizer 4").click()
    page.evaluate(DROP, [(tmp_path / "tokenizer.json").read_text(encoding="utf-8"), "tokenizer.json"])
    until(lambda: page.locator(".panel").count() == 4)
    chosen = page.get_by_role("combobox", name="Tokenizer 4")
    until(lambda: chosen.evaluate("(one) => one.selectedOptions[0].text") == "tokenizer.json")
    page.fill("#text", "of the cat")
    wait_for_counts(page, made.count("of the cat"), 3)
    ids = made.encode("of the cat of the dog")
    page.fill("#text", "of the cat of the dog")
    wait_for_counts(page, len(ids), 3)
    superwords = [i for i in ids if len(made.id_to_token(i).split()) > 1]
    assert superwords
    assert page.locator(".panel").nth(3).locator("bdi.superword").count() == len(superwords)


def test_dropped_file_that_is_no_tokenizer_says_why(page: Page) -> None:
    page.evaluate(DROP, ["{}", "tokenizer.json"])
    page.get_by_role("alert").filter(has_text="tokenizer").wait_for()


def test_answer_under_way_does_not_hide_what_a_dropped_file_is_not(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/encode*", lambda route: route.continue_() if held else held.append(route))
    page.keyboard.type("a")
    until(lambda: is_held(page, held))
    page.evaluate(DROP, ["{}", "tokenizer.json"])
    complaint = page.get_by_role("alert").filter(has_text="tokenizer")
    complaint.wait_for()
    held[0].continue_()
    wait_for_counts(page, 1)
    assert complaint.text_content() != ""
    page.keyboard.type("b")
    until(lambda: complaint.count() == 0)


def test_sample_text_fills_the_field(page: Page) -> None:
    page.get_by_role("button", name="Sample text").click()
    assert "1,234,567" in page.input_value("#text")
    page.locator(".panel bdi").first.wait_for()


@pytest.mark.parametrize(
    ("text", "direction"), [("12 שלום", "rtl"), ("مرحبا", "rtl"), ("a שלום", "ltr"), ("", "ltr")]
)
def test_first_letter_decides_the_direction_of_the_field(page: Page, text: str, direction: str) -> None:
    page.fill("#text", text)
    until(lambda: page.evaluate("getComputedStyle(document.getElementById('text')).direction") == direction)
