"""Pieces as stages leave them, with the characters that they come from."""

from __future__ import annotations

import json

import fastbpe
from fastbpe._core.encode.offsets import changed_pieces, piece_texts, traced_piece
from fastbpe.splitting.changing_steps import make_stages

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}


def test_each_character_has_the_place_of_the_one_it_comes_from() -> None:
    splitter, stages, _ = make_stages([METASPACE])
    assert stages is not None
    assert changed_pieces(splitter, stages, "é ab", True) == [("▁é", [0, 0]), ("▁ab", [1, 2, 3])]
    assert changed_pieces(splitter, stages, "é ab", False) == [("é", [0]), ("▁ab", [1, 2, 3])]
    assert changed_pieces(splitter, stages, "", True) == []
    splitter, stages, _ = make_stages([BYTE_LEVEL])
    assert stages is not None
    assert changed_pieces(splitter, stages, "é 漢", True) == [("ĠÃ©", [0, 0, 0]), ("Ġæ¼¢", [1, 2, 2, 2])]


def loaded(**parts: object) -> fastbpe.Tokenizer:
    model = {
        "type": "BPE",
        "vocab": {"a": 0, "b": 1, "b.": 2, "<0x2E>": 3},
        "merges": [],
        "end_of_word_suffix": ".",
    }
    document = {"version": "1.0", "normalizer": None, "pre_tokenizer": None, "decoder": None, **parts}
    made: fastbpe.Tokenizer = fastbpe.load(
        json.dumps({**document, "model": {**model, "byte_fallback": True}}).encode()
    )
    made.encode("a")
    return made


def test_texts_of_pieces_are_normalized_and_changed() -> None:
    tokenizer = loaded(normalizer={"type": "Lowercase"}, pre_tokenizer=METASPACE)
    assert piece_texts(tokenizer._pipeline, "AB É", None) == ["▁ab", "▁é"]
    assert piece_texts(tokenizer._pipeline, "", None) == []
    tokenizer = loaded(pre_tokenizer={"type": "WhitespaceSplit"})
    assert piece_texts(tokenizer._pipeline, " ab  é ", None) == ["ab", "é"]


def test_tokens_are_among_the_texts_of_pieces() -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    tokens = [
        {"id": 4, "content": "X", "normalized": False, **flags},
        {"id": 5, "content": "Y", "normalized": True, **flags},
    ]
    tokenizer = loaded(normalizer={"type": "Lowercase"}, pre_tokenizer=METASPACE, added_tokens=tokens)
    finder, _ = tokenizer._special.choose("all", ())
    assert piece_texts(tokenizer._pipeline, "AB XyA X", finder) == ["▁ab", "▁", "X", "y", "a", "▁", "X"]
    assert piece_texts(tokenizer._pipeline, "YaX", finder) == ["y", "a", "X"]


def test_places_of_tokens_count_the_bytes_of_a_suffix() -> None:
    pipeline = loaded()._pipeline
    assert traced_piece(pipeline, "ab") == [(0, 0, 1), (2, 1, 2)]
    assert traced_piece(pipeline, "a.") == [(0, 0, 1), (3, 1, 2), (3, 2, 3)]
    assert traced_piece(pipeline, "") == []
