"""fastbpe.tiktoken against tiktoken 0.14.0: the same names, ids, offsets, completions and error classes."""

import copy
import inspect
import io
import json
import pickle
import random
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tiktoken._educational
import tiktoken.load
import tiktoken.model
import tiktoken.registry
from hypothesis import given, settings

import fastbpe
import fastbpe.tiktoken as ours
import fastbpe.tiktoken._educational
import fastbpe.tiktoken.load
import fastbpe.tiktoken.published
from fastbpe import PATTERNS
from fastbpe._core.encode.encoder import Encoder
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER, text_of
from helpers.sampling import FULL, n_rounds
from helpers.shared_data import (
    BYTES,
    OPENAI,
    PUBLISHED,
    corpus,
    data_file,
    published,
    published_peer,
    ranks_of,
    standard_library,
)
from helpers.text_strategies import texts

CORPORA = ("english.txt", "multilingual.txt", "json_yaml.txt", "emoji_mixed.txt", "botchan.txt")
SPECIAL = {"<|endoftext|>": 2000, "<|sep|>": 2001, "<|sep|>>": 2003}
OTHER_SCRIPTS = "Привет, мир! 人人生而自由。すべての人間は 모든 인간은 सभी मनुष्यों 😀😃👨\u200d👩\u200d👧 e\u0301 "


class Pair:
    """The same vocabulary in fastbpe and in tiktoken."""

    def __init__(self, name: str, pattern: str, ranks: dict[bytes, int], special: dict[str, int]) -> None:
        arguments: dict[str, Any] = {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": special}
        self.ours = ours.Encoding(name, **arguments)
        self.peer = tiktoken.Encoding(name, **arguments)

    def same(self, call: Callable[[Any], Any]) -> Any:
        """Check that both give the same result, or errors of the same class, and return it."""
        mine, theirs = outcome(call, self.ours), outcome(call, self.peer)
        if isinstance(theirs, Exception):
            assert isinstance(mine, type(theirs)), (mine, theirs)
        else:
            assert mine == theirs
        return mine


def outcome(call: Callable[[Any], Any], encoding: Any) -> Any:
    try:
        return call(encoding)
    except Exception as error:
        return error


def learned(pattern: str, vocab_size: int = 1200) -> Pair:
    text = [standard_library(150_000), OTHER_SCRIPTS * 20, " \n\t\r\n" * 50, "\u3000\xa0 \n" * 50]
    tokenizer = fastbpe.train(text, vocab_size=vocab_size, pattern=pattern, progress=False)
    return Pair("learned", PATTERNS[pattern], ranks_of(tokenizer), SPECIAL)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["gpt2", "cl100k", "o200k", "qwen2"])
def pair(request: pytest.FixtureRequest) -> Pair:
    return learned(request.param)


@pytest.fixture(scope="module")
def small() -> Pair:
    ranks = BYTES | {b"he": 256, b"ll": 257, b"hell": 258, b"hello": 259, b" w": 260, b"  ": 261, b"\xf0\x9f": 262}
    return Pair("small", PATTERNS["gpt2"], ranks, {"<|endoftext|>": 300, "<|x|>": 301})  # type: ignore[arg-type]


# Names and signatures.


def surface(owner: Any) -> set[str]:
    return {name for name in vars(owner) if not name.startswith("__")}


def test_encoding_class_has_every_name_of_tiktoken() -> None:
    assert surface(tiktoken.Encoding) <= {name for name in dir(ours.Encoding) if not name.startswith("__")}
    public = {name for name in dir(ours.Encoding) if not name.startswith("_")} - surface(tiktoken.Encoding)
    assert public <= surface(Encoder), "besides, there is only what the core has"


def shape(callable_: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults of all parameters."""
    parameters = inspect.signature(callable_).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


METHODS = [name for name, value in vars(tiktoken.Encoding).items() if inspect.isfunction(value)]


@pytest.mark.parametrize("name", [n for n in METHODS if not n.startswith("__")] + ["__init__"])
def test_methods_have_the_signatures_of_tiktoken(name: str) -> None:
    assert shape(getattr(ours.Encoding, name)) == shape(getattr(tiktoken.Encoding, name))


MODULES = {
    tiktoken: ours,
    tiktoken.load: fastbpe.tiktoken.load,
    tiktoken.model: fastbpe.tiktoken.model,
    tiktoken.registry: fastbpe.tiktoken.registry,
    tiktoken._educational: fastbpe.tiktoken._educational,
}
FUNCTIONS = [
    (module, name)
    for module in MODULES
    for name, value in vars(module).items()
    if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("tiktoken")
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", value))
def test_functions_have_the_signatures_of_tiktoken(module: Any, name: str) -> None:
    assert shape(getattr(MODULES[module], name)) == shape(getattr(module, name))


def test_educational_classes_have_the_same_methods() -> None:
    peer, mine = tiktoken._educational.SimpleBytePairEncoding, fastbpe.tiktoken._educational.SimpleBytePairEncoding
    assert {name: shape(getattr(mine, name)) for name in surface(peer)} == {
        name: shape(getattr(peer, name)) for name in surface(peer)
    }


def test_encoding_names_and_model_tables_equal_tiktoken() -> None:
    assert ours.__version__ == tiktoken.__version__
    assert fastbpe.tiktoken.model.MODEL_TO_ENCODING == tiktoken.model.MODEL_TO_ENCODING
    assert fastbpe.tiktoken.model.MODEL_PREFIX_TO_ENCODING == tiktoken.model.MODEL_PREFIX_TO_ENCODING
    assert ours.list_encoding_names() == tiktoken.list_encoding_names()
    names = [*tiktoken.model.MODEL_TO_ENCODING, *(f"{p}x" for p in tiktoken.model.MODEL_PREFIX_TO_ENCODING)]
    for name in [*names, "gpt-4o-mini", "gpt-4.5-preview", "ft:gpt-4o:x", "ft:gpt-4:x"]:
        assert ours.encoding_name_for_model(name) == tiktoken.encoding_name_for_model(name)
    for name in ("gpt", "nobody", ""):
        with pytest.raises(KeyError):
            ours.encoding_name_for_model(name)


# Texts and ids.


@pytest.mark.daily
@pytest.mark.sample(1)
@settings(max_examples=n_rounds(150, 400))
@given(text=texts)
def test_all_kinds_of_texts_equal_tiktoken(pair: Pair, text: str) -> None:
    ids = pair.same(lambda e: e.encode(text, disallowed_special=()))
    pair.same(lambda e: e.encode_ordinary(text))
    pair.same(lambda e: e.encode_batch([text, text], disallowed_special=()))
    pair.same(lambda e: e.encode_ordinary_batch([text]))
    pair.same(lambda e: e.encode(f"{text}<|sep|>{text}", allowed_special={"<|sep|>"}, disallowed_special=()))
    pair.same(lambda e: e.decode(ids))
    pair.same(lambda e: e.decode_bytes(ids))
    pair.same(lambda e: e.decode_tokens_bytes(ids))
    pair.same(lambda e: e.decode_with_offsets(ids))
    pair.same(lambda e: e.decode_with_offsets(ids[1:]))
    assert pair.ours.encode_to_numpy(text, disallowed_special=()).tolist() == ids


@pytest.mark.daily
@settings(max_examples=n_rounds(120, 300))
@given(text=texts)
def test_completions_of_all_kinds_of_texts_equal_tiktoken(pair: Pair, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return  # tiktoken raises an error
    check_unstable(pair, text)


def check_unstable(pair: Pair, text: str, allowed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    stable, completions = pair.ours.encode_with_unstable(text, allowed_special=allowed, disallowed_special=())
    expected = pair.peer.encode_with_unstable(text, allowed_special=allowed, disallowed_special=())
    assert stable == expected[0], ascii(text)
    assert sorted(map(tuple, completions)) == sorted(map(tuple, expected[1])), ascii(text)


@pytest.mark.daily
@pytest.mark.parametrize("name", PUBLISHED if FULL else ["r50k_base", "cl100k_base"])
def test_completions_of_real_text_equal_tiktoken(name: str) -> None:
    pair = published_pair(name)
    rng = random.Random(name)
    for file in CORPORA:
        text = corpus(file, 200_000)
        for _ in range(n_rounds(1, 60)):
            start = rng.randrange(len(text))
            check_unstable(pair, text[start : start + rng.randint(1, 60)])
    tails = (
        ("x \n", "<|endoftext|>")
        if not FULL
        else (*"\n ", "\n\n", "  ", "   x  ", "a<|endoftext|> ", "f(\n\n    ")
    )
    for text in tails:
        check_unstable(pair, text, set(pair.peer.special_tokens_set))


def test_completions_after_special_tokens_equal_tiktoken(small: Pair) -> None:
    for text in ("<|x|>", "<|x|>hell", "hell<|x|>", " <|x|> ", "  <|x|>  hello  ", "<|endoftext|>\n \n"):
        for allowed in (set(), {"<|x|>"}, {"<|x|>", "<|endoftext|>"}):
            check_unstable(small, text, allowed)


def test_completions_of_long_pieces_equal_tiktoken() -> None:
    """Pieces long enough that only their end is merged, and short enough for tiktoken."""
    pair = learned("cl100k", 600)
    rng = random.Random(3)
    for n in (255, 256, 257, 300, 700):
        for letters in ("a", "ab", "etaoin", "\u4eba\u6c11"):
            check_unstable(pair, "x " + "".join(rng.choices(letters, k=n)))
    for n in (250, 300, 600):
        check_unstable(pair, "x" + " " * n)
        check_unstable(pair, "x" + "\n" * n)
        check_unstable(pair, "x" + "".join(rng.choices(" \n\t", k=n)))


def test_completions_of_a_tail_of_14_000_bytes_are_found() -> None:
    stable, completions = learned("cl100k", 600).ours.encode_with_unstable("word " + "abcdefg" * 2000)
    assert stable
    assert len(completions) > 1


@pytest.mark.parametrize("seed", range(n_rounds(4, 20)))
def test_completions_with_random_ranks_equal_tiktoken(seed: int) -> None:
    rng = random.Random(seed)
    tokens = {bytes(rng.choices(b"ab \n\xc3\xa9", k=rng.randint(2, 6))) for _ in range(200)}
    ranks = dict(zip([*BYTES, *sorted(tokens)], rng.sample(range(1000), 256 + len(tokens)), strict=True))
    pair = Pair("odd", PATTERNS["gpt2"], ranks, {"<a>": 1001})  # type: ignore[arg-type]
    for _ in range(60):
        text = "".join(rng.choices("ab \né", k=rng.randint(0, 14)))
        check_unstable(pair, text)
        data = text.encode() + bytes(rng.choices(b"\xc3\xa9\xffab ", k=rng.randint(0, 4)))
        pair.same(lambda e, data=data: e._encode_bytes(data))
        if data:
            pair.same(lambda e, data=data: e._encode_single_piece(data))


def test_invalid_utf8_bytes_are_encoded_as_in_tiktoken(pair: Pair) -> None:
    rng = random.Random(1)
    sample = (OTHER_SCRIPTS + "hello world \n\n  x").encode()
    for _ in range(300):
        data = bytearray(sample[rng.randrange(40) : rng.randrange(40, len(sample))])
        for _ in range(rng.randrange(3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        pair.same(lambda e, data=bytes(data): e._encode_bytes(data))


def test_unmatched_text_is_left_out_as_in_tiktoken() -> None:
    pair = Pair("partial", "[a-z]+", BYTES | {b"aa": 256}, {"<x>": 257})
    for text in ("aabAaa", "123", "", "aa aa", "A<x>aa", "aa<x>A"):
        assert pair.same(lambda e, text=text: e.encode(text, allowed_special="all")) is not None
        check_unstable(pair, text, {"<x>"})


CALLS: dict[str, Callable[[Any], Any]] = {
    "unknown": lambda e: e.decode([1, 299]),
    "unknown bytes": lambda e: e.decode_bytes([299]),
    "unknown in a batch": lambda e: e.decode_batch([[1], [299]]),
    "unknown in a batch of bytes": lambda e: e.decode_bytes_batch([[1], [299]]),
    "unknown single": lambda e: e.decode_single_token_bytes(299),
    "unknown tokens": lambda e: e.decode_tokens_bytes([1, 299]),
    "unknown with offsets": lambda e: e.decode_with_offsets([299]),
    "negative": lambda e: e.decode([299, -1]),
    "negative single": lambda e: e.decode_single_token_bytes(-1),
    "2**32": lambda e: e.decode([2**32]),
    "2**70": lambda e: e.decode_bytes([2**70]),
    "float": lambda e: e.decode([1.0]),
    "float single": lambda e: e.decode_single_token_bytes(1.0),
    "str as ids": lambda e: e.decode("ab"),
    "bytes as ids": lambda e: e.decode(b"ab"),
    "bytearray as ids": lambda e: e.decode(bytearray(b"ab")),
    "bytes in a batch": lambda e: e.decode_batch([b"ab", [99]]),
    "tuple": lambda e: e.decode((104, 105)),
    "range": lambda e: e.decode(range(97, 100)),
    "bool": lambda e: e.decode([True]),
    "strict": lambda e: e.decode([255], "strict"),
    "ignored": lambda e: e.decode([255, 97], errors="ignore"),
    "escaped": lambda e: e.decode([255], errors="backslashreplace"),
    "unknown handler": lambda e: e.decode([255], "nonsense"),
    "unknown handler unused": lambda e: e.decode([97], "nonsense"),
    "batch strict": lambda e: e.decode_batch([[255]], errors="strict"),
    "half a character": lambda e: e.decode_with_offsets([0xF0, 0x9F]),
    "offsets": lambda e: e.decode_with_offsets([97, 300, 262, 0x91, 0x8D, 98]),
    "single": lambda e: e.encode_single_token("hello"),
    "single special": lambda e: [e.encode_single_token("<|x|>"), e.encode_single_token(b"<|x|>")],
    "no single": lambda e: e.encode_single_token("hi"),
    "no single, empty": lambda e: e.encode_single_token(""),
    "single int": lambda e: e.encode_single_token(5),
    "single surrogate": lambda e: e.encode_single_token("\ud83d"),
    "disallowed": lambda e: e.encode("a<|x|>"),
    "disallowed in a batch": lambda e: e.encode_batch(["a<|x|>"]),
    "disallowed numpy": lambda e: e.encode_to_numpy("a<|x|>"),
    "disallowed unstable": lambda e: e.encode_with_unstable("a<|x|>"),
    "disallowed by characters": lambda e: e.encode("a<|x|>", disallowed_special="|x"),
    "disallowed generator": lambda e: e.encode("a<|x|>", disallowed_special=(n for n in ("<|x|>",))),
    "disallowed ordinary": lambda e: e.encode("hello", disallowed_special=["hell"]),
    "disallowed nothing": lambda e: [
        e.encode("a<|x|>", disallowed_special=empty) for empty in ((), [], None, "", {}, False)
    ],
    "disallowed others": lambda e: e.encode("a<|x|>", disallowed_special={"<|endoftext|>"}),
    "allowed": lambda e: e.encode("a<|x|><|endoftext|>", allowed_special={"<|x|>", "<|endoftext|>"}),
    "allowed and disallowed": lambda e: e.encode("a<|x|><|endoftext|>", allowed_special={"<|x|>"}),
    "allowed all": lambda e: e.encode("a<|x|><|endoftext|>", allowed_special="all"),
    "allowed unknown": lambda e: e.encode("hello", allowed_special={"hello"}),
    "allowed str": lambda e: e.encode("hello", allowed_special="hello"),
    "allowed surrogate": lambda e: e.encode("hello", allowed_special={"<|x|>", "\ud83d"}, disallowed_special=()),
    "allowed surrogate in a batch": lambda e: e.encode_batch(["hello"], allowed_special={"\ud83d"}),
    "allowed surrogate numpy": lambda e: e.encode_to_numpy("hello", allowed_special={"\ud83d"}),
    "allowed None": lambda e: e.encode("hello", allowed_special=None),
    "no text": lambda e: e.encode(None),
    "no text in a batch": lambda e: e.encode_batch(None),
    "a str as a batch": lambda e: e.encode_batch("hello"),
    "an iterator as a batch": lambda e: e.encode_ordinary_batch(iter(["hello", "he"])),
    "threads": lambda e: e.encode_batch(["hello", "he"] * 20, num_threads=3),
    "no thread": lambda e: e.encode_batch([], num_threads=0),
    "no thread, ordinary": lambda e: e.encode_ordinary_batch(["a"], num_threads=0),
    "no thread, decoding": lambda e: e.decode_batch([[97]], num_threads=0),
    "surrogates": lambda e: e.encode("\ud83d\udc4d\ud83d <|x|>", disallowed_special=()),
    "is special": lambda e: [e.is_special_token(i) for i in (0, 300, 301, 302)],
    "is special str": lambda e: e.is_special_token("a"),
    "values": lambda e: e.token_byte_values(),
    "facts": lambda e: (e.name, e.eot_token, e.n_vocab, e.max_token_value, e.special_tokens_set, repr(e), str(e)),
    "private facts": lambda e: (e._pat_str, e._mergeable_ranks, e._special_tokens, e._special_token_values),
    "kind of set": lambda e: type(e.special_tokens_set),
    "native bpe": lambda e: e._encode_only_native_bpe("hello  world"),
    "single piece": lambda e: [e._encode_single_piece("hello  w"), e._encode_single_piece(b"\xff hello")],
    "bytes of a str": lambda e: e._encode_bytes("abc"),
    "two bad ids": lambda e: e.decode_bytes([299, -1]),
    "two bad ids in turn": lambda e: e.decode_tokens_bytes([299, -1]),
    "two bad ids with offsets": lambda e: e.decode_with_offsets([299, -1]),
    "core": lambda e: e._core_bpe.encode("a<|x|>", {"<|x|>"}),
    "core surrogate": lambda e: e._core_bpe.encode("a", {"\ud83d"}),
    "core ordinary": lambda e: e._core_bpe.encode_ordinary("a<|x|>"),
    "core buffer": lambda e: bytes(e._core_bpe.encode_to_tiktoken_buffer("a<|x|>", set())),
    "core piece": lambda e: e._core_bpe.encode_single_piece(b"hello"),
    "core token": lambda e: e._core_bpe.encode_single_token(b"hello"),
    "core bytes": lambda e: e._core_bpe.decode_bytes([259, 300]),
    "core token bytes": lambda e: e._core_bpe.decode_single_token_bytes(259),
    "core values": lambda e: e._core_bpe.token_byte_values(),
    "core bytes in": lambda e: e._core_bpe._encode_bytes(b"hello\xff"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_give_the_results_and_errors_of_tiktoken(small: Pair, call: Callable[[Any], Any]) -> None:
    mine, theirs = outcome(call, small.ours), outcome(call, small.peer)
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), (mine, theirs)
        if isinstance(theirs, (KeyError, ValueError)) and "Encountered" in str(theirs):
            assert str(mine) == str(theirs)
    elif isinstance(theirs, np.ndarray):
        assert mine.tolist() == theirs.tolist()
    else:
        assert mine == theirs


def test_error_messages_equal_tiktoken(small: Pair) -> None:
    with pytest.raises(ValueError, match=r"disallowed special token '<\|x\|>'") as raised:
        small.ours.encode("<|x|>")
    assert str(raised.value) == str(outcome(lambda e: e.encode("<|x|>"), small.peer))
    with pytest.raises(KeyError, match="Invalid token for decoding: 299"):
        small.ours.decode([299])
    assert outcome(lambda e: e.encode_single_token("hi"), small.ours).args == (b"hi",)


BAD: dict[str, dict[str, Any]] = {
    "pattern": {"pat_str": "a("},
    "no ranks": {"mergeable_ranks": {}},
    "size": {"explicit_n_vocab": 7},
    "gap": {"explicit_n_vocab": 257, "special_tokens": {"<x>": 300}},
    "no pattern": {"pat_str": None},
}
WORSE: dict[str, dict[str, Any]] = {  # tiktoken accepts these, and fails later or gives ambiguous ids
    "same rank": {"mergeable_ranks": BYTES | {b"ab": 255}},
    "negative": {"mergeable_ranks": BYTES | {b"ab": -1}},
    "special id taken": {"special_tokens": {"<x>": 255}},
    "empty special": {"special_tokens": {"": 256}},
}
GOOD: dict[str, Any] = {"pat_str": ".+", "mergeable_ranks": BYTES, "special_tokens": {}}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_invalid_arguments_raise_the_errors_of_tiktoken(bad: dict[str, Any]) -> None:
    theirs = outcome(lambda cls: cls("x", **GOOD | bad), tiktoken.Encoding)
    with pytest.raises(type(theirs)):
        ours.Encoding("x", **GOOD | bad)


@pytest.mark.parametrize("bad", WORSE.values(), ids=WORSE)
def test_harmful_arguments_raise_value_error(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        ours.Encoding("x", **GOOD | bad)


def test_compiled_pattern_is_named_as_no_str() -> None:
    with pytest.raises(TypeError, match="pat_str must be a regex as a str, not Pattern"):
        ours.Encoding("x", **GOOD | {"pat_str": re.compile(".")})


def test_special_tokens_may_share_an_id() -> None:
    pair = Pair("shared", ".+", BYTES, {"<x>": 300, "<y>": 300})
    assert pair.same(lambda e: e.encode("<x><y>", allowed_special="all")) == [300, 300]
    assert pair.same(lambda e: [e.encode_single_token(name) for name in ("<x>", "<y>")]) == [300, 300]
    assert pair.ours.decode([300]) == "<x>", "the first; in tiktoken either"


def test_special_token_may_have_the_text_of_an_ordinary_token() -> None:
    pair = Pair("shared", "[a-z]+|.", BYTES | {b"ab": 256}, {"ab": 300, "c": 301})
    assert pair.same(lambda e: e.encode("abcab", allowed_special="all")) == [300, 301, 300]
    assert pair.same(lambda e: e.encode("ab c ab", allowed_special={"c"}, disallowed_special=())) == [
        256, 32, 301, 32, 256,
    ]  # fmt: skip
    assert pair.same(lambda e: e.encode_ordinary("ab c")) == [256, 32, 99]
    assert pair.same(lambda e: [e.encode_single_token(name) for name in ("ab", "c")]) == [256, 99]
    assert pair.same(lambda e: e.decode([300, 256, 301, 99])) == "ababcc"
    assert pair.same(lambda e: (e.n_vocab, e.encode("ab") if "ab" not in e.special_tokens_set else None))
    pair.same(lambda e: e.encode("xaby"))


def test_ranks_may_contain_a_special_token_with_its_id() -> None:
    ranks = {b"<s>": 0, b"[P]": 1, **{token: rank + 2 for token, rank in BYTES.items()}, b"ab": 258}
    special = {"<s>": 0, "[P]": 1, "<new>": 259}
    pair = Pair("contained", r"<s>|[a-z]+|\s+|.", ranks, special)
    for text in ("<s>ab [P]<new>", "a<s>", "[P]"):
        for allowed in ("all", {"<new>"}, set()):
            pair.same(lambda e, t=text, a=allowed: e.encode(t, allowed_special=a, disallowed_special=()))
        pair.same(lambda e, t=text: e.encode(t))
        pair.same(lambda e, t=text: e.encode_ordinary(t))
    assert pair.same(lambda e: e.encode("<s>ab<new>", allowed_special="all")) == [0, 258, 259]
    assert pair.same(lambda e: e.decode([0, 258, 1, 259])) == "<s>ab[P]<new>"
    pair.same(lambda e: [e.decode_single_token_bytes(i) for i in (0, 1, 258, 259)])
    pair.same(lambda e: [e.encode_single_token(name) for name in special])
    pair.same(lambda e: [e.is_special_token(i) for i in (0, 1, 2, 259)])
    pair.same(lambda e: (e.n_vocab, e.max_token_value, e.special_tokens_set, e.token_byte_values()))


def test_wrong_ranks_are_told_apart() -> None:
    for ranks, said in (
        ({}, "mergeable_ranks must contain a token"),
        ({b"a": -1}, "the rank -1 must not be negative"),
    ):
        with pytest.raises(ValueError, match=said):
            ours.Encoding("x", pat_str=".", mergeable_ranks=ranks, special_tokens={})


def test_explicit_n_vocab_is_accepted() -> None:
    assert ours.Encoding("x", **GOOD, explicit_n_vocab=256).n_vocab == 256


# Copies, pickles and attributes.


def test_pickles_and_copies_are_equal(small: Pair) -> None:
    for again in (pickle.loads(pickle.dumps(small.ours)), copy.copy(small.ours), copy.deepcopy(small.ours)):
        assert again.name == "small"
        assert again.encode("hello<|x|>", allowed_special="all") == [259, 301]
        assert again._mergeable_ranks == small.ours._mergeable_ranks


def test_attributes_can_be_set(small: Pair) -> None:
    encoding = copy.copy(small.ours)
    encoding.name = "renamed"
    assert repr(encoding) == "<Encoding 'renamed'>"


# Published vocabularies.


#: Conversions that no library publishes, so any pattern will do: some of their ranks are made by no merge.
CONVERTED = {"deepseek_v3": "llama3", "mistral_tekken_v3": "tekken"}


@lru_cache
def published_pair(name: str) -> Pair:
    if name in CONVERTED:
        ranks = tiktoken.load.load_tiktoken_bpe(str(data_file("vocab", f"{name}.tiktoken")))
        return Pair(name, PATTERNS[CONVERTED[name]], ranks, {})  # type: ignore[arg-type]
    peer = published_peer(name)
    return Pair(name, peer._pat_str, peer._mergeable_ranks, peer._special_tokens)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the shared data under tiktoken's file names, and no network."""
    site = fastbpe.known_vocabularies.OPENAI_SITE
    urls = {f"{site}/encodings/{name}.tiktoken": f"{name}.tiktoken" for name in OPENAI}
    urls |= {f"{site}/gpt-2/encodings/main/{n}": f"gpt2_{n}" for n in ("vocab.bpe", "encoder.json")}
    import hashlib

    for url, file in urls.items():
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).symlink_to(data_file("vocab", file).resolve())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    monkeypatch.setattr(fastbpe.tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return tmp_path


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", tiktoken.list_encoding_names())
def test_get_encoding_equals_tiktoken(cache: Path, name: str) -> None:
    mine, theirs = ours.get_encoding(name), tiktoken.get_encoding(name)
    assert mine is ours.get_encoding(name)
    assert pickle.loads(pickle.dumps(mine)) is mine
    assert (mine.name, mine._pat_str, mine._special_tokens) == (
        theirs.name,
        theirs._pat_str,
        theirs._special_tokens,
    )
    assert mine._mergeable_ranks == theirs._mergeable_ranks
    arguments = fastbpe.tiktoken.published.ENCODING_CONSTRUCTORS[name]()
    expected = tiktoken.registry.ENCODING_CONSTRUCTORS[name]()  # type: ignore[index]
    assert arguments == expected
    assert (mine.n_vocab, mine.eot_token) == (theirs.n_vocab, theirs.eot_token)
    text = "naïve 안녕 <|endoftext|> hello123"
    assert mine.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")


def test_encoding_for_model_returns_the_cached_encoding(cache: Path) -> None:
    assert ours.encoding_for_model("gpt-4") is ours.get_encoding("cl100k_base")


def test_unknown_model_raises_an_error_that_begins_as_in_tiktoken() -> None:
    beginnings = []
    for module in (ours, tiktoken):
        with pytest.raises(KeyError) as caught:
            module.encoding_for_model("no-model-9")
        beginnings.append(caught.value.args[0][:55])
    assert beginnings == ["Could not automatically map no-model-9 to a tokeniser" + end for end in ("; ", ". ")]


@pytest.mark.daily
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [*PUBLISHED, *CONVERTED] if FULL else [*OPENAI, *CONVERTED])
@pytest.mark.parametrize("file", CORPORA)
def test_lines_of_real_text_equal_tiktoken(name: str, file: str) -> None:
    pair = published_pair(name)
    lines = corpus(file, n_rounds(60_000, 3_000_000)).splitlines(keepends=True)
    batch = pair.same(lambda e: e.encode_batch(lines, disallowed_special=()))
    pair.same(lambda e: e.decode_batch(batch))
    for ids in batch[:: 1 if FULL else 20]:
        pair.same(lambda e, ids=ids: e.decode_with_offsets(ids))
        pair.same(lambda e, ids=ids: e.decode_tokens_bytes(ids))


# The module _educational.


def printed(call: Callable[[], Any]) -> tuple[Any, str]:
    out = io.StringIO()
    with redirect_stdout(out):
        result = call()
    return result, out.getvalue()


@pytest.mark.parametrize("visualise", ["colour", "color", "simple", None])
def test_educational_encoding_prints_as_tiktoken(visualise: str | None) -> None:
    ranks = BYTES | {b"he": 256, b"ll": 257, b"hell": 258, b" w": 259}
    results = []
    for module in (tiktoken._educational, fastbpe.tiktoken._educational):
        encoding = module.SimpleBytePairEncoding(pat_str=r"\w+|\W+", mergeable_ranks=ranks)
        results.append(printed(lambda e=encoding: e.encode("hell well é", visualise=visualise)))
        assert encoding.decode(results[0][0]) == "hell well é"
        results[-1] += (encoding.decode_tokens_bytes(results[0][0]),)
    assert results[0] == results[1]


def test_educational_training_learns_as_tiktoken() -> None:
    text = standard_library(3000)
    for size in (257, 280):
        arguments = (text, size, r"\w+|\s+|[^\w\s]+")
        mine, _ = printed(lambda a=arguments: fastbpe.tiktoken._educational.bpe_train(*a, visualise=None))
        assert mine == tiktoken._educational.bpe_train(*arguments, visualise=None)
    encoding, shown = printed(
        lambda: fastbpe.tiktoken._educational.SimpleBytePairEncoding.train("ab abc abcd", 258, r"\w+|\s")
    )
    assert "\x1b[48;5;167mab" in shown
    assert encoding.mergeable_ranks == tiktoken._educational.bpe_train("ab abc abcd", 258, r"\w+|\s", None)
    with pytest.raises(ValueError, match="256"):
        fastbpe.tiktoken._educational.bpe_train("ab", 255, ".")


def test_educational_colours_equal_tiktoken() -> None:
    rng = random.Random(0)
    for _ in range(50):
        tokens = ["abc é🙂\n".encode()[rng.randrange(5) :][: rng.randint(1, 7)] for _ in range(rng.randint(0, 12))]
        mine = printed(lambda t=tokens: fastbpe.tiktoken._educational.visualise_tokens(t))
        assert mine == printed(lambda t=tokens: tiktoken._educational.visualise_tokens(t))


# The module load.


def test_dumped_file_is_read_by_both(tmp_path: Path) -> None:
    ranks = BYTES | {b"ab": 300, b"abc": 256}
    path = str(tmp_path / "x.tiktoken")
    fastbpe.tiktoken.load.dump_tiktoken_bpe(ranks, path)
    mine, theirs = fastbpe.tiktoken.load.load_tiktoken_bpe(path), tiktoken.load.load_tiktoken_bpe(path)
    assert mine == theirs == ranks
    assert list(mine) == list(theirs)


def test_gpt2_files_are_read_as_by_tiktoken(tmp_path: Path) -> None:
    merges = [(b"h", b"e"), (b" ", b"he"), (b"\n", b"\n")]
    ids = {character: i for i, character in enumerate(sorted(BYTE_OF_CHARACTER))}
    ids |= {text_of(left + right): 256 + i for i, (left, right) in enumerate(merges)} | {"<|endoftext|>": 259}
    bpe, encoder = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    bpe.write_text("#version\n" + "".join(f"{text_of(a)} {text_of(b)}\n" for a, b in merges), encoding="utf-8")
    encoder.write_text(json.dumps(ids), encoding="utf-8")
    arguments = (str(bpe), str(encoder))
    for clobber in (False, True):
        mine = fastbpe.tiktoken.load.data_gym_to_mergeable_bpe_ranks(*arguments, clobber_one_byte_tokens=clobber)
        assert mine == tiktoken.load.data_gym_to_mergeable_bpe_ranks(*arguments, clobber_one_byte_tokens=clobber)
    encoder.write_text(json.dumps(ids | {"Ġhe": 300}), encoding="utf-8")
    with pytest.raises(AssertionError, match="differ"):
        fastbpe.tiktoken.load.data_gym_to_mergeable_bpe_ranks(*arguments)
    bpe.write_text("#version\na b c\n", encoding="utf-8")
    with pytest.raises(ValueError, match=":2:"):
        fastbpe.tiktoken.load.data_gym_to_mergeable_bpe_ranks(*arguments)


def test_all_published_encodings_are_covered() -> None:
    assert list(fastbpe.tiktoken.published.ENCODING_CONSTRUCTORS) == tiktoken.list_encoding_names()
    assert published("cl100k_base").name == "cl100k_base"


def test_token_byte_values_returns_a_copy() -> None:
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
    encoding = ours.Encoding("small", pat_str=".+", mergeable_ranks=ranks, special_tokens={})
    encoding.token_byte_values().clear()
    assert encoding.token_byte_values() == sorted(ranks)
