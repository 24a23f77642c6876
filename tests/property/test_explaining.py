"""Explanations have the ids of `encode`, merges that make them, and changes that give the decoded text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import Tokenizer
from fastbpe.tokenizer.shown.explaining import Explanation, Piece
from helpers.sampling import n_rounds
from helpers.streaming import BITS, NAMES, made
from helpers.text_strategies import texts

some_texts = st.one_of(st.lists(st.sampled_from(BITS), max_size=8).map("".join), texts)


def plain(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def changed(explanation: Explanation) -> str:
    text = explanation.text
    for change in reversed(explanation.changes):
        assert text[change.start : change.end] == change.text != change.decoded
        text = text[: change.start] + change.decoded + text[change.end :]
    return text


@pytest.mark.daily
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=n_rounds(60, 60), deadline=None)
@given(text=some_texts, allowed=st.sampled_from(["all", ()]))
def test_explanation_has_the_ids_of_encode(name: str, text: str, allowed: str | tuple[()]) -> None:
    tokenizer = made(name)
    explanation = tokenizer.explain(text, allowed_special=allowed)
    ids = tokenizer.encode(text, allowed_special=allowed, disallowed_special=())
    assert explanation.ids == ids
    assert explanation.text == plain(text)
    assert changed(explanation) == tokenizer.decode(ids)
    assert [piece.start for piece in explanation.pieces] == sorted(piece.start for piece in explanation.pieces)
    assert str(explanation).count("piece ") >= min(len(explanation.pieces), 50)
    lossless = tokenizer.decode(tokenizer.encode_ordinary(text)) == plain(text)
    assert tokenizer.is_lossless(text) is lossless
    assert lossless is not bool(tokenizer.explain(text).changes)
    for piece in explanation.pieces:
        if piece.kind == "text":
            check_merges(tokenizer, piece)
        else:
            assert piece.merges == ()


def check_merges(tokenizer: Tokenizer, piece: Piece) -> None:
    """Apply the merges to the symbols, each at the first place where both neighbours stand, and compare."""
    merged = tokenizer._merged_tokens
    data = b"".join(merged.tokens[i] for i in piece.ids)
    parts = [c.encode() for c in data.decode()] if merged.in_characters else [bytes([byte]) for byte in data]
    slow = slow_merges(merged.vocabulary, parts)
    assert [tuple(merge) for merge in piece.merges] == slow
    if tokenizer.token_to_id(data) is None or len(piece.ids) > 1:
        for left, right, _ in slow:
            at = next(i for i in range(len(parts)) if parts[i : i + 2] == [left, right])
            parts[at : at + 2] = [left + right]
        assert parts == [merged.tokens[i] for i in piece.ids]


def slow_merges(vocabulary: object, parts: list[bytes]) -> list[tuple[bytes, bytes, int]]:
    """Look at all pairs for each merge."""
    symbols = [(vocabulary.find(part), part) for part in parts]  # type: ignore[attr-defined]
    out = []
    while True:
        found = []
        for at in range(len(symbols) - 1):
            pair = vocabulary.pair(symbols[at][0], symbols[at + 1][0])  # type: ignore[attr-defined]
            if pair is not None:
                found.append((pair[0], at, pair[1]))
        if not found:
            return out
        priority, at, symbol = min(found)
        (_, left), (_, right) = symbols[at : at + 2]
        out.append((left, right, priority))
        symbols[at : at + 2] = [(symbol, left + right)]


def test_pieces_follow_the_split_pattern() -> None:
    tokenizer = made("gpt2")
    text = "It's 5 o'clock<e> ab"
    explanation = tokenizer.explain(text, allowed_special="all")
    spans = [(piece.start, piece.end) for piece in explanation.pieces]
    assert spans == [*tokenizer.pieces("It's 5 o'clock"), (14, 17), (17, 20)]
    assert [piece.kind for piece in explanation.pieces] == ["text"] * 6 + ["special", "text"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("NFKC lower", "ab ２A", [(3, 5, "２A", "2a")]),
        ("codepoint trimming", "ab  ab ", [(3, 4, " ", ""), (6, 7, " ", "")]),
        ("codepoint unknown", "ab 漢 ab", [(3, 4, "漢", " ⁇ ")]),
        ("gpt2", "ab漢", []),
    ],
)
def test_changes_tell_what_is_lost(name: str, text: str, expected: list[tuple[int, int, str, str]]) -> None:
    explanation = made(name).explain(text)
    assert [tuple(change) for change in explanation.changes] == expected
    assert str(explanation).count("lost ") == len(expected)


def test_change_of_a_token_without_text_is_only_that_token() -> None:
    changes = made("codepoint trimming").explain("ab</s>", allowed_special="all").changes
    assert [tuple(change) for change in changes] == [(2, 6, "</s>", "")]


def test_long_piece_is_explained_in_time_of_its_length() -> None:
    text = "ab" * 20_000
    assert made("none").explain(text).ids == made("none").encode(text)
