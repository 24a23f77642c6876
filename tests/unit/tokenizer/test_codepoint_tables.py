"""The engine of code-point mode: caches, threads, counting, long pieces, offsets of ids, dropout."""

import random
import sys
import time
from functools import lru_cache
from itertools import pairwise

import pytest

import fastbpe
from fastbpe._core.encode.codepoint_pieces import TokenEncoder, Tokens, marks_spaces
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_long import merge_in_windows
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.utf8_text import has_surrogates
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel, PieceType
from fastbpe.tokenizer.families.codepoint_tables import make_normalizer, token_encoder
from fastbpe.tokenizer.families.symbol_merging import NO_SYMBOL, merge_all
from fastbpe.tokenizer.tokenizer import Tokenizer
from helpers.codepoint_models import hard_text, model_of
from helpers.sampling import FULL

BYTES = [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
WORDS = ["the", "quick", "brown", "fox", "日本語", "é", "x", "\n", "  ", "▁", "a\u0301", "😀", "12", ".", "zz"]
KINDS = ("plain", "bytes", "trims", "across", "symbols", "unused")


@lru_cache
def model(kind: str) -> CodePointModel:
    """Return a model for each path through the engine; pieces of "across" reach from word to word."""
    texts = [
        "th",
        "▁th",
        "▁the",
        "he",
        "qu",
        "ick",
        "ic",
        "▁b",
        "ro",
        "wn",
        "日本",
        "本語",
        "aa",
        "aaaa",
        "▁▁",
        "▁▁▁▁",
    ]
    if kind == "across":
        texts += ["e▁", "x▁", "x▁x", "▁x▁", "aa▁"]
    characters = [*"▁abcdefghijklmnopqrstuvwx.12\n日本語é\u0301"]
    kinds = {"unused": {"he": PieceType.UNUSED, "é": PieceType.UNUSED}, "symbols": {"qu": PieceType.USER_DEFINED}}
    pieces = [
        (text.encode(), -float(i), kinds.get(kind, {}).get(text, PieceType.NORMAL))
        for i, text in enumerate([*texts, *characters])
    ]
    data = model_of(
        [(b"<unk>", 0.0, PieceType.UNKNOWN), *(BYTES if kind == "bytes" else []), *pieces],
        {"byte_fallback": kind == "bytes"},
        {"remove_extra_whitespaces": kind in ("trims", "symbols")},
    )
    return sentencepiece_format.parse(data, kind)


@lru_cache
def tokenizer(kind: str) -> Tokenizer:
    return Tokenizer(model(kind))


def texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    made = [" ".join(rng.choices(WORDS, k=rng.randint(0, 20))) for _ in range(n)]
    return made + [hard_text(rng).decode(errors="replace") for _ in range(n)]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("cache_bytes", [0, 1, 4096, 100_000])
def test_small_caches_give_the_same_ids(kind: str, cache_bytes: int) -> None:
    small = Tokenizer(model(kind), cache_bytes=cache_bytes)
    rng = random.Random(kind)
    words = ["".join(rng.choices("abcdefghi日é", k=rng.randint(1, 9))) for _ in range(3000)]
    for text in [*texts(1, 40), " ".join(words), " ".join(words)]:
        assert small.encode_ordinary(text) == tokenizer(kind).encode_ordinary(text)


def test_threads_give_the_same_ids(kind: str) -> None:
    rng = random.Random(kind)
    text = " ".join(rng.choices([*WORDS, "▁ ", "the  quick"], k=200_000))
    one = tokenizer(kind).encode_ordinary(text, num_threads=1)
    for n in (2, 3):
        assert tokenizer(kind).encode_ordinary(text, num_threads=n) == one
        assert tokenizer(kind).count(text, num_threads=n) == len(one)
    assert tokenizer(kind).encode_ordinary(text.encode(), num_threads=2) == one
    parts = [text[i : i + 5000] for i in range(0, len(text), 5000)]
    expected = [tokenizer(kind).encode_ordinary(part) for part in parts]
    assert tokenizer(kind).encode_ordinary_batch(parts, num_threads=2) == expected


def test_count_equals_the_number_of_ids(kind: str) -> None:
    for text in texts(2, 200):
        assert tokenizer(kind).count(text) == len(tokenizer(kind).encode_ordinary(text)), text


LONG = {
    "a": "a",
    "spaces": " ",
    "marks": "▁",
    "the": "the",
    "of pieces across words": "x ",
    "unknown": "ж",
    "unknown of four bytes": "\U0001f999",
    "newlines": "\n",
    "characters that combine": "\u0301",
    "NULs": "\0",
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", LONG)
def test_long_texts_without_words_are_encoded_consistently(kind: str, name: str) -> None:
    """All paths agree, and texts begin like shorter texts; tools/faults.py measures the time."""
    n = 10_000_000 if FULL else 300_000
    unit = LONG[name]
    text = unit * (n // len(unit))
    ids = tokenizer(kind).encode_ordinary(text)
    assert ids == tokenizer(kind).encode_ordinary(text.encode())
    assert tokenizer(kind).count(text) == len(ids)
    tokens = token_encoder(model(kind), tokenizer(kind)).encode(text.encode(), offsets=True)
    assert tokens.ids() == ids
    part = unit * (4000 // len(unit))
    short = tokenizer(kind).encode_ordinary(part)
    assert ids[: len(short) // 2] == short[: len(short) // 2]
    if ids:
        assert tokens.offsets(in_characters=True)[-1][1] <= len(text)


def test_invalid_bytes_become_replacement_characters(kind: str) -> None:
    n = 10_000_000 if FULL else 300_000
    tokens = token_encoder(model(kind), tokenizer(kind)).encode(b"\xff" * n, offsets=True)
    assert tokens.ids() == tokenizer(kind).encode_ordinary("\ufffd" * n)
    assert tokens.offsets(in_characters=False)[-1][1] == n


# Pieces and offsets.


def test_offsets_cover_the_text(kind: str) -> None:
    encoder = token_encoder(model(kind), tokenizer(kind))
    names = [piece.decode() for piece in model(kind).pieces]
    for text in texts(3, 200):
        data = text.encode()
        tokens = encoder.encode(data, offsets=True)
        assert tokens.ids() == tokenizer(kind).encode_ordinary(text)
        assert memoryview(tokens.to_array()).tolist() == tokens.ids()
        assert len(tokens) == len(tokens.ids()) == len(tokens.pieces(names))
        for in_characters, n in ((True, len(text)), (False, len(data))):
            places = [place for span in tokens.offsets(in_characters=in_characters) for place in span]
            assert places == sorted(places)
            assert all(0 <= place <= n for place in places)
        assert [piece.encode() for piece in tokens.pieces(names)] == tokens.byte_pieces(model(kind).pieces)


def test_pieces_reuse_the_given_names() -> None:
    encoder = token_encoder(model("plain"), tokenizer("plain"))
    names = [f"name {i}" for i in range(model("plain").n_pieces)]
    tokens = encoder.encode("the ж".encode())
    pieces = tokens.pieces(names)
    assert all(piece is names[i] for piece, i in zip(pieces[:-1], tokens.ids(), strict=False))
    assert pieces[-1] == "ж"


def test_offsets_must_be_requested_and_names_must_fit() -> None:
    encoder = token_encoder(model("plain"), tokenizer("plain"))
    tokens = encoder.encode(b"the")
    with pytest.raises(ValueError, match="encoded without offsets"):
        tokens.offsets(in_characters=True)
    with pytest.raises(ValueError, match="3 names for"):
        tokens.pieces(["a", "b", "c"])
    assert encoder.encode(b"").offsets(in_characters=True) == []
    assert isinstance(tokens, Tokens)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reserves memory for the zeros")
def test_text_that_is_too_long_for_pieces_and_offsets_raises_overflow_error() -> None:
    text = bytes((1 << 32) - 2)  # pages of zeros, which take no memory until they are read
    limit = r"the limit for calls that return pieces or offsets is 2\*\*32 - 3 bytes"
    message = f"^4294967294 bytes of text: {limit}; cut the text$"
    encoder = token_encoder(model("plain"), tokenizer("plain"))
    for call in (encoder.encode, make_normalizer(model("plain")).normalize_with_offsets):
        with pytest.raises(OverflowError, match=message):
            call(text)


def test_token_encoder_needs_code_point_mode() -> None:
    vocabulary = Vocabulary(**build_tables([bytes([byte]) for byte in range(256)]))
    encoder = Encoder(
        vocabulary,
        fastbpe.Tokenizer.from_ranks({bytes([b]): b for b in range(256)}, pattern=None)._family.splitter,
    )
    with pytest.raises(ValueError, match="code-point mode"):
        TokenEncoder(encoder, make_normalizer(model("plain")))
    assert not marks_spaces(encoder)
    assert marks_spaces(tokenizer("plain"))


# Dropout.


def test_tiny_dropout_gives_the_ids_of_plain_encoding(kind: str) -> None:
    """Dropout uses one heap; compare it with the merging of short pieces, long pieces and ties."""
    encoder = token_encoder(model(kind), tokenizer(kind))
    rng = random.Random(kind)
    long = "".join(rng.choices("theaaqux  ", k=100_000))
    for text in [*texts(4, 100), long, "a" * 70_000, "x " * 40_000]:
        assert encoder.encode(text.encode(), dropout=1e-300).ids() == tokenizer(kind).encode_ordinary(text)


def test_windows_give_the_ids_of_the_whole_piece(kind: str) -> None:
    """Windows are joined at a shared token, and cut only between characters."""
    rng = random.Random(kind)
    vocabulary = tokenizer(kind)._family.parts.vocabulary
    for text in [*texts(5, 60), "".join(rng.choices("theaaqux日😀", k=3_000)), "日本" * 500, "a" * 700]:
        whole = merge_in_windows(vocabulary, text.encode(), 1 << 20)
        assert whole == merge_in_windows(vocabulary, text.encode(), 500)
        assert whole == merge_in_windows(vocabulary, text.encode(), 40)
        assert whole == merge_in_windows(vocabulary, text.encode(), 3)


def test_full_dropout_leaves_single_characters(kind: str) -> None:
    encoder = token_encoder(model(kind), tokenizer(kind))
    names = [piece.decode() for piece in model(kind).pieces]
    for text in ("the quick", "aaaa 日本語"):
        pieces = encoder.encode(text.encode(), dropout=1).pieces(names)
        assert "".join(pieces) == "▁" + text.replace(" ", "▁")
        assert {piece for piece in pieces if len(piece) > 1} <= ({"qu"} if kind == "symbols" else set())


def test_dropout_depends_only_on_the_seed() -> None:
    encoder = token_encoder(model("plain"), tokenizer("plain"))
    data = b"the quick brown fox " * 50
    drawn = [encoder.encode(data, dropout=0.5, seed=seed).ids() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("abc", False),
        ("é", False),
        ("日本", False),
        ("😀", False),
        ("\ud800", True),
        ("a" * 100 + "\udfff", True),
        ("😀\udc00", True),
        ("\ud7ff\ue000", False),
    ],
)
def test_has_surrogates_finds_surrogates(text: str, expected: bool) -> None:
    assert has_surrogates(text) is expected


def test_long_unused_pieces_made_of_each_other_load_in_seconds() -> None:
    lengths = range(4, 802, 2)
    chain = [("xy" * (n // 2), -float(n), PieceType.UNUSED) for n in lengths]
    pieces = [("<unk>", 0.0, PieceType.UNKNOWN), ("xy", -1.0, PieceType.NORMAL), *chain]
    start = time.process_time()
    tokenizer = fastbpe.load(
        model_of([(piece.encode(), *rest) for piece, *rest in pieces], normalizer={"add_dummy_prefix": False})
    )
    assert tokenizer.encode("xy" * 300) == [1] * 300
    assert time.process_time() - start < 10


@pytest.mark.parametrize("until", [1, 2])
def test_merging_with_a_heap_equals_merging_step_by_step(until: int) -> None:
    generator = random.Random(until)
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"ba", b"aba", b"abab", b"bb"]
    vocabulary = Vocabulary(**build_tables(tokens))
    for _ in range(500):
        symbols = [generator.choice([97, 98, 99]) for _ in range(generator.randrange(12))]
        merged, starts = merge_all(symbols, vocabulary, until=until)
        expected = [*symbols]
        while len(expected) > until:
            pairs = [vocabulary.pair(left, right) for left, right in pairwise(expected)]
            found = [(pair[0], at, pair[1]) for at, pair in enumerate(pairs) if pair is not None]
            if not found:
                break
            _, at, made = min(found)
            expected[at : at + 2] = [made]
        assert merged == expected
        parts = [symbols[start:end] for start, end in pairwise([*starts, len(symbols)])]
        assert [b"".join(map(tokens.__getitem__, part)) for part in parts] == [tokens[i] for i in merged]


def test_merging_with_a_heap_makes_only_allowed_symbols() -> None:
    vocabulary = Vocabulary(**build_tables([*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b"bc"]))
    assert merge_all(list(b"abc"), vocabulary) == ([257], [0])
    assert merge_all(list(b"abc"), vocabulary, lambda symbol: symbol == 258) == ([97, 258], [0, 1])
    assert merge_all([97, NO_SYMBOL, 98], vocabulary) == ([97, NO_SYMBOL, 98], [0, 1, 2])
