"""Measure how long the page of `fastbpe web` takes from a key to the colours of the new text.

    python tools/page_latency.py -m o200k_base [-m MODEL...] [--text FILE] [--keys N]

For texts of 100 KB and 1 MB, with the first tokenizer alone and with all (up to four), it presses a key N times at
the end of the text, with the end of each panel in view. A time goes from the key's event to the frame in which
each panel has been drawn anew; the median and the longest are printed. Without --text the text is Python's
standard library. Needs the extra [browser] and Chromium.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from screenshots import chromium, page_of

SIZES = (100_000, 1_000_000)  # bytes
FILL = """(text) => {
  const field = document.getElementById("text");
  field.value = text;
  field.dispatchEvent(new Event("input"));
  field.focus();
  field.setSelectionRange(text.length, text.length);
}"""
SHOW_ENDS = """() => {
  for (const view of document.querySelectorAll(".panel .view")) view.scrollTop = view.scrollHeight;
}"""
WATCH = """() => {
  window.took = new Promise((resolve) => {
    addEventListener("keydown", (event) => {
      const drawn = [...document.querySelectorAll(".panel .view > :nth-child(2)")].map((part) =>
        new Promise((done) => new MutationObserver(done).observe(part, { childList: true })));
      Promise.all(drawn).then(() =>
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - event.timeStamp))));
    }, { once: true, capture: true });
  });
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "-m", "--model", action="append", required=True, help="a tokenizer; repeatable, up to four"
    )
    parser.add_argument("--text", type=Path, help="text to type into (default: Python's standard library)")
    parser.add_argument("--keys", type=int, default=20, help="keys to press (default: 20)")
    chosen = parser.parse_args()
    text = chosen.text.read_bytes() if chosen.text else library()
    with sync_playwright() as driver:
        browser = chromium(driver)
        for size in SIZES:
            for models in dict.fromkeys([(chosen.model[0],), tuple(chosen.model[:4])]):
                with page_of(browser, list(models), width=1200, height=860, scheme="light") as page:
                    took = measured(page, text[:size].decode(errors="ignore"), chosen.keys)
                median, longest = statistics.median(took), max(took)
                print(f"{size // 1000:,} KB, {len(models)} tokenizers: {median:.0f} ms, at most {longest:.0f} ms")
        browser.close()
    return 0


def measured(page: Page, text: str, n_keys: int) -> list[float]:
    """Press a key at the end of a text, and return the milliseconds of each."""
    page.evaluate(FILL, text)
    said = f"{len(text):,} characters"
    page.locator("#sizes", has_text=said).wait_for()
    page.wait_for_timeout(2000)  # for all panels to draw the text
    page.evaluate(SHOW_ENDS)
    page.wait_for_timeout(500)  # for its end, which a panel draws once it is in view
    took = []
    for _ in range(n_keys):
        page.evaluate(WATCH)
        page.keyboard.press("x")
        took.append(float(page.evaluate("window.took")))
        page.wait_for_timeout(100)
    return took


def library() -> bytes:
    """Return Python's standard library as one text."""
    return b"".join(path.read_bytes() for path in sorted(Path(os.__file__).parent.glob("*.py")))


if __name__ == "__main__":
    sys.exit(main())
