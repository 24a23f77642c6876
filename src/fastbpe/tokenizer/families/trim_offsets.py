"""Trimming of white space from the offsets of tokens, as defined by the post-processor of a tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastbpe._core.encode.trim_spans import SpanTrimmer
from fastbpe.splitting.charset import blanks

_SPACE = "\u0120"  # character that represents the byte 0x20 in GPT-2's files


def make_trimmer(
    post_processor: Mapping[str, Any], tokens: Callable[[], Sequence[bytes]], *, shown: bool = False
) -> SpanTrimmer | None:
    """Return the trimmer that a post-processor describes; None if it trims nothing.

    tokens: function that returns the bytes of each id; called for the first text.
    shown: these bytes are the UTF-8 of tokens as spelled in the file, where "Ġ" may stand for a space.
    """
    prefixed = prefixes(post_processor)
    return trimmer_of(prefixed, tokens, shown=shown) if prefixed else None


def prefixes(post_processor: Mapping[str, Any]) -> list[bool]:
    """Return, for each step that trims, its option add_prefix_space; RobertaProcessing may lack both options."""
    return [bool(step.get("add_prefix_space", True)) for step in _steps(post_processor) if _trims(step)]


def trimmer_of(
    prefixed: Sequence[bool], tokens: Callable[[], Sequence[bytes]], *, shown: bool = False
) -> SpanTrimmer:
    """Return a trimmer that trims once per item of `prefixed`. Takes the other arguments of `make_trimmer`."""
    return SpanTrimmer(
        prefixed, (lambda: [*map(_blanks_as_spaces, tokens())]) if shown else tokens, _SPACE + blanks()
    )


def _blanks_as_spaces(token: bytes) -> bytes:
    """Replace each blank at the ends of a token by a space, and all characters between them by a single "."."""
    text = token.decode()
    before, behind = (len(text) - len(strip(_SPACE + blanks())) for strip in (text.lstrip, text.rstrip))
    return b" " * before if before == len(text) else b" " * before + b"." + b" " * behind


def _steps(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if described.get("type") != "Sequence":
        return [described]
    return [step for inner in described["processors"] for step in _steps(inner)]


def _trims(step: Mapping[str, Any]) -> bool:
    return step.get("type") in ("ByteLevel", "RobertaProcessing") and bool(step.get("trim_offsets", True))
