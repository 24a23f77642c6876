"""Tokens as HTML: a fragment for notebooks, and a self-contained page.

Every character of a user's text goes through `visible` and then `html.escape`. A `<bdi>` around each token
confines right-to-left text to its token. There is no script, and the page's policy allows none.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.plurals import counted
from fastbpe.display.layout import N_COLOURS, Details, details_of, parts_of
from fastbpe.display.shown_tokens import KINDS, ShownToken, ids_of
from fastbpe.display.visible import visible_text

STYLE = """\
.fastbpe-tokens{font:15px/1.9 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
.fastbpe-tokens bdi{padding:.15em 0;color:#000;border-radius:2px}
.fastbpe-tokens .c0{background:#afd7ff}.fastbpe-tokens .c1{background:#ffffaf}
.fastbpe-tokens .c2{background:#c3bfe0}.fastbpe-tokens .c3{background:#ffbf73}
.fastbpe-tokens i{font-style:normal;color:color-mix(in srgb,currentcolor 82%,transparent)}
.fastbpe-tokens .byte{text-decoration:underline dotted}
.fastbpe-tokens .superword{font-style:italic;box-shadow:inset 0 -2px currentcolor}
.fastbpe-tokens .special{background:#5f0087;color:#fff}.fastbpe-tokens .added{background:#005f87;color:#fff}
.fastbpe-tokens .unknown{background:#870000;color:#fff}
.fastbpe-tokens .cell{display:inline-block;vertical-align:top;margin:0 .3em .4em 0;line-height:1.3}
.fastbpe-tokens small{display:block;font-size:.75em}
@media(prefers-color-scheme:dark){
.fastbpe-tokens bdi{color:#fff}
.fastbpe-tokens .c0{background:#1d5080}.fastbpe-tokens .c1{background:#6b5d00}
.fastbpe-tokens .c2{background:#55478a}.fastbpe-tokens .c3{background:#8a4a12}
.fastbpe-tokens .special{background:#d7a8ff;color:#000}.fastbpe-tokens .added{background:#8fd7ff;color:#000}
.fastbpe-tokens .unknown{background:#ffb3b3;color:#000}}
"""
_PAGE_STYLE = """\
:root{color-scheme:light dark}
body{max-width:70em;margin:0 auto;padding:1em;font-family:system-ui,sans-serif;overflow-wrap:anywhere}
h2{font-size:1em;margin:1.5em 0 .3em}
details{font-size:.85em}
"""
MAX_NOTEBOOK_TOKENS = 20_000  # tokens that a notebook's cell shows; a browser draws more of them slowly


class Block(NamedTuple):
    """One text, encoded by one tokenizer.

    title: str – names of the tokenizer and the text.
    summary: str – counts of tokens, characters and bytes.
    tokens: the tokens.
    """

    title: str
    summary: str
    tokens: Sequence[ShownToken]


def fragment(tokens: Sequence[ShownToken], details: Details, summary: str) -> str:
    """Return HTML for a notebook: the tokens with their style. Tokens beyond MAX_NOTEBOOK_TOKENS are left out."""
    left_out = len(tokens) - MAX_NOTEBOOK_TOKENS
    more = f"<p>{counted(left_out, 'token')} more</p>" if left_out > 0 else ""
    shown = "".join(_tokens(islice(tokens, MAX_NOTEBOOK_TOKENS), details))
    return f"<style>{STYLE}</style><p>{_escape(summary)}</p><div {_FRAME}>{shown}</div>{more}"


def page(blocks: Iterable[Block], details: Details, title: str = "Tokens") -> Iterator[str]:
    """Yield a whole HTML page in parts, one block below another."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{_escape(title)}</title>\n<style>\n{_PAGE_STYLE}{STYLE}</style></head>\n"
        f"<body><main><h1>{_escape(title)}</h1>\n{_legend()}\n"
    )
    for block in blocks:
        yield f"<section><h2>{_escape(block.title)}</h2><p>{_escape(block.summary)}</p>\n<div {_FRAME}>"
        yield from _tokens(block.tokens, details)
        ids = ", ".join(map(str, ids_of(block.tokens)))
        yield f"</div>\n<details><summary>ids</summary><code>[{ids}]</code></details></section>\n"
    yield "</main></body></html>\n"


_FRAME = 'class="fastbpe-tokens" dir="ltr"'


def _legend() -> str:
    marked = [
        f'<bdi class="{kind}">{_escape(meaning)}</bdi>' for kind, meaning in KINDS.items() if kind != "ordinary"
    ]
    return f"<p {_FRAME}>{' '.join(marked)}</p>"


def _tokens(tokens: Iterable[ShownToken], details: Details) -> Iterator[str]:
    for number, token in enumerate(tokens):
        shown = "".join(
            f"<i>{html.escape(text)}</i>" if is_sign else html.escape(text) for text, is_sign in parts_of(token)
        )
        title = f"id {token.id}, characters {token.start} to {token.end}, bytes {token.bytes.hex(' ')}"
        if token.kind != "ordinary":
            title += f", {KINDS[token.kind]}"
        cell = f'<bdi class="c{number % N_COLOURS} {token.kind}" title="{title}">{shown}</bdi>'
        if any(details):
            below = "".join(f"<small>{text}</small>" for text in details_of(token, details))
            cell = f'<span class="cell">{cell}{below}</span>'
        # A line ends after the token, because the style keeps line feeds (pre-wrap).
        yield cell + ("\n" if b"\n" in token.bytes else "")


def _escape(text: str) -> str:
    return html.escape(visible_text(text))
