"""A tokenizer is a value: equal by content, hashable, picklable, copyable and immutable."""

import copy
import json
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.model import Model
from helpers.child_processes import run_python
from helpers.shared_data import BYTES, published

RANKS = {**BYTES, b"ab": 256, b"abc": 257}
SPECIAL = {"<s>": 300, "</s>": 301}

make: Callable[..., Tokenizer] = Tokenizer.from_ranks


@pytest.fixture
def tokenizer() -> Tokenizer:
    return make(RANKS, pattern="cl100k", special_tokens=SPECIAL, name="small")


def test_unpickled_tokenizer_keeps_the_limit_of_its_caches() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, cache_bytes=1 << 10)
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again._cache_bytes == again.with_tokens(["<x>"])._cache_bytes == 1 << 10


def with_merges() -> Tokenizer:
    """Return a tokenizer that merges by a list of pairs, as some file formats do."""
    tokens = [*BYTES, b"ab", b"abc"]
    merges = b"".join(i.to_bytes(4, "little") for i in (97, 98, 256, 256, 99, 257))
    return Tokenizer(
        Model(tokens=tokens, pattern="cl100k", special_tokens={}, merges=merges, merges_rule="merges")
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_unpickled_tokenizer_is_equal(tokenizer: Tokenizer, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(tokenizer, protocol))
    assert again == tokenizer
    assert hash(again) == hash(tokenizer)
    assert repr(again) == repr(tokenizer)
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode("abc ab<s>", allowed_special="all") == [257, 32, 256, 300]
    for fact in (
        "vocab",
        "merges",
        "special_tokens",
        "name",
        "pattern",
        "n_vocab",
        "vocab_size",
        "training_report",
    ):
        assert getattr(again, fact) == getattr(tokenizer, fact), fact


def test_pickling_gives_the_same_bytes_each_time(tokenizer: Tokenizer, code_tokenizer: Tokenizer) -> None:
    for each in (tokenizer, code_tokenizer, with_merges()):
        once = pickle.dumps(each)
        assert pickle.dumps(each) == once
        assert pickle.dumps(pickle.loads(once)) == once
        each.encode("def f(): pass")
        assert pickle.dumps(each) == once


def test_pickle_is_smaller_than_three_vocabularies(code_tokenizer: Tokenizer) -> None:
    assert len(pickle.dumps(code_tokenizer)) < 3 * sum(map(len, code_tokenizer.vocab))


def test_published_vocabulary_pickles_smaller_than_its_file() -> None:
    tokenizer = published("cl100k_base")
    data = pickle.dumps(tokenizer)
    assert len(data) < 1_300_000
    again = pickle.loads(data)
    assert again == tokenizer
    assert again.encode("hello123!!!? (안녕하세요!) 😉") == tokenizer.encode("hello123!!!? (안녕하세요!) 😉")


def test_training_report_survives_pickling(code_tokenizer: Tokenizer) -> None:
    assert code_tokenizer.training_report["vocab_size"] == 1000
    assert pickle.loads(pickle.dumps(code_tokenizer)).training_report == code_tokenizer.training_report


def test_tokenizer_works_in_spawned_processes(tokenizer: Tokenizer) -> None:
    texts = ["abc", "ab", "<s>", "日本"]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(tokenizer.encode_ordinary, texts)) == [tokenizer.encode_ordinary(t) for t in texts]


def test_copies_are_the_same_object(tokenizer: Tokenizer) -> None:
    assert copy.copy(tokenizer) is tokenizer
    assert copy.deepcopy(tokenizer) is tokenizer
    assert copy.deepcopy([tokenizer, tokenizer])[0] is tokenizer


def test_tokenizers_are_equal_by_content(tokenizer: Tokenizer) -> None:
    same = make(dict(reversed(RANKS.items())), pattern=fastbpe.PATTERNS["cl100k"], special_tokens=SPECIAL)
    assert same is not tokenizer
    assert same == tokenizer
    assert len({same, tokenizer}) == 1
    assert tokenizer != "small"
    assert tokenizer.__eq__(5) is NotImplemented


CHANGED = {
    "a token more": make({**RANKS, b"cd": 258}, pattern="cl100k", special_tokens=SPECIAL),
    "another token": make({**BYTES, b"ab": 256, b"abd": 257}, pattern="cl100k", special_tokens=SPECIAL),
    "another rank": make({**BYTES, b"ab": 256, b"abc": 258}, pattern="cl100k", special_tokens=SPECIAL),
    "ranks swapped": make({**BYTES, b"ab": 257, b"abc": 256}, pattern="cl100k", special_tokens=SPECIAL),
    "tokens cut elsewhere": make({**BYTES, b"aba": 256, b"bc": 257}, pattern="cl100k", special_tokens=SPECIAL),
    "another pattern": make(RANKS, pattern="gpt2", special_tokens=SPECIAL),
    "no pattern": make(RANKS, pattern=None, special_tokens=SPECIAL),
    "no special tokens": make(RANKS, pattern="cl100k"),
    "a special token more": make(RANKS, pattern="cl100k", special_tokens={**SPECIAL, "<x>": 302}),
    "another special text": make(RANKS, pattern="cl100k", special_tokens={"<s>": 300, "</S>": 301}),
    "another special id": make(RANKS, pattern="cl100k", special_tokens={"<s>": 300, "</s>": 302}),
    "special ids swapped": make(RANKS, pattern="cl100k", special_tokens={"<s>": 301, "</s>": 300}),
}


@pytest.mark.parametrize("change", CHANGED)
def test_change_that_affects_ids_changes_the_fingerprint(tokenizer: Tokenizer, change: str) -> None:
    assert CHANGED[change].fingerprint != tokenizer.fingerprint
    assert CHANGED[change] != tokenizer


def test_every_change_gives_another_fingerprint(tokenizer: Tokenizer) -> None:
    assert len({tokenizer, *CHANGED.values()}) == 1 + len(CHANGED)


def test_merge_lists_change_the_fingerprint() -> None:
    listed = with_merges()
    assert listed.encode("abc") == [257]
    ranked = make(RANKS, pattern="cl100k")
    whole_first = Tokenizer(listed._family.own._replace(tokens=[*BYTES, b"ab", b"abc"], whole_piece_first=False))
    one_merge = Tokenizer(
        listed._family.own._replace(tokens=[*BYTES, b"ab", b"abc"], merges=listed._family.own.merges[:12])
    )
    assert len({each.fingerprint for each in (listed, ranked, whole_first, one_merge)}) == 4


def test_name_and_order_leave_the_fingerprint_unchanged(tmp_path: Path, tokenizer: Tokenizer) -> None:
    path = tmp_path / "small.fbpe"
    tokenizer.save(path)
    order = {"</s>": 301, "<s>": 300}
    for same in (
        make(RANKS, pattern="cl100k", special_tokens=SPECIAL, name="other"),
        make(RANKS, pattern="cl100k", special_tokens=order),
        make(RANKS, pattern="cl100k", special_tokens={"<s>": 300}).with_special_tokens({"</s>": 301}),
        fastbpe.load(path),
        fastbpe.load(path.read_bytes()),
        fastbpe.load(path, special_tokens=order),
    ):
        assert same.fingerprint == tokenizer.fingerprint
        assert list(same.special_tokens) == ["<s>", "</s>"]


def test_training_options_without_effect_leave_the_fingerprint_unchanged() -> None:
    options = {"vocab_size": 260, "pattern": None, "progress": False}
    one = fastbpe.train(["aaabdaaabac" * 9], **options)
    other = fastbpe.train(["aaabdaaabac" * 8, "aaabdaaabac"], min_count=2, **options)
    assert one == other
    assert one.training_report != other.training_report


@pytest.mark.daily
def test_fingerprint_is_a_sha256_independent_of_the_process(tokenizer: Tokenizer) -> None:
    assert re.fullmatch("[0-9a-f]{64}", tokenizer.fingerprint)
    program = """
from fastbpe import Tokenizer
ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257}
special = {"<s>": 300, "</s>": 301}
print(Tokenizer.from_ranks(ranks, pattern="cl100k", special_tokens=special).fingerprint, end="")
"""
    assert {run_python(program, PYTHONHASHSEED=seed) for seed in "012"} == {tokenizer.fingerprint}


def test_repr_describes_the_tokenizer(tokenizer: Tokenizer) -> None:
    shown = repr(tokenizer)
    for part in ("fastbpe.Tokenizer", "'small'", "byte mode", "260 tokens", "2 special", "cl100k"):
        assert part in shown
    assert tokenizer.fingerprint[:12] in shown
    assert "pattern none" in repr(make(BYTES, pattern=None))
    assert r"'\\w+|\\W+'" in repr(make(BYTES, pattern=r"\w+|\W+"))
    assert len(repr(make(BYTES, pattern=r"\w+|\W+" + r"|\d" * 200))) < 300


def test_repr_counts_the_pre_tokenizers_of_a_file() -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}
    steps = [{"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}]
    for pre_tokenizer, shown in (
        (steps[0], " 1 pre-tokenizer ("),
        ({"type": "Sequence", "pretokenizers": steps}, " 2 pre-tokenizers ("),
    ):
        file = {"model": model, "pre_tokenizer": pre_tokenizer}
        assert shown in repr(fastbpe.load(json.dumps(file).encode()))


def test_with_special_tokens_leaves_the_original_unchanged(tokenizer: Tokenizer) -> None:
    before = (
        tokenizer.fingerprint,
        tokenizer.special_tokens,
        tokenizer.n_vocab,
        repr(tokenizer),
        tokenizer.vocab,
    )
    more = tokenizer.with_special_tokens({"<x>": 400})
    assert more != tokenizer
    assert more.name == tokenizer.name
    assert before == (
        tokenizer.fingerprint, tokenizer.special_tokens, tokenizer.n_vocab, repr(tokenizer), tokenizer.vocab
    )  # fmt: skip
    assert more.with_special_tokens({}) == more


def test_properties_have_no_setter(tokenizer: Tokenizer) -> None:
    for name in ("pattern", "special_tokens", "vocab_size", "n_vocab", "name", "mode"):
        with pytest.raises(AttributeError):
            setattr(tokenizer, name, None)


@pytest.mark.parametrize("listed", ["vocab", "merges", "special_tokens", "training_report"])
def test_returned_containers_are_copies(listed: str) -> None:
    tokenizer = fastbpe.train(
        ["aaabdaaabac"], vocab_size=260, pattern=None, special_tokens=["<s>"], progress=False
    )
    fresh = copy.deepcopy(getattr(tokenizer, listed))
    getattr(tokenizer, listed).clear()
    assert getattr(tokenizer, listed) == fresh


def test_special_tokens_argument_is_copied() -> None:
    special = {"<s>": 300}
    tokenizer = make(RANKS, pattern=None, special_tokens=special)
    before = pickle.dumps(tokenizer)
    special["<t>"] = 301
    assert tokenizer.special_tokens == {"<s>": 300}
    assert pickle.dumps(tokenizer) == before
