"""fastbpe.sentencepiece against sentencepiece: decoding ids and pieces, and their offsets."""

import itertools
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import sentencepiece

import fastbpe
from fastbpe.model import PieceType
from fastbpe.sentencepiece import SentencePieceProcessor
from helpers.codepoint_models import PUBLISHED, hard_text, model_of, published_bytes, trained
from helpers.codepoint_models import published_processor as processor
from helpers.sampling import n_rounds
from helpers.shared_data import corpus

N_LISTS = n_rounds(1_000, 100_000)
N_BYTES = n_rounds(30_000, 5_000_000)
Peer = sentencepiece.SentencePieceProcessor
WORDS = ["abc", "ab", "bca", "x", "y", "Foo", "aaaa", "", "é", "12", "日本"]


@lru_cache
def ours(name: str) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=published_bytes(name))


def lines_of_words() -> list[str]:
    rng = random.Random(1)
    return [" ".join(rng.choices(WORDS, k=8)) for _ in range(200)]


def assert_same(us: SentencePieceProcessor, peer: Peer, tokens: list[Any]) -> None:
    """Compare the text as str and bytes, with and without the offsets of ids or pieces."""
    assert us.decode(tokens, return_type=bytes) == peer.decode(tokens, return_type=bytes), tokens
    assert us.decode(tokens) == peer.decode(tokens), tokens
    for more in ({}, {"return_bytes": True}):
        expected = peer.decode(tokens, return_type="offset_mapping", **more)
        assert us.decode(tokens, return_type="offset_mapping", **more) == expected, tokens
    serialized = peer.decode(tokens, return_type="serialized_proto")
    assert us.decode(tokens, return_type="serialized_proto") == serialized, tokens


def random_ids(rng: random.Random, peer: Peer) -> list[int]:
    telling = [i for i in (0, 1, 2, *peer.piece_to_id(["▁", "▁a", "a", "<unk>", "<0x20>"])) if i >= 0]
    choice = [rng.choice(telling), rng.randrange(min(300, len(peer))), rng.randrange(len(peer))]
    return [rng.choice(choice) for _ in range(rng.randint(1, 9))]


@pytest.mark.parametrize("name", PUBLISHED)
def test_random_ids_decode_as_in_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    batch = [random_ids(rng, processor(name)) for _ in range(N_LISTS)]
    for ids in batch:
        assert_same(ours(name), processor(name), ids)
    assert ours(name).decode(batch) == processor(name).decode(batch)


@pytest.mark.parametrize("name", PUBLISHED)
def test_known_and_unknown_pieces_decode_as_in_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    words = ["▁", "▁a", "▁▁", "zzzq", "▁zzzq", "▁▁zzzq", "<unk>", "<s>", "</s>", "a", "", "▁<unk>", "日", "é"]
    words += ["<0x41>", "<0xE3>", "<0x81>", "<0x82>", "<0x20>", "<0xF0>"]
    for _ in range(N_LISTS):
        pieces = rng.choices(words, k=rng.randint(1, 7))
        assert_same(ours(name), processor(name), pieces)
        assert_same(ours(name), processor(name), [piece.encode() for piece in pieces])


@pytest.mark.parametrize("name", PUBLISHED)
def test_encoded_corpora_decode_as_in_sentencepiece(name: str) -> None:
    us, peer = ours(name), processor(name)
    for file in ("english.txt", "multilingual.txt", "emoji_mixed.txt", "wagahaiwa_nekodearu.txt"):
        text = corpus(file, N_BYTES)
        ids = peer.encode(text)
        assert us.decode(ids) == peer.decode(ids)
        batch = peer.encode(text.split("\n"))
        assert us.decode(batch) == peer.decode(batch)
        assert us.decode(numpy.array(ids, dtype=numpy.uint32)) == peer.decode(ids)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_dummy_prefix": False},
    {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
    {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "split_by_whitespace": False},
    {"treat_whitespace_as_suffix": True},
    {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    {"byte_fallback": True, "vocab_size": 400},
    {"byte_fallback": True, "vocab_size": 400, "unk_id": -1},
    {"unk_surface": "▁?", "bos_id": 10, "eos_id": -1, "pad_id": 4},
    {"unk_surface": "", "user_defined_symbols": ["▁a", "▁▁", "b "], "control_symbols": ["▁x", "a"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_trained_models_decode_as_in_sentencepiece(options: dict[str, Any]) -> None:
    rng = random.Random(str(options))
    data = trained(lines_of_words(), **{"vocab_size": 60, **options})
    us, peer = SentencePieceProcessor(model_proto=data), Peer(model_proto=data)
    pieces = [*peer.id_to_piece(list(range(len(peer)))), "▁", "▁▁a", "q", "▁q", "", "<0x41>", "<unk>"]
    for _ in range(N_LISTS // 4):
        assert_same(us, peer, [rng.randrange(len(peer)) for _ in range(rng.randint(1, 7))])
        assert_same(us, peer, rng.choices(pieces, k=rng.randint(1, 6)))


def test_pieces_of_every_type_decode_as_in_sentencepiece() -> None:
    """Include pieces that no training makes: unused ones, control symbols with U+2581, and pieces with spaces."""
    rng = random.Random(3)
    for _ in range(n_rounds(30, 200)):
        texts = {"".join(rng.choices("ab▁ ", k=rng.randint(1, 4))) for _ in range(12)}
        kinds = [PieceType.NORMAL, PieceType.CONTROL, PieceType.USER_DEFINED, PieceType.UNUSED]
        pieces = [(text.encode(), -float(i), rng.choice(kinds)) for i, text in enumerate(sorted(texts))]
        pieces.insert(rng.randrange(len(pieces)), ("▁u".encode(), 0.0, PieceType.UNKNOWN))
        flags = {"add_dummy_prefix": rng.random() < 0.5, "remove_extra_whitespaces": rng.random() < 0.5}
        data = model_of(pieces, {"unk_surface": rng.choice(["", "▁", " ", "?"])}, flags)
        us, peer = SentencePieceProcessor(model_proto=data), Peer(model_proto=data)
        for _ in range(60):
            assert_same(us, peer, [rng.randrange(len(peer)) for _ in range(rng.randint(1, 6))])


@pytest.mark.parametrize("name", ["U", "▁U", " U"])
@pytest.mark.parametrize("surface", ["", "?"])
def test_unknown_piece_ends_the_start_of_a_text_as_in_sentencepiece(name: str, surface: str) -> None:
    pieces = [(name, PieceType.UNKNOWN), ("▁c", PieceType.CONTROL)]
    pieces += [(piece, PieceType.NORMAL) for piece in ("▁a", "▁▁", "b")]
    for adds_prefix, trims in itertools.product([False, True], repeat=2):
        data = model_of(
            [(piece.encode(), -1.0, kind) for piece, kind in pieces],
            {"unk_surface": surface},
            {"add_dummy_prefix": adds_prefix, "remove_extra_whitespaces": trims},
        )
        us, peer, native = SentencePieceProcessor(model_proto=data), Peer(model_proto=data), fastbpe.load(data)
        for ids in itertools.product(range(len(pieces)), repeat=3):
            assert_same(us, peer, [*ids])
            assert_same(us, peer, [pieces[i][0] for i in ids])
            stream = native.decoder()
            assert "".join([*map(stream.push, ids), stream.finish()]) == peer.decode([*ids])


def test_denormalization_rules_are_applied_as_in_sentencepiece(tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("61\t62 63\n2581\t5F\n62\t\n20 20\t20\n")
    data = trained(lines_of_words(), vocab_size=60, denormalization_rule_tsv=str(rules))
    us, peer = SentencePieceProcessor(model_proto=data), Peer(model_proto=data)
    rng = random.Random(4)
    for _ in range(300):
        ids = [rng.randrange(len(peer)) for _ in range(rng.randint(1, 6))]
        assert us.decode(ids) == peer.decode(ids)
        assert us.decode([ids, ids]) == peer.decode([ids, ids])
        assert us.decode(ids, return_type="serialized_proto") == peer.decode(ids, return_type="serialized_proto")
        try:
            expected = peer.decode(ids, return_type="offset_mapping")
        except ValueError:  # offsets beyond the end of a text that rules have shortened
            with pytest.raises(ValueError, match="Invalid piece offsets in SentencePieceText"):
                us.decode(ids, return_type="offset_mapping")
        else:
            assert us.decode(ids, return_type="offset_mapping") == expected


def test_unknown_pieces_keep_or_lose_spaces_as_in_sentencepiece() -> None:
    trims = trained(lines_of_words(), vocab_size=60)
    keeps = trained(lines_of_words(), vocab_size=60, remove_extra_whitespaces=False)
    for data, expected in ((trims, "abc"), (keeps, " abc")):
        us, peer = SentencePieceProcessor(model_proto=data), Peer(model_proto=data)
        assert us.decode(["▁", "▁abc"]) == expected == peer.decode(["▁", "▁abc"])
        assert us.decode(["▁▁q"]) == "▁▁q" == peer.decode(["▁▁q"])
    assert ours("llama2").decode([3 + 0xE6, 3 + 0x97]) == "\ufffd\ufffd"


@pytest.mark.parametrize("trims", [True, False])
@pytest.mark.parametrize(("unknown", "first"), [("▁u", " "), ("u", "")])
def test_unknown_piece_without_a_surface_may_take_the_leading_space(
    trims: bool, unknown: str, first: str, tmp_path: Path
) -> None:
    options = {"unk_piece": unknown, "unk_surface": "", "remove_extra_whitespaces": trims}
    data = trained(lines_of_words(), vocab_size=60, **options)
    us, peer = SentencePieceProcessor(model_proto=data), Peer(model_proto=data)
    ids = [0, us.piece_to_id("▁abc"), us.piece_to_id("▁ab")]
    assert us.decode(ids) == ("" if trims else first) + "abc ab" == peer.decode(ids)
    path = tmp_path / "a.model"
    path.write_bytes(data)
    stream = fastbpe.load(path).decoder()
    assert stream.push(ids) + stream.finish() == us.decode(ids)


def test_invalid_bytes_decode_to_replacement_characters() -> None:
    us = ours("llama2")
    data = bytes.fromhex("c3a9e69761fff09f9880eda080")
    assert us.decode([3 + byte for byte in data]) == "é\ufffd\ufffda\ufffd😀\ufffd\ufffd\ufffd"


@pytest.mark.parametrize("name", PUBLISHED)
def test_encoded_pieces_of_hard_texts_decode_as_in_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    for _ in range(N_LISTS // 4):
        text = hard_text(rng)
        pieces = processor(name).encode(text, out_type=bytes)
        assert_same(ours(name), processor(name), pieces)


OUT_OF_RANGE = [[32000], [-1], [5, 99999], [2**31 - 1], [-(2**31)], [0, 1, -5]]


@pytest.mark.parametrize("ids", OUT_OF_RANGE, ids=str)
def test_ids_out_of_range_raise_index_error(ids: list[int]) -> None:
    for form in (ids, tuple(ids), numpy.array(ids), [[1], ids], [numpy.array(ids)]):
        for return_type in (str, bytes, "serialized_proto", "offset_mapping"):
            with pytest.raises(IndexError, match="piece id is out of range"):
                processor("llama2").decode(form, return_type=return_type)
            with pytest.raises(IndexError, match="piece id is out of range"):
                ours("llama2").decode(form, return_type=return_type)
