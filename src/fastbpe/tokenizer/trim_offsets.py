"""Offsets without the white space of their tokens, where the post-processor of a tokenizer.json says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastbpe._utils.caching import cached_property
from fastbpe.splitting.charset import blanks

Span = tuple[int, int]

_SPACE = "\u0120"  # what stands for the byte in GPT-2's files


def make_trimmer(post_processor: Mapping[str, Any], tokens: Callable[[], Sequence[bytes]]) -> Trimmer | None:
    """What trims as a tokenizer.json says; None: nothing is trimmed. tokens: as of Trimmer."""
    prefixed = [bool(step.get("add_prefix_space", True)) for step in _steps(post_processor) if _trims(step)]
    return Trimmer(prefixed, tokens) if prefixed else None


def _steps(described: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if described.get("type") != "Sequence":
        return [described]
    return [step for inner in described["processors"] for step in _steps(inner)]


def _trims(step: Mapping[str, Any]) -> bool:
    return step.get("type") in ("ByteLevel", "RobertaProcessing") and step.get("trim_offsets", True) is True


class Trimmer:
    """Trims spans, once for each of `prefixed`: whether a space was put before the text, which is then kept.

    tokens: gives the bytes of each id; it is called when there is need of them.
    """

    def __init__(self, prefixed: Sequence[bool], tokens: Callable[[], Sequence[bytes]]) -> None:
        self._prefixed = prefixed
        self._tokens = tokens

    def __call__(self, ids: Sequence[int], spans: Sequence[Span], found: Sequence[tuple[int, str]]) -> list[Span]:
        """The spans of ids, trimmed. found: (index, what was found) of those that no merging made."""
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
        """How many spaces the tokens that have any at their ends begin and end with."""
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
