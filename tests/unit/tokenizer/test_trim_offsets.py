"""Offsets without white space: the spaces that are cut off, and the ones that stay."""

from __future__ import annotations

from typing import Any

import pytest

import fastbpe
import fastbpe.tokenizers as face
from fastbpe.tokenizer.families import trim_offsets
from fastbpe.tokenizer.families.trim_offsets import make_trimmer, trimmer_of
from helpers.tokenizer_json import added, dumped, small

TOKENS = [b"a", b" a", b" ", b"a  ", b"   "]


def trimmed(ids: list[int], spans: list[tuple[int, int]], *, prefixed: bool) -> list[tuple[int, int]]:
    return trimmer_of([prefixed], lambda: TOKENS)(ids, spans, [])


def test_spaces_are_cut_off_both_ends_of_a_token() -> None:
    spans = [(0, 1), (1, 3), (3, 4), (4, 7), (7, 10)]
    assert trimmed([0, 1, 2, 3, 4], spans, prefixed=False) == [(0, 1), (2, 3), (4, 4), (4, 5), (10, 10)]


def test_added_prefix_space_is_not_cut_off_the_first_token() -> None:
    assert trimmed([1, 1], [(0, 1), (1, 3)], prefixed=True) == [(0, 1), (2, 3)]
    assert trimmed([1, 1], [(0, 1), (1, 3)], prefixed=False) == [(1, 1), (2, 3)]
    assert trimmed([4], [(0, 2)], prefixed=True) == [(2, 2)]


def test_added_tokens_are_trimmed_by_their_text() -> None:
    trim = trimmer_of([False], lambda: TOKENS)
    assert trim([7, 1], [(0, 5), (5, 7)], [(0, "\u3000<m>\n"), (1, "a")]) == [(1, 4), (5, 7)]


def test_only_byte_level_with_trim_offsets_makes_a_trimmer() -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    template = {"type": "TemplateProcessing"}
    assert make_trimmer({**byte_level, "trim_offsets": False}, lambda: TOKENS) is None
    assert make_trimmer(template, lambda: TOKENS) is None
    assert make_trimmer({"type": "Sequence", "processors": [template, byte_level]}, lambda: TOKENS) is not None


def test_trimming_survives_saving_and_does_not_affect_truncation() -> None:
    post_processor = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    file = small([added(262, "<m>", lstrip=True, special=True)], post_processor=post_processor)
    tokenizer = fastbpe.load(dumped(file))
    text = "ab a  <m> a"
    expected = ([256, 258, 262, 258], [(0, 2), (3, 4), (6, 9), (10, 11)])
    assert tokenizer.encode_with_offsets(text, allowed_special="all") == expected
    again = tokenizer.with_special_tokens({"<n>": 300})
    assert again.encode_with_offsets(text.encode(), allowed_special="all") == expected
    assert list(tokenizer.chunk("a a a", 1)) == ["a", " a", " a"]


def test_the_face_reads_the_tokens_for_trimming_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of 50,000 tokens would cost 60 ms for each text."""
    made: list[object] = []
    original = trim_offsets.trimmer_of

    def trimmer_of(*args: Any, **options: Any) -> Any:
        made.append(original(*args, **options))
        return made[-1]

    monkeypatch.setattr(trim_offsets, "trimmer_of", trimmer_of)
    tokenizer = face.Tokenizer(face.models.WordPiece({"[UNK]": 0, "Ġa": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = face.pre_tokenizers.ByteLevel()
    tokenizer.post_processor = face.processors.ByteLevel()
    assert [tokenizer.encode(text).offsets for text in ("a a", " a", "  a")] == [
        [(0, 1), (2, 3)], [(0, 2)], [(0, 1), (2, 3)]
    ]  # fmt: skip
    tokenizer.enable_truncation(1)
    assert tokenizer.encode("a a").offsets == [(0, 1)]
    assert len(made) == 1
    tokenizer.no_truncation()
    tokenizer.post_processor = face.processors.ByteLevel(trim_offsets=False)
    assert tokenizer.encode("a a").offsets == [(0, 1), (1, 3)]
