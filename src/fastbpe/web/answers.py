"""Answers to the requests of the page, as plain data: tokens of texts, chats and words, and pages to share."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.display import html
from fastbpe.display.layout import Details, parts_of
from fastbpe.display.shown_text import show
from fastbpe.display.shown_tokens import KnownTokens, ShownToken, sizes_of
from fastbpe.display.visible import Part, visible
from fastbpe.tokenizer.shown.merging_shown import MergedPiece, merged_pieces
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.web.own_templates import OwnTemplate, render
from fastbpe.web.shelf import Entry
from fastbpe.web.template_messages import ChatTemplate, Message

MAX_NAMED = 20  # special tokens of a text that are named; the same for added tokens
MAX_DRAWN = 2000  # characters of a token that are drawn, and bytes that are listed
_PARTS_A_WRITE = 4096  # parts of a page to share (about one per token) that are sent at a time


class Sizes(NamedTuple):
    """Number of tokens of one text, by how far the text is trusted.

    trusted: number if special and added tokens in the text become their ids.
    text: number if special tokens are ordinary text, but added tokens become their ids.
    untrusted: number if both are ordinary text, as in an untrusted part of `encode_parts`.
    """

    trusted: int
    text: int
    untrusted: int


def encoded(entries: Sequence[Entry], text: str, *, special: bool) -> bytes:
    """Encode a text with each tokenizer, and return a header in JSON followed by arrays.

    The header's length comes first, as a little-endian uint32; spaces pad the header to a multiple of 4 bytes. For
    each tokenizer, three arrays follow: the ids; the distances between the starts of tokens, the first from 0; and
    the lengths of the tokens. Distances and lengths are in UTF-16 code units. `widths` in the header has the
    bytes per number of each array: 1, 2 or 4. Zeros pad an array to a multiple of 4 bytes.

    Args:
        entries: the tokenizers.
        text: the text.
        special: special tokens in the text become their ids.
    """
    n_characters, n_bytes = sizes_of(text)
    head: dict[str, Any] = {"n_characters": n_characters, "n_bytes": n_bytes, "texts": []}
    arrays: list[bytes] = []
    for entry in entries:
        ids, spans = entry.tokenizer.encode_with_offsets(
            text, allowed_special="all" if special else (), disallowed_special=(), unit="utf16", as_numpy=True
        )
        starts, ends = spans[:, 0], spans[:, 1]
        packed = [_packed(numbers) for numbers in (ids, np.diff(starts, prepend=0), ends - starts)]
        widths = [width for width, _ in packed]
        trust = _trust(entry.tokenizer, text)
        head["texts"].append({"key": entry.key, "n_tokens": len(ids), "widths": widths, **trust})
        arrays += [data for _, data in packed]
    header = json.dumps(head).encode()
    header += b" " * (-len(header) % 4)
    return b"".join([struct.pack("<I", len(header)), header, *arrays])


def _packed(numbers: npt.NDArray[Any]) -> tuple[int, bytes]:
    """Return the bytes per number, and the numbers, padded with zeros to a multiple of four bytes.

    All numbers have the same width: 1, 2 or 4 bytes, as few as the largest needs; 4 if one is negative, which
    is then stored modulo 2**32.
    """
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (0, 0)
    width = 4 if low < 0 or high >= 1 << 16 else 2 if high >= 1 << 8 else 1
    data = numbers.astype(f"<u{width}").tobytes()
    return width, data + bytes(-len(data) % 4)


def _trust(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """Find the special and added tokens in a text; if it has any, count the tokens for each of `Sizes`."""
    ids = tokenizer.encode_to_numpy(text, allowed_special="all")
    special = tokenizer.special_tokens
    added = {token.content: token.id for token in tokenizer.added_tokens if not token.special}
    found = {kind: _found(ids, named) for kind, named in (("special", special), ("added", added))}
    if not any(found.values()):
        return {"found": found, "sizes": None}
    sizes = Sizes(len(ids), tokenizer.count(text), len(tokenizer.encode_parts([(text, False)])))
    return {"found": found, "sizes": sizes._asdict()}


def _found(ids: npt.NDArray[np.uint32], named: dict[str, int]) -> list[dict[str, Any]]:
    """Count how often tokens occur in a text: the first MAX_NAMED that do, by id.

    Args:
        ids: ids of the text.
        named: names and ids of the tokens to look for.
    """
    names = {token_id: name for name, token_id in named.items()}
    numbers, counts = np.unique(ids[np.isin(ids, [*names])], return_counts=True)
    return [{"name": visible_name(names[int(i)]), "count": int(n)} for i, n in zip(numbers, counts, strict=True)][
        :MAX_NAMED
    ]


def visible_name(name: str) -> str:
    """Return the name of a token with every character visible.

    >>> visible_name("<a b>")
    '<a·b>'
    """
    return "".join(part.text for part in visible(name.encode("utf-8", "replace")))


def tokens(tokenizer: Tokenizer, wanted: Iterable[tuple[int, str | None]]) -> list[dict[str, Any]]:
    """Describe tokens so that the page can draw them.

    Args:
        tokenizer: the tokenizer.
        wanted: ids; for the unknown token, also the text that it replaces.

    Raises:
        InvalidTokenError: an id has no token.
    """
    known = KnownTokens(tokenizer)
    return [_drawn(known.shown(token_id, source=source)) for token_id, source in wanted]


def _drawn(token: ShownToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "kind": token.kind,
        "parts": pairs(parts_of(token)),
        "hex": token.bytes[:MAX_DRAWN].hex(" ") + (" …" if len(token.bytes) > MAX_DRAWN else ""),
        "ends_line": b"\n" in token.bytes,
        "is_superword": token.kind == "superword",
    }


def pairs(parts: Iterable[Part], at_most: int = MAX_DRAWN) -> list[tuple[str, bool]]:
    """Return visible parts for JSON, shortened: a token from training without a split pattern can have megabytes.

    Args:
        parts: the parts.
        at_most: maximum number of characters; "…" replaces the rest.

    >>> pairs([Part("ab", False), Part("·", True), Part("cd", False)], 4)
    [('ab', False), ('·', True), ('c', False), ('…', True)]
    """
    found: list[tuple[str, bool]] = []
    for text, is_sign in parts:
        if len(text) > at_most:
            return [*found, *([(text[:at_most], is_sign)] if at_most else []), ("…", True)]
        found.append((text, is_sign))
        at_most -= len(text)
    return found


def chat(
    tokenizer: Tokenizer, template: ChatTemplate | OwnTemplate, messages: Sequence[Message]
) -> dict[str, Any]:
    """Encode a conversation. Special tokens in a message stay text, unless the template changes the messages.

    Args:
        tokenizer: the tokenizer.
        template: the form of the prompt, or the model's own chat template.
        messages: the messages.

    Returns:
        ids, n_tokens: ids of the prompt, and their number.
        n_content: number of tokens of the messages, each encoded by itself.
        n_control: number of special tokens in the prompt.
        n_forged: number of further special tokens if the messages were trusted, too.
        missing: special tokens of the template that the tokenizer lacks.
        is_mixed: as in `own_templates.Rendered`.

    Raises:
        ValueError: the model's template refuses the messages, or exceeds its limits.
    """
    is_mixed, needed = False, tuple[str, ...]()
    if isinstance(template, OwnTemplate):
        parts, is_mixed = render(template, messages)
    else:
        parts, needed = template.render(messages), template.special_tokens
    ids = tokenizer.encode_parts(parts)
    trusting = tokenizer.encode("".join(text for text, _ in parts), allowed_special="all")
    special = tokenizer.special_tokens
    return {
        "ids": ids,
        "n_tokens": len(ids),
        "n_content": sum(len(tokenizer.encode_parts([part])) for part in parts if not part[1]),
        "n_control": _n_special(tokenizer, ids),
        "n_forged": _n_special(tokenizer, trusting) - _n_special(tokenizer, ids),
        "missing": [visible_name(name) for name in needed if name not in special],
        "is_mixed": is_mixed,
    }


def _n_special(tokenizer: Tokenizer, ids: Iterable[int]) -> int:
    special = {*tokenizer.special_tokens.values()}
    return sum(token_id in special for token_id in ids)


def word(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """Return the merges of a short text, step by step.

    Args:
        tokenizer: the tokenizer.
        text: the text.
    """
    pieces = merged_pieces(tokenizer, text)
    ids = tokenizer.encode_ordinary(text)
    ends = [data for piece in pieces for data in _end(tokenizer, piece)]
    return {
        "pieces": [
            {
                "symbols": [pairs(visible(symbol)) for symbol in piece.symbols],
                "merges": [{**merge._asdict(), "token": pairs(visible(merge.token))} for merge in piece.merges],
                "whole": piece.whole,
            }
            for piece in pieces
        ],
        "ids": ids,
        "agrees": ends == [tokenizer.id_to_token(token_id) for token_id in ids],
    }


def _end(tokenizer: Tokenizer, piece: MergedPiece) -> list[bytes]:
    """Return the tokens of a piece: the whole piece if it is a token, else its symbols after the last merge."""
    if piece.whole is not None:
        return [tokenizer.id_to_token(piece.whole)]
    symbols = [*piece.symbols]
    for merge in piece.merges:
        symbols[merge.at : merge.at + 2] = [merge.token]
    return symbols


def page(entries: Sequence[Entry], text: str, *, special: bool) -> Iterator[bytes]:
    """Yield a self-contained page to share: the tokens of the text for each tokenizer.

    Only the tokens of one tokenizer, and a part of the page, are in memory at a time.

    Args:
        entries: the tokenizers.
        text: the text.
        special: special tokens in the text become their ids.
    """
    allowed = "all" if special else ()
    shown_texts = ((entry.name, show(entry.tokenizer, text, allowed_special=allowed)) for entry in entries)
    blocks = (html.Block(name, shown.summary, shown.tokens) for name, shown in shown_texts)
    parts = html.page(blocks, Details())
    while block := "".join(islice(parts, _PARTS_A_WRITE)):
        yield block.encode()
