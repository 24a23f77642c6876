"""Trim white space off the offsets of tokens, as the post-processor of a tokenizer.json asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastbpe._utils.caching import cached_property
from fastbpe.splitting.charset import blanks

Span = tuple[int, int]

_SPACE = "\u0120"  # character that stands for the byte 0x20 in GPT-2's files


def make_trimmer(post_processor: Mapping[str, Any], tokens: Callable[[], Sequence[bytes]]) -> Trimmer | None:
    """Make the Trimmer that a post-processor describes; None if it trims nothing.

    Args:
        post_processor: part of a tokenizer.json.
        tokens: as in Trimmer.
    """
    prefixed = [bool(step.get("add_prefix_space", True)) for step in _steps(post_processor) if _trims(step)]
    return Trimmer(prefixed, tokens) if prefixed else None


def _steps(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if described.get("type") != "Sequence":
        return [described]
    return [step for inner in described["processors"] for step in _steps(inner)]


def _trims(step: Mapping[str, Any]) -> bool:
    return step.get("type") in ("ByteLevel", "RobertaProcessing") and step.get("trim_offsets", True) is True


class Trimmer:
    """Function that trims spans, once for each post-processor that trims.

    Args:
        prefixed: for each of these, True if a space was put before the text; the first token then keeps one space.
        tokens: function that gives the bytes of each id; called at the first text.
    """

    def __init__(self, prefixed: Sequence[bool], tokens: Callable[[], Sequence[bytes]]) -> None:
        self._prefixed = prefixed
        self._tokens = tokens

    def __call__(self, ids: Sequence[int], spans: Sequence[Span], found: Sequence[tuple[int, str]]) -> list[Span]:
        """Give the trimmed spans.

        Args:
            ids: the ids of a text.
            spans: the (start, end) of each.
            found: (index, text) of the ids that are special or added tokens.
        """
        counts = {index: _blanks_of(text) for index, text in found}
        blanks = self._blanks
        out = [*spans]
        for i, token_id in enumerate(ids):
            if i in counts or token_id in blanks:
                n_before, n_behind = counts[i] if i in counts else blanks[token_id]
                for prefixed in self._prefixed:
                    out[i] = _trimmed(out[i], n_before, n_behind, keeps_one=prefixed and (i == 0 or not out[i][0]))
        return out

    @cached_property
    def _blanks(self) -> Mapping[int, tuple[int, int]]:
        """Map of ids to (spaces at the beginning, spaces at the end) of tokens with any."""
        return {
            token_id: (len(token) - len(token.lstrip(b" ")), len(token) - len(token.rstrip(b" ")))
            for token_id, token in enumerate(self._tokens())
            if token[:1] == b" " or token[-1:] == b" "
        }


def _trimmed(span: Span, n_before: int, n_behind: int, *, keeps_one: bool) -> Span:
    start, end = span
    if not (keeps_one and n_before == 1):
        start = min(start + n_before, end)
    return start, max(end - n_behind, start) if end >= n_behind else end


def _blanks_of(text: str) -> tuple[int, int]:
    left_out = _SPACE + blanks()
    return len(text) - len(text.lstrip(left_out)), len(text) - len(text.rstrip(left_out))
