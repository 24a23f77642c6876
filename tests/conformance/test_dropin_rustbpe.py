"""fastbpe.rustbpe against rustbpe 0.1.0, and nanochat's way to train and evaluate a tokenizer over the faces."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rustbpe as original

import fastbpe
from fastbpe import rustbpe, tiktoken
from helpers.sampling import rounds
from helpers.shared_data import corpus, random_texts, standard_library

#: nanochat's split pattern: GPT-4's, with one or two digits per piece.
NANOCHAT_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
ERRORS = (OverflowError, UnicodeEncodeError, TypeError, ValueError, AttributeError)
PATTERNS = [
    None,
    NANOCHAT_PATTERN,
    r"\w+",
    r"[ab]+",
    r"\p{Han}+|[a-z]+",
    r"(?i)ab|\d+",
    r"[^\s]+",
    "a",
    r"(a)\1|b+",
]


def both(texts: list[str], vocab_size: int, pattern: str | None) -> tuple[Any, rustbpe.Tokenizer]:
    """Train the original and ours on the same texts."""
    pair = original.Tokenizer(), rustbpe.Tokenizer()
    for tokenizer in pair:
        tokenizer.train_from_iterator(iter(texts), vocab_size, pattern=pattern)
    return pair


def assert_equal(theirs: Any, ours: rustbpe.Tokenizer, texts: list[str]) -> None:
    assert ours.vocab_size == theirs.vocab_size
    assert ours.get_pattern() == theirs.get_pattern()
    assert ours.get_mergeable_ranks() == theirs.get_mergeable_ranks()
    expected = [theirs.encode(text) for text in texts]
    assert [ours.encode(text) for text in texts] == expected
    assert ours.batch_encode(texts) == expected
    for ids in expected:
        assert answer(ours.decode, ids) == answer(theirs.decode, ids)


def answer(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the result of a call, or the builtin class of its error."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return next(cls for cls in ERRORS if isinstance(error, cls))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_ranks_and_ids_equal_rustbpe_on_random_texts(pattern: str | None) -> None:
    for seed in rounds(12, 400):
        rng = random.Random(seed)
        texts = [*random_texts(rng), rng.choice(["", "12 345 漢字かな", "É😉é\r\n\n  x", "don't DON'T"])]
        theirs, ours = both(texts * rng.randint(1, 3), 256 + rng.choice([0, 1, 5, 40]), pattern)
        assert_equal(theirs, ours, [*texts, " ".join(random_texts(rng)), "", "zz aB 99\n"])


@pytest.mark.parametrize("name", ["english.txt", "multilingual.txt"])
def test_real_text_trains_to_the_ranks_of_rustbpe(name: str) -> None:
    text = corpus(name, 300_000)
    documents = [text[i : i + 5_000] for i in range(0, len(text), 5_000)]
    theirs, ours = both(documents, 1_000, NANOCHAT_PATTERN)
    assert_equal(theirs, ours, documents[:20])


def test_code_trains_to_the_ranks_of_rustbpe_with_the_default_pattern() -> None:
    documents = standard_library(200_000).splitlines(keepends=True)
    theirs, ours = both(documents, 600, None)
    assert_equal(theirs, ours, documents[:200])


@pytest.mark.daily
def test_long_document_is_counted_like_many_short_ones() -> None:
    text = standard_library(4_000_000)
    theirs, ours = both([text], 300, None)
    assert ours.get_mergeable_ranks() == theirs.get_mergeable_ranks()


def test_new_tokenizer_equals_a_new_one_of_rustbpe() -> None:
    assert_equal(original.Tokenizer(), rustbpe.Tokenizer(), ["", "text"])
    assert rustbpe.Tokenizer().decode([104, 105]) == original.Tokenizer().decode([104, 105])


def test_training_again_replaces_all_that_was_learned() -> None:
    theirs, ours = both(["aaab aaab"], 260, None)
    for tokenizer in (theirs, ours):
        tokenizer.train_from_iterator(["xyxyx"], 257, 4, r"\w+")
    assert_equal(theirs, ours, ["aaab", "xyxy"])


def test_parameters_have_the_names_and_defaults_of_rustbpe() -> None:
    documented = "(self, iterator, vocab_size, buffer_size=8192, pattern=None)"  # text_signature of rustbpe 0.1.0
    signature = inspect.signature(rustbpe.Tokenizer.train_from_iterator)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(plain)) == documented
    public = {name for name in dir(original.Tokenizer) if not name.startswith("_")}
    assert {name for name in dir(rustbpe.Tokenizer) if not name.startswith("_")} == public
    assert rustbpe.__all__ == original.__all__


CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("encode bytes", lambda t: t.encode(b"aa")),
    ("encode None", lambda t: t.encode(None)),
    ("encode nothing", lambda t: t.encode()),
    ("encode two", lambda t: t.encode("a", "b")),
    ("encode by name", lambda t: t.encode(text="aaab")),
    ("encode surrogate", lambda t: t.encode("a\ud800")),
    ("encode split pair", lambda t: t.encode("\ud83d\ude00")),
    ("batch of tuple", lambda t: t.batch_encode(("a", "b"))),
    ("batch of iterator", lambda t: t.batch_encode(iter(["a"]))),
    ("batch of str", lambda t: t.batch_encode("ab")),
    ("batch of dict", lambda t: t.batch_encode({"a": 1})),
    ("batch of set", lambda t: t.batch_encode({"a"})),
    ("batch of None", lambda t: t.batch_encode(None)),
    ("batch of ints", lambda t: t.batch_encode([1])),
    ("batch with surrogate", lambda t: t.batch_encode(["a", "\ud800"])),
    ("empty batch", lambda t: t.batch_encode([])),
    ("decode empty", lambda t: t.decode([])),
    ("decode tuple", lambda t: t.decode((97, 98))),
    ("decode range", lambda t: t.decode(range(97, 100))),
    ("decode bytes", lambda t: t.decode(b"abc")),
    ("decode bool", lambda t: t.decode([True])),
    ("decode iterator", lambda t: t.decode(iter([97]))),
    ("decode set", lambda t: t.decode({97})),
    ("decode dict", lambda t: t.decode({97: 1})),
    ("decode str", lambda t: t.decode("a")),
    ("decode None", lambda t: t.decode(None)),
    ("decode float", lambda t: t.decode([97.0])),
    ("decode unknown", lambda t: t.decode([97, 999])),
    ("decode negative", lambda t: t.decode([-1])),
    ("decode beyond 32 bits", lambda t: t.decode([1 << 32])),
    ("decode greatest", lambda t: t.decode([(1 << 32) - 1])),
    ("decode half a character", lambda t: t.decode([0xC3])),
    ("train ints", lambda t: t.train_from_iterator([1], 258)),
    ("train bytes", lambda t: t.train_from_iterator([b"aa"], 258)),
    ("train surrogate", lambda t: t.train_from_iterator(["\ud800"], 258)),
    ("train no iterable", lambda t: t.train_from_iterator(5, 258)),
    ("train a str", lambda t: t.train_from_iterator("aaab", 258)),
    ("train by names", lambda t: t.train_from_iterator(iterator=["aaab"], vocab_size=258)),
    ("train to a float", lambda t: t.train_from_iterator(["a"], 300.0)),
    ("train to a negative size", lambda t: t.train_from_iterator(["a"], -1)),
    ("train beyond 32 bits", lambda t: t.train_from_iterator(["a"], 1 << 32)),
    ("train with a negative buffer", lambda t: t.train_from_iterator(["a"], 300, -1)),
    ("train with half a buffer", lambda t: t.train_from_iterator(["a"], 300, 2.5)),
    ("train with pattern 5", lambda t: t.train_from_iterator(["a"], 300, pattern=5)),
    ("train with open group", lambda t: t.train_from_iterator(["a"], 300, pattern="(")),
    ("set vocab_size", lambda t: setattr(t, "vocab_size", 3)),
    ("unknown argument", lambda t: t.train_from_iterator(["a"], 300, patern="a")),
    ("make with argument", lambda t: type(t)(1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_call_answers_or_fails_as_with_rustbpe(name: str, call: Callable[[Any], Any]) -> None:
    theirs, ours = both(["aaab ab aaab"], 259, None)
    assert answer(call, ours) == answer(call, theirs)


def test_too_small_vocab_size_is_a_value_error_where_rustbpe_panics() -> None:
    with pytest.raises(BaseException, match="vocab_size must be at least 256") as caught:
        original.Tokenizer().train_from_iterator(["a"], 255)
    assert not isinstance(caught.value, Exception)
    with pytest.raises(ValueError, match="vocab_size must be at least 256"):
        rustbpe.Tokenizer().train_from_iterator(["a"], 255)


def test_empty_buffer_is_refused_where_rustbpe_never_returns() -> None:
    with pytest.raises(ValueError, match="buffer_size=0"):
        rustbpe.Tokenizer().train_from_iterator(["a"], 256, buffer_size=0)


def test_bytes_that_are_not_utf8_are_the_error_that_rustbpe_means() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        rustbpe.Tokenizer().decode([97, 0xFF])
    assert isinstance(caught.value, TypeError)  # rustbpe 0.1.0 raises it, since it cannot make the other
    assert caught.value.start == 1


def test_failed_training_changes_nothing() -> None:
    def broken() -> Iterator[str]:
        yield "xyxy"
        raise KeyError("lost")

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(["aaab"], 258, pattern=r"\w+")
    before = pickle.dumps(tokenizer)
    with pytest.raises(KeyError, match="lost"):
        tokenizer.train_from_iterator(broken(), 300)
    with pytest.raises(fastbpe.PatternError, match="Invalid regex pattern"):
        tokenizer.train_from_iterator(["xyxy"], 300, pattern="[a-")
    assert pickle.dumps(tokenizer) == before


def test_pickles_and_copies_have_the_same_ids_also_after_use() -> None:
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(["aaab ab"], 260, pattern=r"\w+")
    before = pickle.dumps(tokenizer)
    ids = tokenizer.encode("aaab abab")
    assert pickle.dumps(tokenizer) == before
    for other in (pickle.loads(before), copy.copy(tokenizer), copy.deepcopy(tokenizer)):
        assert other.encode("aaab abab") == ids
        assert other.get_mergeable_ranks() == tokenizer.get_mergeable_ranks()
        other.train_from_iterator(["zz"], 257)
    assert tokenizer.encode("aaab abab") == ids


def test_threads_see_the_old_merges_or_the_new_ones() -> None:
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(["abab"], 258, pattern=r"\w+")
    seen = set()
    stop = threading.Event()

    def encode() -> None:
        while not stop.is_set():
            seen.add(tuple(tokenizer.encode("abab zz")))

    thread = threading.Thread(target=encode)
    thread.start()
    for i in range(50):
        tokenizer.train_from_iterator([["abab"], ["zz"]][i % 2], 258, pattern=[r"\w+", "z+"][i % 2])
    stop.set()
    thread.join()
    assert seen <= {(257, 122, 122), (256,)}


# nanochat, written by hand: its training script, its pickle, and its evaluation.

SPECIAL_TOKENS = ["<|bos|>", "<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>"]


def nanochat_encoding(bpe: Any, tokens: Any, documents: Iterator[str], vocab_size: int) -> Any:
    """Train with a module like rustbpe, and make the Encoding of a module like tiktoken."""
    trainer = bpe.Tokenizer()
    trainer.train_from_iterator(documents, vocab_size - len(SPECIAL_TOKENS), pattern=NANOCHAT_PATTERN)
    ranks = {bytes(token): rank for token, rank in trainer.get_mergeable_ranks()}
    special = {name: len(ranks) + i for i, name in enumerate(SPECIAL_TOKENS)}
    pattern = trainer.get_pattern()
    return tokens.Encoding(name="rustbpe", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


def nanochat_run(bpe: Any, tokens: Any, folder: Path, texts: list[str]) -> list[Any]:
    """Train, save, load, encode and evaluate as nanochat does; return all that it gives."""
    cropped = (text[:10_000] for text in texts)
    encoding = nanochat_encoding(bpe, tokens, cropped, 600)
    path = folder / "tokenizer.pkl"
    with path.open("wb") as file:
        pickle.dump(encoding, file)
    with path.open("rb") as file:
        encoding = pickle.load(file)
    bos = encoding.encode_single_token("<|bos|>")
    rows = encoding.encode_ordinary_batch(texts, num_threads=8)
    for row in rows:
        row.insert(0, bos)
    special = {encoding.encode_single_token(name) for name in encoding.special_tokens_set}
    token_bytes = [
        0 if token_id in special else len(encoding.decode_single_token_bytes(token_id))
        for token_id in range(encoding.n_vocab)
    ]
    bytes_a_token = sum(len(text.encode()) for text in texts) / sum(map(len, rows))
    user = encoding.encode_single_token("<|user_start|>")
    chat = [bos, user, *encoding.encode_ordinary("Why is the sky blue? <|bos|>")]
    return [encoding.n_vocab, rows, token_bytes, bytes_a_token, encoding.decode(rows[0][1:]), chat]


def test_nanochat_trains_saves_and_evaluates_the_same(tmp_path: Path) -> None:
    import tiktoken as original_tiktoken

    text = standard_library(120_000) + " 你好世界 🌍 I'm, you're 123 4567\n"
    texts = [text[i : i + 12_000] for i in range(0, len(text), 12_000)]
    expected = nanochat_run(original, original_tiktoken, tmp_path, texts)
    assert nanochat_run(rustbpe, tiktoken, tmp_path, texts) == expected
    assert expected[4] == texts[0]
