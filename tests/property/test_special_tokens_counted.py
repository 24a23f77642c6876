"""Counting and cutting with allowed special tokens equal `encode` with them, for every kind of tokenizer."""

from __future__ import annotations

import gc
import pickle
import random
from typing import Any

import numpy
import pytest

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer
from helpers.sampling import SEED
from helpers.streaming import NAMES, made

SPECIAL = ["<|x|>", "<|yy|>", "<|x|>a"]
PARTS = [*SPECIAL, "<|", "|>", "ab", " ", "  ", "abc", "1", "\n", "é", "漢", "🙂", "ba ab", "<"]


def tokenizer_of(name: str) -> Tokenizer:
    base = made(name)
    return base.with_special_tokens([special for special in SPECIAL if special not in base.special_tokens])


def texts(rng: random.Random, n: int) -> list[str]:
    return ["".join(rng.choices(PARTS, k=rng.choice([0, 1, 3, 9, 40, 400]))) for _ in range(n)]


def choices(rng: random.Random) -> Any:
    return rng.choice(["all", {"<|x|>"}, {"<|yy|>", "<|x|>a"}, set()])


@pytest.mark.parametrize("name", NAMES)
def test_counts_equal_the_numbers_of_ids(name: str) -> None:
    rng, tokenizer = random.Random(f"{name} {SEED}"), tokenizer_of(name)
    for text in texts(rng, 30):
        allowed = choices(rng)
        n = len(tokenizer.encode(text, allowed_special=allowed, disallowed_special=()))
        assert tokenizer.count(text, allowed_special=allowed) == n, (text, allowed)
        assert tokenizer.count(text.encode(), allowed_special=allowed) == n
        limit = rng.randint(0, n + 1)
        assert tokenizer.count(text, max_tokens=limit, allowed_special=allowed) == min(n, limit + 1)
        assert tokenizer.fits(text, limit, allowed_special=allowed) == (n <= limit)
        counts = tokenizer.count_batch(iter([text, "", text]), allowed_special=allowed)
        assert counts.tolist() == [n, len(tokenizer.encode("")), n]


@pytest.mark.parametrize("name", NAMES)
def test_parts_have_at_most_so_many_ids(name: str) -> None:
    rng, tokenizer = random.Random(f"{name} {SEED}"), tokenizer_of(name)
    for text in texts(rng, 12):
        allowed, side = choices(rng), rng.choice(["right", "left"])

        def n_ids(part: str, allowed: Any = allowed) -> int:
            return len(tokenizer.encode(part, allowed_special=allowed, disallowed_special=()))

        limit = rng.randint(6, 30)
        part, total = tokenizer.truncate(text, limit, side=side, with_total=True, allowed_special=allowed)
        assert total == n_ids(text)
        assert n_ids(part) <= limit
        assert text.startswith(part) if side == "right" else text.endswith(part)
        if n_ids(text) <= limit:
            assert part == text
        assert tokenizer.truncate_batch([text], limit, side=side, allowed_special=allowed) == [part]
        chunks = [*tokenizer.chunk(text, limit, with_spans=True, allowed_special=allowed)]
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(chunk.n_tokens == n_ids(chunk.text) <= limit for chunk in chunks)
        counter = tokenizer.interval_counter(text, allowed_special=allowed)
        for each in (counter, pickle.loads(pickle.dumps(counter))):
            start, end = sorted(rng.choices(range(len(text) + 1), k=2))
            assert each(start, end) == n_ids(text[start:end]), (text, start, end, allowed)


def test_a_cut_lies_in_no_special_token() -> None:
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens={"<|x|>": 256})
    assert tokenizer.truncate("ab<|x|>cd", 4) == "ab<|"
    assert tokenizer.truncate("ab<|x|>cd", 4, allowed_special="all") == "ab<|x|>c"
    assert [*tokenizer.chunk("a<|x|>b", 1, allowed_special="all")] == ["a", "<|x|>", "b"]


def test_disallowed_tokens_are_refused() -> None:
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens={"<|x|>": 256, "<|y|>": 257})
    calls: list[Any] = [
        lambda text, **kw: tokenizer.count(text, **kw),
        lambda text, **kw: tokenizer.count(text, max_tokens=1, **kw),
        lambda text, **kw: tokenizer.count_batch(["", text], **kw),
        lambda text, **kw: tokenizer.fits(text, 3, **kw),
        lambda text, **kw: tokenizer.truncate(text, 3, **kw),
        lambda text, **kw: tokenizer.truncate_batch(["", text], 3, **kw),
        lambda text, **kw: tokenizer.chunk(text, 3, **kw),
        lambda text, **kw: tokenizer.interval_counter(text, **kw),
        lambda text, **kw: tokenizer.is_lossless(text, **kw),
        lambda text, **kw: tokenizer.explain(text, **kw),
    ]
    for call in calls:
        call("a<|x|>b")
        call("a<|x|>b", allowed_special={"<|x|>"}, disallowed_special="all")
        with pytest.raises(SpecialTokenError, match=r"disallowed special token '<\|y\|>'"):
            call("a<|y|>b", allowed_special={"<|x|>"}, disallowed_special="all")
        with pytest.raises(SpecialTokenError, match=r"disallowed special token '<\|x\|>'"):
            call("a<|x|>b<|y|>", disallowed_special={"<|x|>"})
        with pytest.raises(ValueError, match="allowed_special='x'"):  # no set of names
            call("a", allowed_special="x")


@pytest.mark.parametrize("dtype", [None, "uint16"])
def test_templates_stand_around_each_text(dtype: Any) -> None:
    loaded = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=12, hard_vocab_limit=False, progress=False)
    assert loaded.template == ([1], [])
    for tokenizer, before, behind in ((loaded, [1], []), (with_both(), [256, 257], [258])):
        batch = ["ab", "", "ab abc"]
        wanted = [[*before, *tokenizer.encode(text), *behind] for text in batch]
        assert [tokenizer.encode(text, with_template=True) for text in batch] == wanted
        assert [tokenizer.encode_with_template(text) for text in batch] == wanted
        assert tokenizer.encode_batch(batch, with_template=True) == wanted
        assert tokenizer.encode_batch([], with_template=True) == []
        assert [tokenizer.encode_to_numpy(t, with_template=True, dtype=dtype).tolist() for t in batch] == wanted
        ids, offsets = tokenizer.encode_batch_to_numpy(batch, with_template=True, dtype=dtype)
        assert ids.dtype == (dtype or "uint32")
        assert [part.tolist() for part in numpy.split(ids, offsets[1:-1])] == wanted
        dropped = tokenizer.encode_batch(batch, with_template=True, dropout=0.5, seed=3)
        ids, offsets = tokenizer.encode_batch_to_numpy(batch, with_template=True, dropout=0.5, seed=3)
        assert [part.tolist() for part in numpy.split(ids, offsets[1:-1])] == dropped
        none, zero = tokenizer.encode_batch_to_numpy([], with_template=True)
        assert (none.tolist(), zero.tolist()) == ([], [0])


@pytest.mark.parametrize("num_threads", [1, 2])
def test_templates_stand_around_short_long_and_cut_texts(num_threads: int) -> None:
    """A batch of this size has jobs of many texts, and a text of this length is cut into jobs."""
    tokenizer = with_both()
    batch = ["ab c", *["ab " * 900] * 50, "", "ab é" * 100_000, "c"]
    ids = tokenizer.encode_batch(batch, num_threads=num_threads)
    framed = tokenizer.encode_batch(batch, num_threads=num_threads, with_template=True)
    assert framed == [[256, 257, *one, 258] for one in ids]
    assert all(map(gc.is_tracked, framed))


def with_both() -> Tokenizer:
    plain = Tokenizer.from_merges(
        [(97, 98)], pattern="gpt2", special_tokens={"<a>": 256 + 1, "<b>": 258, "<c>": 259}
    )
    model = plain._family.model
    return Tokenizer(model._replace(template=((256, 257), (258,))))  # type: ignore[union-attr]


def test_a_note_tells_which_text_of_a_batch_holds_the_disallowed_token() -> None:
    tokenizer = Tokenizer.from_merges([], pattern="gpt2", special_tokens={"<|x|>": 256})
    for call in (
        lambda: tokenizer.count_batch(["a", "<|x|>"], disallowed_special="all"),
        lambda: tokenizer.truncate_batch(["a", "<|x|>"], 3, disallowed_special="all"),
    ):
        with pytest.raises(SpecialTokenError) as raised:
            call()
        assert "texts[1]" in str(getattr(raised.value, "__notes__", raised.value))
