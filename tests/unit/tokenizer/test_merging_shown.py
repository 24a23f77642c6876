"""Merges shown one after another end with the tokens of encode."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbpe
from fastbpe import Tokenizer
from fastbpe.model import PieceType
from fastbpe.tokenizer.shown.merging_shown import MergedPiece, merged_pieces
from helpers.codepoint_models import model_of, rules_that_cut_characters
from helpers.shared_data import BYTES, corpus, data_file, published

#: "ab", "abc" and "bcab" by ranks; "bcab" is not a result of merging "bcab", but a piece that is found whole.
BY_RANKS = Tokenizer.from_ranks(BYTES | {b"ab": 256, b"abc": 257, b"bcab": 258, b" a": 259}, pattern="gpt2")
POINTS = fastbpe.train(
    ["ab abc label bald ladle deed"] * 3, mode="codepoint", vocab_size=26, hard_vocab_limit=False, progress=False
)
BY_MERGES = Tokenizer.from_merges([(97, 98), (98, 99), (256, 257)], pattern=None)


def replayed(piece: MergedPiece) -> list[bytes]:
    """Return the tokens that the merges of a piece end with; each has to be made of its two neighbours."""
    tokens = [*piece.symbols]
    for merge in piece.merges:
        assert tokens[merge.at] + tokens[merge.at + 1] == merge.token
        tokens[merge.at : merge.at + 2] = [merge.token]
    return tokens


def ends(tokenizer: Tokenizer, text: str) -> list[bytes]:
    found = []
    for piece in merged_pieces(tokenizer, text):
        tokens = replayed(piece)
        found += tokens if piece.whole is None else [tokenizer.id_to_token(piece.whole)]
    return found


@pytest.mark.parametrize("tokenizer", [BY_RANKS, BY_MERGES], ids=["ranks", "merges"])
@given(text=st.text(st.sampled_from("abc é\n1"), max_size=20))
def test_merges_end_with_the_tokens_of_encode(tokenizer: Tokenizer, text: str) -> None:
    assert ends(tokenizer, text) == [tokenizer.id_to_token(i) for i in tokenizer.encode_ordinary(text)]


@given(text=st.text(st.sampled_from("abcdel \n"), max_size=20))
def test_merges_of_characters_end_with_the_pieces_of_encode(text: str) -> None:
    assert ends(POINTS, text) == [POINTS.id_to_token(i) for i in POINTS.encode_ordinary(text)]


def test_rules_that_cut_characters_make_them_unknown() -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"a", 0.0, PieceType.NORMAL), (b"b", 0.0, PieceType.NORMAL)]
    normalizer = {"precompiled_charsmap": rules_that_cut_characters(), "add_dummy_prefix": False}
    tokenizer = fastbpe.load(model_of(pieces, normalizer=normalizer))
    assert [piece.symbols for piece in merged_pieces(tokenizer, "axb")] == [[b"a"], ["\ufffd".encode()], [b"b"]]


def test_piece_that_is_a_token_says_so() -> None:
    (piece,) = merged_pieces(BY_RANKS, "bcab")
    assert (piece.whole, replayed(piece)) == (258, [b"b", b"c", b"ab"])


def test_priority_of_a_merge_is_its_place_in_the_order() -> None:
    (piece,) = merged_pieces(BY_MERGES, "abbc")
    assert [(merge.id, merge.priority) for merge in piece.merges] == [(256, 0), (257, 1), (258, 2)]


def test_surrogates_and_empty_texts_are_texts() -> None:
    assert merged_pieces(BY_RANKS, "") == []
    assert ends(BY_MERGES, "a\ud800") == [b"a", b"\xef", b"\xbf", b"\xbd"]
    assert ends(BY_MERGES, "\ud83d\ude00") == [b"\xf0", b"\x9f", b"\x98", b"\x80"]


@pytest.mark.parametrize("name", ["cl100k_base", "llama3", "qwen2"])
def test_published_vocabularies_end_with_the_tokens_of_encode(name: str) -> None:
    tokenizer = published(name)
    for line in corpus("multilingual.txt", 40_000).split("\n")[:150]:
        line = line[:60]
        assert ends(tokenizer, line) == [tokenizer.id_to_token(i) for i in tokenizer.encode_ordinary(line)]


@pytest.mark.daily
@pytest.mark.parametrize("file", ["llama2_tokenizer.model", "phi3_mini_tokenizer.json"])
def test_published_code_point_models_end_with_the_pieces_of_encode(file: str) -> None:
    tokenizer = fastbpe.load(data_file("vocab", file))
    for line in corpus("english.txt", 20_000).split("\n")[:150]:
        line = line[:60].encode("ascii", "ignore").decode()
        assert ends(tokenizer, line) == [tokenizer.id_to_token(i) for i in tokenizer.encode_ordinary(line)]
