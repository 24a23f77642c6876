"""encode and its variants: every entry point gives the ids of the specification."""

import random
import sysconfig

import pytest
from hypothesis import given, settings

from fastbpe import Tokenizer, train
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES, random_texts
from helpers.text_strategies import as_utf8, texts
from reference import encode as reference_encode

RANKS = {**BYTES, b"ab": 256, b"bc": 257, b"abc": 258, b" a": 259, b"aa": 260}


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks(RANKS, pattern=None)


def test_training_and_encoding_match_the_worked_example() -> None:
    tokenizer = train(["aaabdaaabac"], vocab_size=259, pattern=None, progress=False)
    assert tokenizer.encode("aaabdaaabac") == [258, 100, 258, 97, 99]


def test_empty_text_has_no_ids(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("") == tokenizer.encode_ordinary(b"") == tokenizer.encode_parts([]) == []
    assert tokenizer.count("") == 0
    assert tokenizer.encode_to_numpy("").shape == (0,)


def test_whole_piece_is_looked_up_before_merging() -> None:
    tokenizer = Tokenizer.from_ranks({**BYTES, b"ab": 256, b"bcd": 257}, pattern=None)
    assert tokenizer.encode("bcd") == [257]
    assert tokenizer.encode("bcde") == [98, 99, 100, 101]


def test_lowest_rank_merges_first_and_leftmost_on_ties(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("xabcx") == [120, 258, 120]
    assert tokenizer.encode("aaaaa") == [260, 260, 97]
    assert tokenizer.encode("bcab") == [257, 256]


def test_ranks_may_be_in_any_order() -> None:
    ranks = {bytes([byte]): 1000 + (byte * 7) % 256 for byte in range(256)} | {b"ab": 3, b"abab": 0}
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
    assert tokenizer.encode("ababa") == [0, ranks[b"a"]]
    assert tokenizer.n_vocab == 1256
    assert tokenizer.vocab_size == 258


def test_gaps_between_ranks_are_empty_tokens() -> None:
    tokenizer = Tokenizer.from_ranks({**BYTES, b"ab": 300}, pattern=None, special_tokens={"<s>": 280})
    assert tokenizer.encode("ab<s>", allowed_special="all") == [300, 280]
    assert tokenizer.vocab[256:280] == [b""] * 24
    assert (tokenizer.n_vocab, tokenizer.vocab_size) == (301, 258)


def test_unmerged_text_gives_one_id_per_byte(tokenizer: Tokenizer) -> None:
    text = "".join(map(chr, range(0x110, 0x300)))
    assert bytes(tokenizer.encode(text)) == text.encode()


@pytest.mark.parametrize("n", [8191, 8192, 8193, 100_000])
def test_long_texts_get_the_ids_of_their_lines(code_tokenizer: Tokenizer, n: int) -> None:
    """Texts of 8,192 bytes and more are encoded without the GIL."""
    text = ("def f(x):\n    return x + 1\n" * 5000)[:n]
    ids = code_tokenizer.encode(text)
    lines = text.splitlines(keepends=True)
    assert ids == [i for line in lines for i in code_tokenizer.encode(line)]
    assert code_tokenizer.decode(ids) == text


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without a GIL each is a new int")
def test_ids_are_int_objects_shared_within_lists(code_tokenizer: Tokenizer) -> None:
    ids = code_tokenizer.encode("import os\nimport os\n")
    assert all(type(i) is int for i in ids)
    half = len(ids) // 2
    assert all(a is b for a, b in zip(ids[:half], ids[half:], strict=True))


@settings(max_examples=n_rounds(166, 500))
@given(texts)
def test_all_entry_points_give_the_same_ids(code_tokenizer: Tokenizer, text: str) -> None:
    ids = code_tokenizer.encode_ordinary(text)
    utf8 = as_utf8(text)
    assert code_tokenizer.encode(text, disallowed_special=()) == ids
    assert code_tokenizer.encode_ordinary(utf8) == ids
    assert code_tokenizer.encode_ordinary_batch([text, utf8]) == [ids, ids]
    assert code_tokenizer.encode_batch([text], disallowed_special=()) == [ids]
    assert code_tokenizer.encode_to_numpy(text, disallowed_special=()).tolist() == ids
    assert code_tokenizer.encode_parts([(text, False)]) == ids
    assert code_tokenizer.count(text) == len(ids)
    assert code_tokenizer.decode_bytes(ids) == utf8


def test_ids_without_a_pattern_equal_the_specification() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        corpus = random_texts(rng)
        if not any(corpus):
            continue
        tokenizer = train(corpus, vocab_size=256 + rng.randint(0, 3), pattern=None, progress=False)
        ranks = {token: i for i, token in enumerate(tokenizer.vocab)}
        for text in [*corpus, *random_texts(rng), "é\0" + corpus[0]]:
            assert tokenizer.encode(text) == reference_encode(text, ranks), (seed, text)


def test_merges_and_vocab_describe_all_tokens(code_tokenizer: Tokenizer) -> None:
    vocab = code_tokenizer.vocab
    assert vocab[:256] == [bytes([byte]) for byte in range(256)]
    assert vocab[-2:] == [b"<|endoftext|>", b"<|sep|>"]
    assert len(vocab) == code_tokenizer.vocab_size == code_tokenizer.n_vocab == 1000
    assert [vocab[left] + vocab[right] for left, right in code_tokenizer.merges] == vocab[256:-2]


def test_tokens_and_ids_are_looked_up_both_ways(code_tokenizer: Tokenizer) -> None:
    for token_id, token in enumerate(code_tokenizer.vocab):
        assert code_tokenizer.id_to_token(token_id) == token
        assert code_tokenizer.token_to_id(token) == token_id
        assert (token_id in code_tokenizer.special_tokens.values()) == (token_id >= 998)
    assert code_tokenizer.token_to_id("<|sep|>") == 999
    assert code_tokenizer.token_to_id("no such token") is None
    assert code_tokenizer.token_to_id("") is None


def test_token_to_id_treats_surrogates_as_encode_does() -> None:
    tokenizer = Tokenizer.from_ranks(
        {**BYTES, "👍".encode(): 256, "\ufffd".encode(): 257}, pattern=None, special_tokens={"<😀>": 258}
    )
    assert tokenizer.token_to_id("\ud83d\udc4d") == tokenizer.token_to_id("👍") == 256
    assert tokenizer.token_to_id("\ud83d") == 257
    assert tokenizer.token_to_id("<\ud83d\ude00>") == 258


def test_invalid_utf8_bytes_match_no_special_token() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"\ufffd\ufffd": 256})
    assert tokenizer.token_to_id("\ufffd\ufffd") == tokenizer.token_to_id("\ufffd\ufffd".encode()) == 256
    assert tokenizer.token_to_id(b"\xff\xfe") is None
