"""Offsets, pieces, counting with a limit, truncation and chunks: examples, arguments, hostile texts."""

from __future__ import annotations

import json

import pytest

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer, VocabularyError
from fastbpe._utils.choices import Side
from fastbpe.errors import NoUnknownTokenError
from fastbpe.formats.tiktoken import list_tokens
from fastbpe.model import Model
from fastbpe.tokenizer.cutting import truncation
from helpers.shared_data import BYTES, standard_library

RANKS = {**BYTES, b"ab": 256, b"abc": 257, b" abc": 258, b"  ": 259, b"aa": 260, b"aaaa": 261}
SPLIT = Tokenizer.from_ranks(RANKS, pattern="cl100k", special_tokens={"<|x|>": 300})
WHOLE = Tokenizer.from_ranks(RANKS, pattern=None)
PARTS = Tokenizer.from_ranks(RANKS, pattern=r"a+|[^a]", special_tokens={"<|x|>": 300})


def test_offsets_count_characters_of_str_and_bytes() -> None:
    text = "abé👍<|x|>\ud83d\udc4d\udc4d"
    ids, places = SPLIT.encode_with_offsets(text, allowed_special="all")
    assert ids == SPLIT.encode(text, allowed_special="all")
    assert places == [
        (0, 2), (2, 3), (2, 3), *[(3, 4)] * 4, (4, 9), *[(9, 11)] * 4, *[(11, 12)] * 3
    ]  # fmt: skip
    data = "é<|x|>a".encode()
    for given in (data, bytearray(data), memoryview(data)):
        assert SPLIT.encode_with_offsets(given, allowed_special="all")[1] == [(0, 1), (0, 1), (1, 6), (6, 7)]
    assert SPLIT.encode_with_offsets("") == ([], [])
    with pytest.raises(SpecialTokenError, match="disallowed special token"):
        SPLIT.encode_with_offsets("a<|x|>")
    with pytest.raises(ValueError, match="not UTF-8: invalid byte 0xff at offset 1"):
        SPLIT.encode_with_offsets(b"a\xff")
    with pytest.raises(TypeError):
        SPLIT.encode_with_offsets(5)  # type: ignore[arg-type]


def test_offsets_of_a_long_text_equal_its_tokens(code_tokenizer: Tokenizer) -> None:
    text = standard_library(400_000).encode("ascii", "ignore").decode() + "é"
    ids, places = code_tokenizer.encode_with_offsets(text)
    assert ids == code_tokenizer.encode(text)
    data = text.encode()
    pieces = [data[start:end] for start, end in places[:-1]]  # all ASCII except the last character
    assert pieces == [code_tokenizer.id_to_token(i) for i in ids[:-1]]
    assert places[-1][1] == len(text)


@pytest.mark.daily
def test_offsets_of_more_than_a_million_characters_are_correct() -> None:
    """Offsets beyond the int table; equal adjacent spans are one tuple."""
    text = "\U0001f600" * 200_000 + "abé" * 300_000
    ids, places = SPLIT.encode_with_offsets(text)
    assert ids == SPLIT.encode(text)
    assert places[:800_000:4] == [(i, i + 1) for i in range(200_000)]
    assert all(places[i] is places[i + 3] for i in range(0, 800_000, 40_000))
    assert places[800_000:] == [
        place for i in range(200_000, 1_100_000, 3) for place in ((i, i + 2), (i + 2, i + 3), (i + 2, i + 3))
    ]
    assert SPLIT.pieces(text)[-1][1] == len(text)


def test_offsets_of_a_damaged_vocabulary_stay_within_the_text() -> None:
    """A damaged file makes a merge produce other bytes: offsets are wrong, but within the text, and one for each
    id."""
    good = Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    tables = dict(good._family.vocabulary.sections())
    flat = bytearray(tables["token_bytes"])
    ends = memoryview(bytearray(tables["token_ends"])).cast("I")
    flat += b"yyyyyy"
    ends[257] = len(flat)
    tables |= {"token_bytes": bytes(flat), "token_ends": bytes(ends.cast("B"))}
    model = Model(
        tokens=None, tables=tables, pattern=None, special_tokens={}, merges_rule="merges", whole_piece_first=False
    )
    bad = Tokenizer(model)
    for text in ("abcabc", "abcéd", "xabc"):
        ids, places = bad.encode_with_offsets(text)
        assert len(ids) == len(places)
        assert all(0 <= start <= end <= len(text) for start, end in places)


def test_pieces_are_spans_of_the_split_text() -> None:
    assert SPLIT.pieces("abc  é'll\n\n") == [(0, 3), (3, 4), (4, 6), (6, 9), (9, 11)]
    assert SPLIT.pieces("é 日".encode()) == [(0, 1), (1, 3)]
    assert WHOLE.pieces("é 日") == [(0, 3)]
    assert WHOLE.pieces("") == []


# Counting.


def test_count_stops_one_above_the_limit() -> None:
    assert [SPLIT.count("abc abc abc", max_tokens=limit) for limit in range(5)] == [1, 2, 3, 3, 3]
    assert SPLIT.count("abc", max_tokens=10**30) == 1
    assert SPLIT.count("<|x|>", max_tokens=100) == 5
    assert SPLIT.fits("abc abc", 2)
    assert not SPLIT.fits("abc abc", 1)
    assert SPLIT.fits("", 0)
    with pytest.raises(ValueError, match="max_tokens=-1: must be at least 0"):
        SPLIT.count("abc", max_tokens=-1)
    with pytest.raises(ValueError, match="max_tokens=-1: must be at least 0"):
        SPLIT.fits("abc", -1)


@pytest.mark.parametrize("tokenizer", [SPLIT, WHOLE, PARTS])
def test_count_of_a_long_text_stops_one_above_the_limit(tokenizer: Tokenizer) -> None:
    text = "abc éabcd\n" * 30_000
    count = tokenizer.count(text)
    for limit in (0, 1, 1000, count - 1, count, count + 1):
        assert tokenizer.count(text, max_tokens=limit) == min(count, limit + 1)
        assert tokenizer.count(text.encode(), max_tokens=limit) == min(count, limit + 1)


# Truncation.


def test_truncate_keeps_the_longest_beginning_or_end() -> None:
    assert SPLIT.truncate("abc abc abc", 2) == SPLIT.truncate(b"abc abc abc", 2) == "abc abc"
    assert SPLIT.truncate("abc abc abc", 2, side="left") == " abc abc"
    assert SPLIT.truncate("abc", 0) == SPLIT.truncate("", 5) == SPLIT.truncate("日本", 2) == ""
    assert SPLIT.truncate("日本", 3) == SPLIT.truncate("日本", 5) == "日"
    assert SPLIT.truncate("日本", 5, side="left") == "本"
    assert SPLIT.truncate("<|x|>", 3) == "<|x"
    assert SPLIT.truncate("abc", 10**30) == "abc"
    assert SPLIT.truncate("\ud83d\udc4d\ud83d\udc4d", 7) == "\ud83d\udc4d"
    assert SPLIT.truncate("\ud83d\udc4d\ud83d\udc4d", 7, side="left") == "\ud83d\udc4d"
    with pytest.raises(ValueError, match="side='end': choose one of 'right', 'left'"):
        SPLIT.truncate("abc", 1, side="end")
    with pytest.raises(ValueError, match="max_tokens=-1: must be at least 0"):
        SPLIT.truncate("abc", -1)
    with pytest.raises(ValueError, match="not UTF-8"):
        SPLIT.truncate(b"\xff", 1)


def test_truncate_may_return_more_text_than_the_first_tokens() -> None:
    """The longest text that fits may be longer than the first tokens of the whole text."""
    tokenizer = Tokenizer.from_ranks({**BYTES, b"cd": 256, b"ab": 257, b"abc": 258}, pattern="gpt2")
    assert tokenizer.encode("abcd") == [257, 256]
    assert tokenizer.truncate("abcd", 1) == "abc"


def test_chunks_cover_the_text_with_overlap() -> None:
    assert list(SPLIT.chunk("abc abc abc abc abc", 2)) == ["abc abc", " abc abc", " abc"]
    assert list(SPLIT.chunk(b"abc abc abc abc", 2, overlap=1)) == ["abc abc", " abc abc", " abc abc"]
    assert list(SPLIT.chunk("", 5)) == []
    assert list(SPLIT.chunk("日本", 3)) == ["日", "本"]
    assert list(SPLIT.chunk("a日本", 3, overlap=2)) == ["a", "日", "本"]
    assert list(SPLIT.chunk("abc", 10**30, overlap=10**29)) == ["abc"]
    with pytest.raises(ValueError, match="max_tokens=2: the character '日' at position 1 alone has more tokens"):
        list(SPLIT.chunk("a日", 2))
    with pytest.raises(ValueError, match="max_tokens=0: must be at least 1"):
        SPLIT.chunk("abc", 0)
    for overlap in (-1, 2, 3):
        with pytest.raises(
            ValueError, match=f"overlap={overlap}: must be at least 0, and less than max_tokens, 2"
        ):
            SPLIT.chunk("abc", 2, overlap=overlap)


def test_chunk_of_a_text_that_has_no_ids_raises_the_error_of_encode() -> None:
    """Once, `chunk` said that the first character of the word had too many ids."""
    model = {"type": "WordLevel", "vocab": {"ab": 0, "cd": 1}, "unk_token": "?"}
    tokenizer = fastbpe.load(json.dumps({"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}).encode())
    assert list(tokenizer.chunk("ab cd ab", 1)) == ["ab ", "cd ", "ab"]
    for text in ("word", "ab word cd", "abab ab word"):
        with pytest.raises(NoUnknownTokenError, match=r"'word' has no token"):
            list(tokenizer.chunk(text, 2))


HOSTILE = {
    "a": "a" * 40_000,
    "Aa": "Aa" * 20_000,
    "spaces": " " * 40_000,
    "spaces, then a letter": " " * 20_000 + "x",
    "lines": " \n" * 20_000,
    "signs": "-" * 40_000,
    "numbers": "1" * 40_000,
    "emoji": "😀" * 10_000,
    "Han": "的" * 15_000,
    "prefixes of a special token": "<|" * 15_000,
    "marks": "\u0301" * 20_000,
    "lone surrogates": "\ud83d" * 15_000,
    "surrogate pairs": "\ud83d\udc4d" * 10_000,
    "one word a line": "abc\n" * 10_000,
}


@pytest.mark.parametrize("tokenizer", [SPLIT, WHOLE, PARTS], ids=["scanner", "none", "engine"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_truncated_and_chunked(tokenizer: Tokenizer, name: str) -> None:
    text = HOSTILE[name]
    ids, places = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode_ordinary(text)
    assert places[-1][1] == len(text)
    for n in (100, 5000):
        for side in ("right", "left"):
            part = tokenizer.truncate(text, n, side=side)
            assert n - 3 <= tokenizer.count(part) <= n
    parts = list(tokenizer.chunk(text, 1000))
    assert "".join(parts) == text
    assert max(map(tokenizer.count, parts)) <= 1000
    assert min(map(tokenizer.count, parts[:-1]), default=1000) >= 997
    overlapping = list(tokenizer.chunk(text, 1000, overlap=100))
    assert max(map(tokenizer.count, overlapping)) <= 1000
    assert sum(map(len, overlapping)) < 1.3 * len(text) + 10


def test_chunks_are_long_even_if_normalization_lengthens_the_text() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"fi": 256, b"if": 257, b"fifi": 258}
    steps = [{"type": "NFKC"}]
    tokenizer = Tokenizer(
        Model(tokens=list_tokens(ranks), pattern="cl100k", special_tokens={}, normalizers=steps, prefix_space=True)
    )
    text = "ﬁ" * 2000
    chunks = list(tokenizer.chunk(text, 100, overlap=10))
    assert len(chunks) < 30
    assert all(tokenizer.fits(chunk, 100) for chunk in chunks)
    assert all(tokenizer.count(chunk) > 80 for chunk in chunks[:-1])


@pytest.mark.parametrize(("n_characters", "n_of_them"), [(9, 5), (1, 1), (1, 18), (80, 1), (2, 3)])
def test_truncation_of_normalized_text_counts_a_few_times(n_characters: int, n_of_them: int) -> None:
    """The same holds if the first guess is right: then no count tells which later positions are too far."""
    text = "a" * 400_000
    counted: list[int] = []
    ends: list[int] = []

    def n_ids_up_to(place: int) -> int:
        return -(-place * n_of_them // n_characters)

    def count(place: int, limit: int) -> int:
        counted.append(place)
        return min(n_ids_up_to(place), limit + 1)

    def count_end(start: int, place: int) -> int:
        ends.append(place - start)
        return n_ids_up_to(place) - n_ids_up_to(start)

    for n_ids in (1, 2, 499, 500, 1999, 2000, 4000):
        counted.clear()
        ends.clear()
        size = truncation._search_normalized(count, count_end, text, 0, len(text), n_ids, n_ids + 8)
        assert size == n_ids * n_characters // n_of_them
        assert len(counted) <= (5 if n_ids >= truncation._END_SEARCH_IDS and n_of_them < 18 else 18)
        assert max(counted) <= max(size * 3 // 2, n_ids) + 20
        assert len(ends) <= 25
        assert max(ends, default=0) <= size // 8 + 2000


def test_truncation_ignores_estimates_that_contradict_the_whole_text() -> None:
    """A part of a text may have other tokens on its own than within the whole, for a long stretch."""
    size = truncation._search_normalized(
        lambda place, limit: min(place, limit + 1),
        lambda start, place: (place - start) * 3 // 2 + place % 5,
        "a" * 100_000,
        0,
        100_000,
        20_000,
        20_008,
    )
    assert size == 20_000


def test_text_is_cut_by_a_model_without_an_unknown_token() -> None:
    """Such a model cannot encode a part that ends within a special token, such as `[`: that part does not fit."""
    sides: tuple[Side, ...] = ("left", "right")
    made = {
        "version": "1.0",
        "added_tokens": [
            {"id": 3, "content": "[X]", "special": True, "normalized": False}
            | dict.fromkeys(("lstrip", "rstrip", "single_word"), False)
        ],
        "model": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -1.0], ["ab", -1.5]]},
    }
    tokenizer = fastbpe.load(json.dumps(made).encode())
    for text in ("ab[X]ba[X][X]", "a" * 70 + "[X]" * 50 + "b", "[X]" * 80):
        ids = tokenizer.encode(text, allowed_special="all")
        for n in (0, 1, 2, 3, 40, 200):
            for side in sides:
                part = tokenizer.truncate(text, n, side=side, allowed_special="all")
                found = tokenizer.encode(part, allowed_special="all")
                assert found == (ids[: len(found)] if side == "right" else ids[len(ids) - len(found) :])
                assert len(found) == min(n, len(ids)) or (n > 3 and len(text) > 64)
        assert "".join(tokenizer.chunk(text, 5, allowed_special="all")) == text
        with pytest.raises(VocabularyError, match="has no token"):
            tokenizer.truncate(text + "?", 2, allowed_special="all", with_total=True)
