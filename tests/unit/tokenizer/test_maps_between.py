"""Tokenizer.id_map: tokens that two tokenizers share, and the ids that spell the others."""

from __future__ import annotations

import pytest

import fastbpe
from fastbpe import IdMap, Tokenizer
from fastbpe.model import AddedToken, Model, PieceType
from fastbpe.vocabularies.between import Entry, map_between
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES, data_file

numpy = pytest.importorskip("numpy")

MERGED = BYTES | {b"ab": 256, b"abc": 257}


def code_points(*pieces: str, byte_fallback: bool = False) -> Tokenizer:
    listed = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL)]
    if byte_fallback:
        listed += [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
    listed += [(piece.encode(), -float(i), PieceType.NORMAL) for i, piece in enumerate(pieces)]
    return fastbpe.load(model_of(listed, {"byte_fallback": byte_fallback}))


def byte_level(tokens: dict[bytes, int], *added: AddedToken, special: dict[str, int] | None = None) -> Tokenizer:
    listed = [b""] * (max(tokens.values()) + 1)
    for token, token_id in tokens.items():
        listed[token_id] = token
    special = {**(special or {}), **{token.content: token.id for token in added if token.special}}
    return Tokenizer(Model(tokens=listed, pattern=None, special_tokens=special, added_tokens=added))


@pytest.mark.parametrize(
    "tokenizer",
    [
        byte_level(MERGED, special={"<x>": 300, "<y>": 290}),
        byte_level(MERGED, AddedToken("<a>", 258), AddedToken("ab", 256), AddedToken("<s>", 270, special=True)),
        code_points("ab", "\u2581ab", "a", "b"),
        code_points("ab", "a", "b", "\u2581", byte_fallback=True),
    ],
)
def test_map_of_a_tokenizer_to_itself_is_the_identity(tokenizer: Tokenizer) -> None:
    n = tokenizer.n_vocab
    assert tokenizer.id_map(tokenizer) == IdMap(n, range(n))


def test_tokens_are_found_by_their_bytes_for_any_ids() -> None:
    old = byte_level(MERGED, special={"<x>": 258})
    new = byte_level(BYTES | {b"abc": 257, b"ab": 258}, special={"<x>": 256})
    assert new.id_map(old).new_to_old.tolist()[256:] == [258, 257, 256]


def test_name_and_text_of_the_same_bytes_are_different_tokens() -> None:
    old = byte_level(MERGED)
    new = byte_level(BYTES, special={"abc": 256})
    id_map = new.id_map(old)
    assert id_map.new_to_old[256] == -1
    assert id_map.init_from[256] == (257,)


def test_new_token_starts_from_the_merged_ids_of_its_bytes() -> None:
    old = byte_level(MERGED)
    new = byte_level(MERGED | {b"abab": 258, b"\xe3\x81": 259}, special={"<abc>": 260})
    assert new.id_map(old).init_from[258:] == ((256, 256), (0xE3, 0x81), (60, 257, 62))


def test_bytes_that_the_old_vocabulary_lacks_start_from_nothing() -> None:
    old = Tokenizer(Model(tokens=[b"a"], pattern=None, special_tokens={}, drops_bytes=True))
    new = Tokenizer(Model(tokens=[b"a", b"b", b"ab"], pattern=None, special_tokens={}, drops_bytes=True))
    assert new.id_map(old).init_from == ((0,), (), (0,))


def test_gap_keeps_its_row_only_if_both_have_it() -> None:
    old = byte_level(MERGED, special={"<x>": 260})
    new = byte_level(MERGED, special={"<x>": 259, "<y>": 262})
    assert new.id_map(old).new_to_old.tolist()[258:] == [258, 260, -1, -1, -1]
    assert new.id_map(old).init_from[260] == ()


def test_piece_starts_from_the_merged_ids_of_its_characters() -> None:
    old = code_points("ab", "\u2581ab", "a", "b", "\u2581")
    new = code_points("\u2581aba", "ab", "\u2581ab", "a", "b", "\u2581", "x", "xa")
    id_map = new.id_map(old)
    assert id_map.new_to_old.tolist() == [0, 1, -1, 2, 3, 4, 5, 6, -1, -1]
    assert id_map.init_from[2] == (3, 4)
    assert id_map.init_from[8] == ()  # the unknown id says nothing
    assert id_map.init_from[9] == (4,)


def test_new_character_starts_from_its_bytes_where_they_are_pieces() -> None:
    old = code_points("a", byte_fallback=True)
    new = code_points("a", "é", byte_fallback=True)
    assert new.id_map(old).init_from[-1] == (2 + 0xC3, 2 + 0xA9)
    assert code_points("a", "é").id_map(code_points("a")).init_from[-1] == ()


def test_byte_piece_starts_from_its_character() -> None:
    new = code_points("a", "é", byte_fallback=True)
    id_map = new.id_map(code_points("a", "é"))
    assert id_map.init_from[2 + ord("a")] == (2,)
    assert id_map.init_from[2 + 0xC3] == ()


def test_maps_lead_across_modes() -> None:
    of_bytes = byte_level(BYTES | {b" ab": 256, "é".encode(): 257}, special={"<s>": 258})
    of_characters = code_points("\u2581ab", "\u2581a", "é", "a", "b", "\u2581", byte_fallback=True)
    first = 2 + 256
    id_map = of_characters.id_map(of_bytes)
    assert id_map.new_to_old.tolist()[first:] == [256, -1, 257, ord("a"), ord("b"), ord(" ")]
    assert id_map.new_to_old[1] == 258
    assert id_map.init_from[first + 1] == (ord(" "), ord("a"))
    assert id_map.init_from[2 + 0xC3] == (0xC3,)
    back = of_bytes.id_map(of_characters)
    assert back.new_to_old.tolist()[256:] == [first, first + 2, 1]
    assert back.init_from[0xC3] == (2 + 0xC3,)


TEXT, NAME, OTHER = ("text", b"a"), ("name", b"a"), ("text", b"b")


@pytest.mark.parametrize(
    ("old", "new", "new_to_old"),
    [
        ([[TEXT], [TEXT]], [[OTHER], [OTHER], [TEXT], [TEXT]], [-1, -1, 0, 1]),  # an entry of two ids
        ([[TEXT, NAME]], [[OTHER], [NAME]], [-1, 0]),  # an id of two entries
        ([[NAME]], [[OTHER], [TEXT, NAME]], [-1, 0]),
        ([[OTHER], [TEXT, NAME]], [[TEXT], [NAME]], [-1, 1]),  # the same number comes first
    ],
)
def test_ids_and_entries_are_matched_where_one_has_several_of_the_other(
    old: list[list[Entry]], new: list[list[Entry]], new_to_old: list[int]
) -> None:
    listed = [[(i, entry) for i, entries in enumerate(ids) for entry in entries] for ids in (old, new)]
    made = map_between(listed[0], len(old), listed[1], len(new), lambda tokens: [()] * len(tokens))
    assert made.new_to_old.tolist() == new_to_old


def test_other_object_raises_type_error() -> None:
    with pytest.raises(TypeError, match=r"old must be a Tokenizer, not dict; use fastbpe\.load"):
        byte_level(BYTES).id_map(BYTES)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["llama2_tokenizer.model", "phi3_mini_tokenizer.json", "phi2_tokenizer.json"])
def test_map_of_a_published_vocabulary_to_itself_is_the_identity(name: str) -> None:
    tokenizer = fastbpe.load(data_file("vocab", name))
    n = tokenizer.n_vocab
    assert tokenizer.id_map(tokenizer) == IdMap(n, range(n))


@pytest.mark.daily
def test_model_and_tokenizer_json_of_llama_2_are_the_same_vocabulary(tmp_path: object) -> None:
    old = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
    path = f"{tmp_path}/tokenizer.json"
    old.export(path, format="huggingface")
    assert fastbpe.load(path).id_map(old) == IdMap(32000, range(32000))


def test_new_piece_starts_from_the_leftmost_of_pairs_with_equal_scores() -> None:
    scores = {"a": 0.0, "e": 0.0, "ae": -1.0, "ea": -1.0}  # the file's order differs from the text's
    listed = [(piece.encode(), score, PieceType.NORMAL) for piece, score in scores.items()]
    options = {}, {"add_dummy_prefix": False}
    old = fastbpe.load(model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *listed], *options))
    new = fastbpe.load(
        model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *listed, (b"eae", -2.0, PieceType.NORMAL)], *options)
    )
    assert old.encode("eae") == [4, 2]
    assert new.id_map(old).init_from[5] == (4, 2)
