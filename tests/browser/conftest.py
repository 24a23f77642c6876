"""The page in a real browser: Chromium, driven by Playwright. Without either, the tests skip and say why."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator

import pytest

import fastbpe
from fastbpe import Tokenizer
from helpers.shared_data import standard_library

pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install '.[browser]'")

from playwright.sync_api import Browser, Page, sync_playwright

from fastbpe.web.own_templates import OwnTemplate
from fastbpe.web.server import WebServer

PATIENCE = 300_000  # milliseconds
NAMES = ("chromium", "chromium-browser", "google-chrome")

OWN = OwnTemplate("{% for one in messages %}<{{ one.role }}>{{ one.content | trim }}{% endfor %}", {})
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window.

    It ends with its module: while it runs, no other test of this thread can run an event loop.
    """
    path = os.environ.get("FASTBPE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium, or set FASTBPE_CHROMIUM to its path")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox refuses root
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, chromium_sandbox=not is_root, timeout=PATIENCE, args=["--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Tokenizer]:
    """Five small tokenizers of both modes, one with the special tokens of ChatML."""
    text = [standard_library(60_000)]
    chat = {"<|im_start|>": 1000, "<|im_end|>": 1001}
    return {
        "code": fastbpe.train(text, vocab_size=900, pattern="cl100k", progress=False).with_special_tokens(chat),
        "small": fastbpe.train(text, vocab_size=400, pattern="gpt2", progress=False),
        "unsplit": fastbpe.train(text, vocab_size=500, pattern=None, progress=False).with_tokens(["<think>"]),
        "points": fastbpe.train(
            text, mode="codepoint", vocab_size=500, byte_fallback=True, character_coverage=1.0, progress=False
        ),
        "bytes": Tokenizer.from_merges([], pattern=None),
    }


@pytest.fixture(scope="module")
def address(tokenizers: dict[str, Tokenizer]) -> Iterator[str]:
    """Address of a running server. It ends with its module: tests that refuse memory would break its thread."""
    server = WebServer(tokenizers.items(), templates={"small": OWN})
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server.address
    server.stop()
    thread.join()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Function that opens the page. Errors on its console, refusals of its policy among them, fail the test."""
    contexts, errors = [], []

    def begin(
        *, width: int = 1200, height: int = 800, scheme: str = "light", path: str = "", **options: object
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            permissions=["clipboard-read", "clipboard-write"],
            **options,
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + path)
        page.wait_for_selector("body[data-ready]")
        return page

    yield begin
    for context in contexts:
        context.close()
    # Chromium also reports the answers 400, which tests ask for.
    assert [error for error in errors if "responded with a status of 400" not in error] == []


@pytest.fixture
def page(open_page: Open) -> Page:
    return open_page()
