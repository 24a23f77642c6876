"""Short ASCII texts have their own fast path to a list; bytes take the general one and must give the same ids."""

from __future__ import annotations

import gc
import random
import string
import sysconfig
import threading
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.errors import PatternError, SpecialTokenError
from fastbpe.tiktoken import Encoding

CL100K = fastbpe.PATTERNS["cl100k"]


@pytest.fixture(scope="module")
def ranks() -> dict[bytes, int]:
    text = "the short texts that the tests thus test, these 123 and 45\n\n  or those's and don't "
    model = fastbpe.train([text * 3, string.printable], vocab_size=300, pattern="cl100k", progress=False)
    return {token: i for i, token in enumerate(model.vocab)}


#: Every kind of splitting: scanner, engine, the regex package, none, and a pattern that leaves text unmatched.
PATTERNS = [CL100K, r"\w+|\W", r"(?>(\w))\1+|\s+|.", None, r"[a-m]+"]


@pytest.fixture(scope="module", params=PATTERNS, ids=map(str, PATTERNS))
def tokenizer(request: pytest.FixtureRequest, ranks: dict[bytes, int]) -> Tokenizer:
    return Tokenizer.from_ranks(ranks, pattern=request.param, special_tokens={"<|end|>": 1000})


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300])
def test_short_texts_of_any_length_equal_bytes(tokenizer: Tokenizer, length: int) -> None:
    rng = random.Random(length)
    for alphabet in ("ab ", "the ", string.ascii_letters, string.printable, "x\x00\x7f"):
        text = "".join(rng.choices(alphabet, k=length))
        expected = tokenizer.encode(text.encode())
        assert tokenizer.encode(text) == expected
        assert tokenizer.encode_ordinary(text) == expected
        assert tokenizer.encode_batch([text] * 2) == [expected] * 2
        assert tokenizer.encode(text, num_threads=1) == expected


#: Code-point models: with and without a space before the text, and with changes to texts or ids.
CODE_POINTS: list[dict[str, Any]] = [
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False},
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": False},
    {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "user_defined_symbols": ["te"]},
    {"normalization_rule_name": "nmt_nfkc"},
    {"treat_whitespace_as_suffix": True},
]


@pytest.mark.parametrize("options", CODE_POINTS, ids=str)
def test_short_texts_of_code_point_models_equal_bytes(options: dict[str, Any]) -> None:
    text = ["the short texts that the tests thus test, those and 45 " * 3]
    options = {"byte_fallback": True, "vocab_size": 300, "hard_vocab_limit": False, **options}
    tokenizer = fastbpe.train(text, mode="codepoint", progress=False, **options)
    rng = random.Random(3)
    for length in [*range(20), 63, 64, 127, 128, 255, 256, 257]:
        for alphabet in ("test ", " ", "the<s>", string.printable, "x\x00\x7f"):
            text = "".join(rng.choices(alphabet, k=length))
            expected = tokenizer.encode_ordinary(text.encode())
            assert tokenizer.encode_ordinary(text) == expected
            assert tokenizer.encode_ordinary_batch([text] * 2) == [expected] * 2
            assert tokenizer.encode_ordinary(text, num_threads=1) == expected
            if "<s>" not in text:
                assert tokenizer.encode(text) == expected
    with pytest.raises(SpecialTokenError, match="<s>"):
        tokenizer.encode("the text<s>")


@pytest.mark.parametrize("n_pieces", [1, 2, 127, 128, 129, 200])
def test_any_number_of_pieces_equals_bytes(tokenizer: Tokenizer, n_pieces: int) -> None:
    for text in ("!a" * (n_pieces // 2) + "!" * (n_pieces % 2), " a" * n_pieces, "\n" * n_pieces):
        assert tokenizer.encode(text) == tokenizer.encode(text.encode())


def test_piece_with_many_ids_equals_bytes(ranks: dict[bytes, int]) -> None:
    tokenizer = Tokenizer.from_ranks(ranks, pattern=CL100K)
    for text in ("qzjxqzjxqzjxqz", "qzjxqzjxqzjxqzj", "qzjxqzjxqzjxqzjxq", "qj" * 128):
        for _ in range(2):  # first a cache miss, then a hit
            assert tokenizer.encode(text) == tokenizer.encode(text.encode())


@pytest.mark.parametrize("pattern", [r"[a-m]+", r"(?>(\w))\1+"])  # engine, regex package
def test_tiktoken_leaves_out_unmatched_text(ranks: dict[bytes, int], pattern: str) -> None:
    """tiktoken leaves out unmatched text; if that is the whole text, the list is empty."""
    encoding = Encoding("gaps", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    rng = random.Random(2)
    for text in ("xyz", "x" * 256, *("".join(rng.choices("aabmxyz 1", k=k)) for k in range(1, 257))):
        ids = encoding.encode(text)
        assert ids == encoding.encode(text.encode())
        ids.append(7)
        assert ids == [*encoding.encode_ordinary(text), 7]


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="collects garbage less often")
@pytest.mark.daily
def test_code_that_runs_during_encoding_may_encode(ranks: dict[bytes, int]) -> None:
    """The regex package and new lists may start the garbage collector, which runs finalizers and other threads."""
    tokenizer = Tokenizer.from_ranks(ranks, pattern=r"(?>(\w))\1+|\s+|.", cache_bytes=0)
    texts = ["the  short texts", "aabbcc " * 30, "a b" * 60]
    expected = [tokenizer.encode(text.encode()) for text in texts]
    found: list[bool] = []

    class Last:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            found.append([*map(tokenizer.encode, texts)] == expected)

    def work() -> None:
        for _ in range(100):
            Last()
            found.append([*map(tokenizer.encode, texts)] == expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
    assert len(found) > 400
    assert all(found)


def test_cache_bytes_zero_gives_the_same_ids(ranks: dict[bytes, int]) -> None:
    tokenizer = Tokenizer.from_ranks(ranks, pattern=CL100K, cache_bytes=0)
    rng = random.Random(1)
    for _ in range(3000):
        text = "".join(rng.choices(string.ascii_letters + "   ", k=60))
        assert tokenizer.encode(text) == tokenizer.encode(text.encode())


def test_special_tokens_in_short_texts_equal_those_in_bytes(tokenizer: Tokenizer) -> None:
    text = "the text<|end|> of"
    plain = tokenizer.encode_ordinary(text.encode())
    assert tokenizer.encode_ordinary(text) == plain
    assert tokenizer.encode(text, disallowed_special=()) == plain
    assert tokenizer.encode(text, allowed_special="all") == tokenizer.encode(text.encode(), allowed_special="all")
    with pytest.raises(SpecialTokenError, match=r"<\|end\|>"):
        tokenizer.encode(text)
    assert tokenizer.encode("the text<|en") == tokenizer.encode(b"the text<|en")


def test_special_token_error_comes_before_pattern_error(ranks: dict[bytes, int]) -> None:
    tokenizer = Tokenizer.from_ranks(ranks, pattern=r"(?=(?:a|aa)+b).|a", special_tokens={"<|end|>": 1000})
    text = "a" * 100 + "<|end|>"
    for one in (text, text.encode()):
        with pytest.raises(SpecialTokenError):
            tokenizer.encode(one)
        with pytest.raises(PatternError, match="backtracks too much"):
            tokenizer.encode_ordinary(one)
        with pytest.raises(PatternError, match="backtracks too much"):
            tokenizer.encode(one[:100])


def test_short_lists_can_be_changed_like_any_list(tokenizer: Tokenizer) -> None:
    text = "the short texts, these"
    ids = tokenizer.encode(text)
    copy = [*ids]
    ids.append(7)
    ids.sort()
    ids.insert(0, -1)
    del ids[3:]
    ids.extend(range(1000))
    ids.clear()
    assert ids == []
    assert tokenizer.encode(text) == copy


def test_subclass_of_str_is_encoded_by_its_content(tokenizer: Tokenizer) -> None:
    class Text(str):
        def __len__(self) -> int:
            return 3

    assert tokenizer.encode(Text("the short texts")) == tokenizer.encode("the short texts")
