"""fastbpe.sentencepiece against sentencepiece: ids, pieces and offsets, over models, corpora and hard texts."""

import random
import string
from functools import lru_cache
from typing import Any

import pytest
import sentencepiece

from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel, PieceType
from fastbpe.sentencepiece import SentencePieceProcessor
from helpers.codepoint_models import (
    PUBLISHED,
    hard_text,
    model_of,
    published_bytes,
    published_model,
    trained,
)
from helpers.codepoint_models import published_processor as processor
from helpers.sampling import n_rounds
from helpers.shared_data import corpus

N_TEXTS = n_rounds(800, 100_000)
N_BYTES = n_rounds(40_000, 20_000_000)
FILES = (
    "english.txt",
    "multilingual.txt",
    "emoji_mixed.txt",
    "wagahaiwa_nekodearu.txt",
    "botchan.txt",
    "french_entre_nous.txt",
    "json_yaml.txt",
)
METASPACE = "▁"
Peer = sentencepiece.SentencePieceProcessor


@lru_cache
def ours(name: str) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=published_bytes(name))


def pair_of(data: bytes) -> tuple[SentencePieceProcessor, Peer]:
    return SentencePieceProcessor(model_proto=data), Peer(model_proto=data)


def assert_same(us: SentencePieceProcessor, peer: Peer, text: str | bytes) -> None:
    """Compare ids, pieces and offsets, by each of the three calls that return them."""
    expected = peer.encode(text, out_type="offset_mapping")
    assert us.encode(text, out_type="offset_mapping") == expected, text
    assert us.encode(text) == expected["ids"], text
    out_type = bytes if isinstance(text, bytes) else str
    assert us.encode(text, out_type=out_type) == expected["pieces"], text


@pytest.mark.sample(5)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", PUBLISHED)
def test_lines_and_whole_files_are_encoded_as_by_sentencepiece(name: str, file: str) -> None:
    us, peer = ours(name), processor(name)
    text = corpus(file, N_BYTES)
    lines = text.split("\n")
    assert us.encode(lines) == peer.encode(lines)
    assert us.encode(lines[:50], out_type="offset_mapping") == peer.encode(lines[:50], out_type="offset_mapping")
    assert_same(us, peer, text)
    assert_same(us, peer, text.encode())


@pytest.mark.parametrize("name", PUBLISHED)
def test_hard_texts_are_encoded_as_by_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    more = [piece.replace(METASPACE.encode(), b" ") for piece in published_model(name).pieces]
    for _ in range(N_TEXTS):
        text = hard_text(rng, more)
        assert_same(ours(name), processor(name), text)
        assert_same(ours(name), processor(name), text.decode(errors="replace"))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    {"add_dummy_prefix": False, "byte_fallback": True, "vocab_size": 400},
    {"treat_whitespace_as_suffix": True},
    {"treat_whitespace_as_suffix": True, "allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    {"split_by_whitespace": False, "user_defined_symbols": ["▁a", "abc", "NEW york", "x▁y"]},
    {"split_by_whitespace": False, "treat_whitespace_as_suffix": True},
    {"normalization_rule_name": "nmt_nfkc_cf", "user_defined_symbols": ["BAR"]},
    {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "split_by_whitespace": False},
    {"user_defined_symbols": ["b", "▁b", "日本", "a▁", "Foo"], "control_symbols": ["<x>", "ab"]},
    {"bos_id": 30, "eos_id": 12, "pad_id": 3, "unk_id": 7, "unk_surface": "?"},
    {"unk_id": -1, "byte_fallback": True, "vocab_size": 380},
    {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False, "split_digits": True},
]
WORDS = ["abc", "ab", "bca", "NEW", "york", "x", "y", "BAR", "bar", "Foo", "aaaa", "▁", "", "é", "12", "日本"]


def lines_of_words() -> list[str]:
    rng = random.Random(1)
    return [" ".join(rng.choices(WORDS, k=8)) for _ in range(200)]


def word_text(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return hard_text(rng)
    return "".join(rng.choices([*WORDS, " ", "  ", "\n", "<x>", "<s>"], k=rng.randint(1, 12))).encode()


def check(data: bytes, rng: random.Random, n_texts: int) -> None:
    us, peer = pair_of(data)
    for _ in range(n_texts):
        text = word_text(rng)
        assert_same(us, peer, text)
        assert us.normalize(text, with_offsets=True) == peer.normalize(text, with_offsets=True)
    long = b" ".join([word_text(rng) for _ in range(n_rounds(3000, 30_000))])
    assert_same(us, peer, long)
    assert_same(us, peer, long.decode(errors="replace"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_trained_models_encode_as_sentencepiece(options: dict[str, Any]) -> None:
    data = trained(lines_of_words(), **{"vocab_size": 60, **options})
    check(data, random.Random(str(options)), N_TEXTS // 5)


def without_piece(model: CodePointModel, piece: bytes) -> list[tuple[bytes, float, int]]:
    scores = memoryview(model.scores).cast("f").tolist()
    return [
        (text, score, kind)
        for text, score, kind in zip(model.pieces, scores, model.types, strict=True)
        if text != piece
    ]


def test_byte_fallback_without_a_space_piece_encodes_as_sentencepiece() -> None:
    data = trained(lines_of_words(), vocab_size=400, byte_fallback=True)
    model = sentencepiece_format.parse(data, "trained")
    pieces = without_piece(model, METASPACE.encode())
    check(model_of(pieces, {"byte_fallback": True}), random.Random(2), N_TEXTS // 5)
    check(model_of(pieces[2:], {"byte_fallback": True}), random.Random(3), N_TEXTS // 5)


def test_unused_pieces_are_avoided_as_in_sentencepiece() -> None:
    """Mark some pieces of a trained model as UNUSED, also characters and U+2581."""
    rng = random.Random(4)
    for options in ({}, {"byte_fallback": True, "vocab_size": 400}, {"split_by_whitespace": False}):
        model = sentencepiece_format.parse(trained(lines_of_words(), **{"vocab_size": 60, **options}), "trained")
        for share in (0.1, 0.5):
            pieces = [
                (text, score, PieceType.UNUSED if kind == PieceType.NORMAL and rng.random() < share else kind)
                for text, score, kind in without_piece(model, b"")
            ]
            trainer = {"byte_fallback": model.trainer["byte_fallback"]}
            check(model_of(pieces, trainer), rng, N_TEXTS // 10)


@pytest.mark.daily
def test_best_score_wins_and_ties_go_left() -> None:
    """Random vocabularies over few letters, with equal scores, gaps, and unused pieces."""
    rng = random.Random(5)
    for _ in range(n_rounds(200, 3000)):
        texts = {"".join(rng.choices("abc▁", k=rng.randint(1, 4))) for _ in range(rng.randint(2, 14))}
        kinds = rng.choice([[1], [1, 1, 1, 5], [1, 1, 4, 5, 3]])
        pieces = [(t.encode(), -rng.randrange(4), rng.choice(kinds)) for t in sorted(texts)]
        pieces.insert(rng.randrange(len(pieces)), (b"<unk>", 0, PieceType.UNKNOWN))
        us, peer = pair_of(model_of(pieces, {}, {"remove_extra_whitespaces": rng.random() < 0.5}))
        for _ in range(40):
            assert_same(us, peer, "".join(rng.choices("abc ▁d", k=rng.randint(1, 14))))
        assert_same(us, peer, "".join(rng.choices("abc ▁d", k=3000)))


def test_unusual_scores_order_merges_as_in_sentencepiece() -> None:
    """Pieces with all kinds of scores: negative zero, infinities, and equal scores, which ids order."""
    rng = random.Random(6)
    scores = [0.0, -0.0, float("inf"), float("-inf"), 1e-38, -1e30, 5.0]
    for _ in range(n_rounds(60, 300)):
        texts = {"".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(8)}
        pieces = [(t.encode(), rng.choice(scores), PieceType.NORMAL) for t in sorted(texts)]
        us, peer = pair_of(model_of([(b"<unk>", 0, PieceType.UNKNOWN), *pieces]))
        for _ in range(30):
            assert_same(us, peer, "".join(rng.choices("ab ", k=rng.randint(1, 12))))


@pytest.mark.parametrize("name", PUBLISHED)
def test_random_characters_are_encoded_as_by_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    alphabet = [
        *string.printable,
        *(chr(rng.randrange(0x80, 0xD800)) for _ in range(500)),
        "😀",
        "\U000e0041",
        METASPACE,
    ]
    for _ in range(N_TEXTS // 10):
        assert_same(ours(name), processor(name), "".join(rng.choices(alphabet, k=rng.randint(1, 40))))


# Ids of sentencepiece 0.2.3 for texts on which implementations often differ.
TRAPS: list[tuple[str | bytes, list[int]]] = [
    ("", []),
    (" ", [259]),
    ("  a", [259, 263]),
    ("a ", [263, 29871]),
    ("a\n\tb", [263, 13, 12, 29890]),
    ("This is 🦙.cpp", [910, 338, 29871, 243, 162, 169, 156, 29889, 8223]),
    ("<s>hi</s>", [529, 29879, 29958, 2918, 829, 29879, 29958]),
    ("<0x41>", [529, 29900, 29916, 29946, 29896, 29958]),
    ("a\0b", [263, 3, 29890]),
    ("︰", [29871, 242, 187, 179]),
    ("ŀ ŉ", [29871, 200, 131, 29871, 200, 140]),
    ("…", [16088]),
    ("\ufeffa", [29871, 30143, 29874]),
    (b"abc\xff", [25638, 30140]),
    ("▁a", [29871, 263]),
]


@pytest.mark.parametrize(("text", "ids"), TRAPS, ids=[repr(text) for text, _ in TRAPS])
def test_llama2_gives_the_recorded_ids(text: str | bytes, ids: list[int]) -> None:
    assert ours("llama2").encode(text) == ids == processor("llama2").encode(text)


def test_metaspace_in_a_text_decodes_to_a_space() -> None:
    assert ours("llama2").decode(ours("llama2").encode("▁a")) == " a"


BPEMB = [("a  b", "a b"), (" a\nb ", "a ⁇ b"), ("︰", ".."), ("⁇", "??"), ("２", "2"), ("日本", " ⁇ ")]


@pytest.mark.parametrize(("text", "expected"), BPEMB)
def test_bpemb_normalizes_the_recorded_texts(text: str, expected: str) -> None:
    us, peer = ours("bpemb"), processor("bpemb")
    assert us.decode(us.encode(text)) == peer.decode(peer.encode(text))
    assert us.decode(us.encode(text)).split() == expected.split()
    assert us.encode("ŀ ŉ", out_type=str) == ["▁l", "·", "▁", "ʼ", "n"]


def test_encoding_and_decoding_twice_reaches_a_fixed_point() -> None:
    us = ours("bpemb")
    rng = random.Random(7)
    for _ in range(200):
        once = us.decode(us.encode(hard_text(rng).decode(errors="replace")))
        twice = us.decode(us.encode(once))
        assert us.decode(us.encode(twice)) == twice


# Rules of encoding that implementations often get wrong; for decoding see test_sentencepiece_decoding.py.


def scored(**scores: float) -> list[tuple[bytes, float, int]]:
    return [(text.encode(), score, PieceType.NORMAL) for text, score in scores.items()]


UNKNOWN = (b"<unk>", 0.0, PieceType.UNKNOWN)
SPACE = (METASPACE.encode(), -20.0, PieceType.NORMAL)


def test_invalid_byte_becomes_an_unnormalized_replacement_character() -> None:
    data = trained(["ab \ufffdab ab"], vocab_size=30, normalization_rule_name="nmt_nfkc")
    us, peer = pair_of(data)
    for text in (b"ab\xffab ab", "ab\ufffdab ab".encode()):
        assert_same(us, peer, text)
    assert us.encode(b"a\xffb", out_type=str) != us.encode("a\ufffdb", out_type=str)


def test_metaspace_and_spaces_are_normalized_as_in_sentencepiece() -> None:
    data = trained(lines_of_words(), vocab_size=60, normalization_rule_name="identity")
    us, peer = pair_of(data)
    for text in ("▁a", "▁▁a▁", " a  b ", "   ", "▁", " ▁ "):
        assert_same(us, peer, text)
    assert us.encode("   ") == []
    assert us.normalize("▁a") == "▁▁a"
    assert us.normalize(" a  b ") == "▁a▁b"


def test_best_score_is_merged_first() -> None:
    us, peer = pair_of(model_of([UNKNOWN, *scored(a=-20, b=-20, c=-20, ab=-1, bc=-1), SPACE]))
    assert us.encode("abc", out_type=str) == ["▁", "ab", "c"] == peer.encode("abc", out_type=str)
    us, peer = pair_of(model_of([UNKNOWN, *scored(a=-20, b=-20, aa=-1, ba=-1), SPACE]))
    expected = ["▁", "ba", "a", "b", "▁", "aa", "ba"]
    assert us.encode("baab aaba", out_type=str) == expected == peer.encode("baab aaba", out_type=str)


def test_user_defined_symbol_keeps_its_case() -> None:
    data = trained(
        ["Foo BAR foo"] * 3, vocab_size=30, normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=["BAR"]
    )
    us, peer = pair_of(data)
    assert_same(us, peer, "FOO BARbar")
    assert us.encode("FOO BARbar", out_type=str) == ["▁foo", "▁", "BAR", "bar"]


def test_user_defined_symbols_block_merges() -> None:
    data = trained(lines_of_words(), vocab_size=60, user_defined_symbols=["▁a", "abc", "NEW york"])
    us, peer = pair_of(data)
    for text in ("abcab abc ab", "NEW york"):
        assert_same(us, peer, text)
    assert "NEW york" not in us.encode("NEW york", out_type=str)


def test_unused_pieces_are_split_into_their_parts() -> None:
    kinds = {b"ab": PieceType.UNUSED, b"c": PieceType.UNUSED}
    pieces = [UNKNOWN, *scored(abc=-2, ab=-1, a=-8, b=-9, c=-10), (METASPACE.encode(), -7.0, PieceType.NORMAL)]
    us, peer = pair_of(model_of([(text, score, kinds.get(text, kind)) for text, score, kind in pieces]))
    assert us.encode("abc ab c", out_type=str) == ["▁", "abc", "▁", "a", "b", "▁", "c"]
    assert us.encode("abc ab c") == peer.encode("abc ab c") == [6, 1, 6, 3, 4, 6, 0]
