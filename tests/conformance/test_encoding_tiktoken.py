"""Ids against tiktoken 0.14.0: vocabularies trained here, published ones, and recorded ids."""

import json
import random
from itertools import product
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from helpers.sampling import n_rounds
from helpers.shared_data import (
    CORPORA,
    OPENAI,
    PUBLISHED,
    corpus,
    peer_of,
    published,
    published_peer,
    ranks_of,
    standard_library,
)
from helpers.text_strategies import as_utf8, sound_texts, texts
from reference import encode as reference_encode

TRAPS = json.loads((Path(__file__).parent / "traps_expected.json").read_text(encoding="utf-8"))
OTHER_SCRIPTS = (
    "Привет, мир! Съешь же ещё этих мягких булок. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. "
    "人人生而自由，在尊严和权利上一律平等。"
    "すべての人間は、生まれながらにして自由であり。 모든 인간은 태어날 때부터 자유로우며. คนเราเกิดมาอย่างอิสระ "
    "सभी मनुष्यों को गौरव और अधिकारों. يولد جميع الناس أحراراً. "
    "כל בני האדם נולדו בני חורין. Tất cả mọi người 😀😃👨\u200d👩\u200d👧 e\u0301 "
)


class Pair:
    """The same vocabulary in fastbpe and in tiktoken."""

    def __init__(self, ours: Tokenizer) -> None:
        self.ours, self.peer = ours, peer_of(ours)

    def check(self, text: str) -> None:
        expected = self.peer.encode_ordinary(text)
        assert self.ours.encode_ordinary(text) == expected, ascii(text)
        assert self.ours.decode_bytes(expected) == as_utf8(text) == self.peer.decode_bytes(expected)


@pytest.fixture(scope="module", params=[name for name, pattern in PATTERNS.items() if isinstance(pattern, str)])
def learned(request: pytest.FixtureRequest) -> Pair:
    """A vocabulary of code and many scripts for each named pattern, so that tokens could cross any split."""
    text = [standard_library(150_000), OTHER_SCRIPTS * 20, " \n\t\r\n" * 50, "\u3000\xa0 \n" * 50]
    return Pair(
        fastbpe.train(text, vocab_size=1500, pattern=request.param, special_tokens=["<|sep|>"], progress=False)
    )


@pytest.fixture(scope="module")
def unsplit() -> Pair:
    text = [standard_library(30_000), OTHER_SCRIPTS]
    return Pair(fastbpe.train(text, vocab_size=900, pattern=None, progress=False))


@pytest.mark.sample(2)
@settings(max_examples=n_rounds(333, 1000))
@given(text=texts)
def test_all_kinds_of_texts_equal_tiktoken(learned: Pair, text: str) -> None:
    learned.check(text)


@settings(max_examples=n_rounds(333, 1000))
@given(text=texts)
def test_all_kinds_of_texts_without_a_pattern_equal_tiktoken(unsplit: Pair, text: str) -> None:
    if text:  # tiktoken's replacement for no pattern matches at least one character
        unsplit.check(text)


@settings(max_examples=n_rounds(100, 300))
@given(text=sound_texts)
def test_ids_without_a_pattern_equal_the_slow_twin(unsplit: Pair, text: str) -> None:
    assert unsplit.ours.encode(text, disallowed_special=()) == reference_encode(text, ranks_of(unsplit.ours))


@pytest.mark.sample(2)
@settings(max_examples=n_rounds(100, 300))
@given(text=texts)
def test_special_tokens_within_texts_equal_tiktoken(learned: Pair, text: str) -> None:
    for whole in (text + "<|sep|>", "<|sep|>" + text, text + "<|sep|> " + text):
        expected = learned.peer.encode(whole, allowed_special="all")
        assert learned.ours.encode(whole, allowed_special="all") == expected, ascii(whole)


@pytest.mark.daily
@pytest.mark.sample(2)
def test_every_code_point_among_others_equals_tiktoken(learned: Pair) -> None:
    """Blocks of code points between letters, spaces and digits: each has the class that tiktoken gives it."""
    for start in range(0, 0x110000, 0x1000):
        if not 0xD000 <= start < 0xE000 and (start < 0x30000 or start >= 0xE0000):
            learned.check("".join(f"a{chr(c)} {chr(c)}1{chr(c)}\n" for c in range(start, start + 0x1000, 3)))


def test_short_strings_of_splitting_characters_equal_tiktoken() -> None:
    tokenizer = Pair(fastbpe.train([standard_library(50_000)], vocab_size=700, pattern="o200k", progress=False))
    for n in range(5):
        for letters in product(" \n\ta's1é\u0301/", repeat=n):
            tokenizer.check("".join(letters))


def test_real_text_equals_tiktoken(learned: Pair) -> None:
    for line in (OTHER_SCRIPTS + standard_library(300_000)).splitlines(keepends=True):
        learned.check(line)


@pytest.mark.parametrize("seed", range(5))
def test_random_ranks_equal_tiktoken(seed: int) -> None:
    rng = random.Random(seed)
    tokens = {bytes([byte]) for byte in range(256)}
    tokens |= {bytes(rng.choices(b"ab c\xc3\xa9", k=rng.randint(2, 6))) for _ in range(300)}
    ranks = dict(zip(sorted(tokens), rng.sample(range(1000), len(tokens)), strict=True))
    tokenizer = Tokenizer.from_ranks(ranks, pattern="gpt2")
    peer = tiktoken.Encoding("p", pat_str=tokenizer.pattern, mergeable_ranks=ranks, special_tokens={})
    for _ in range(500):
        text = "".join(rng.choices("ab cé", k=rng.randint(0, 120)))
        assert tokenizer.encode(text) == peer.encode(text), text


# Published vocabularies.


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_recorded_ids_of_hard_texts_are_given(name: str, trap: str) -> None:
    tokenizer, text, expected = published(name), TRAPS[trap]["text"], TRAPS[trap][name]
    assert tokenizer.encode_ordinary(text) == expected
    assert tokenizer.encode_batch([text], disallowed_special=()) == [expected]
    assert tokenizer.encode_to_numpy(text, disallowed_special=()).tolist() == expected
    assert tokenizer.count(text) == len(expected)
    assert tokenizer.decode_bytes(expected) == as_utf8(text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("r50k_base", "'RE", [6, 2200]),
        ("r50k_base", "\u00a0\u00a0x", [1849, 1849, 87]),
        ("r50k_base", "   x", [220, 220, 2124]),
        ("r50k_base", "x\n\n", [87, 628]),
        ("llama3", " Việt", [101798]),
        ("cl100k_base", "hello123!!!? (안녕하세요!) 😉",
         [15339, 4513, 12340, 30, 320, 31495, 230, 75265, 243, 92245, 16715, 57037]),
    ],
)  # fmt: skip
def test_recorded_ids_of_more_texts_are_given(name: str, text: str, expected: list[int]) -> None:
    assert published(name).encode(text) == expected


def is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.daily
def test_llama3_tokens_that_merging_cannot_make_are_found_as_whole_pieces() -> None:
    """A piece is valid text, so a token that ends within a character is never a piece."""
    tokenizer, ranks = published("llama3"), ranks_of(published("llama3"))
    tokens = [token for _, token in sorted((rank, token) for token, rank in ranks.items())]
    merging = Encoder(Vocabulary(**build_tables(tokens), whole_piece_first=False), Splitter())
    whole_only = [token for token in tokens if is_text(token) and len(merging.encode(token)) > 1]
    assert len(whole_only) == 588
    unsplit = Tokenizer.from_ranks(ranks, pattern=None)
    peer = published_peer("llama3")
    for token in whole_only:
        assert unsplit.encode(token) == [tokenizer.token_to_id(token)] == [ranks[token]]
        text = token.decode()
        assert tokenizer.encode_ordinary(text) == peer.encode_ordinary(text)
    assert sum(len(tokenizer.encode_ordinary(token)) == 1 for token in whole_only) > 500


def test_p50k_has_its_special_token_between_ordinary_ids() -> None:
    tokenizer, peer = published("p50k_base"), published_peer("p50k_base")
    assert tokenizer.special_tokens == {"<|endoftext|>": 50256}
    assert tokenizer.n_vocab == peer.n_vocab == 50281
    assert tokenizer.encode("<|endoftext|>", allowed_special="all") == [50256]
    for n in range(1, 60):
        text = " " * n + "x" + " " * n
        assert tokenizer.encode(text) == peer.encode(text)
    assert max(tokenizer.encode(" " * 25)) > 50256


@pytest.mark.daily
@pytest.mark.parametrize("name", OPENAI)
def test_published_files_equal_the_encodings_of_tiktoken(name: str) -> None:
    tokenizer, peer = published(name), published_peer(name)
    assert tokenizer.name == name
    assert tokenizer.pattern == peer._pat_str
    assert tokenizer.special_tokens == peer._special_tokens
    assert tokenizer.special_tokens.keys() == peer.special_tokens_set
    assert ranks_of(tokenizer) == peer._mergeable_ranks
    assert tokenizer.n_vocab == peer.n_vocab


@pytest.mark.daily
@pytest.mark.sample(15)
@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("file", CORPORA)
def test_lines_of_real_text_equal_tiktoken(name: str, file: str) -> None:
    tokenizer, peer = published(name), published_peer(name)
    lines = corpus(file, 150_000).splitlines(keepends=True)
    expected = peer.encode_ordinary_batch(lines, num_threads=1)
    assert tokenizer.encode_ordinary_batch(lines) == expected
    text = "".join(lines)
    ids = tokenizer.encode_ordinary(text)
    assert ids == peer.encode_ordinary(text)
    assert tokenizer.decode(ids, errors="strict") == text
    assert tokenizer.count(text) == len(ids)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PUBLISHED)
@settings(max_examples=n_rounds(133, 400))
@given(text=texts)
def test_published_vocabularies_on_all_kinds_of_texts_equal_tiktoken(name: str, text: str) -> None:
    ids = published(name).encode_ordinary(text)
    assert ids == published_peer(name).encode_ordinary(text), ascii(text)
    assert published(name).decode_bytes(ids) == as_utf8(text)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies_on_short_strings_equal_tiktoken(name: str) -> None:
    tokenizer, peer = published(name), published_peer(name)
    for n in range(5):
        strings = ["".join(letters) for letters in product(" \n\ta's1é\u0301/", repeat=n)]
        assert tokenizer.encode_ordinary_batch(strings) == peer.encode_ordinary_batch(strings, num_threads=1)
