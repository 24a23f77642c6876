"""Promises of work with tokens as hypothesis properties, for random vocabularies and texts in both modes.

Slow twins have test files of their own; here each promise stands as users read it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import Tokenizer
from helpers.text_strategies import texts

ALPHABET = "ab é漢👍1.\n"
documents = st.lists(st.text(ALPHABET, min_size=1, max_size=60), min_size=1, max_size=4)
words = texts | st.text(ALPHABET, max_size=60)
modes = st.sampled_from(["byte", "codepoint"])


@lru_cache(maxsize=512)
def trained(mode: str, corpus: tuple[str, ...], size: int) -> Tokenizer:
    options: dict[str, Any] = {"pattern": ["gpt2", None][size % 2], "special_tokens": ["<s>"]}
    if mode == "codepoint":
        options = {
            "mode": mode,
            "hard_vocab_limit": False,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
        }
    return fastbpe.train(iter([*corpus, ALPHABET]), vocab_size=size + 270, progress=False, **options)


@st.composite
def tokenizers(draw: st.DrawFn, mode: str | None = None) -> Tokenizer:
    mode = draw(modes) if mode is None else mode
    return trained(mode, tuple(draw(documents)), draw(st.integers(0, 40)))


def is_same_after(tokenizer: Tokenizer, text: str) -> bool:
    return tokenizer.decode(tokenizer.encode_ordinary(text)) == text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )


pytestmark = pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")


@pytest.mark.daily
@settings(deadline=None)
@given(tokenizer=tokenizers(), text=words, places=st.lists(st.integers(0, 60), max_size=6))
def test_stream_of_any_parts_gives_the_ids_of_the_whole(
    tokenizer: Tokenizer, text: str, places: list[int]
) -> None:
    stream, ids, start = tokenizer.encoder(disallowed_special=()), [], 0
    for place in [*sorted(places), len(text)]:
        ids += stream.push(text[start:place])
        start = max(start, place)
    assert ids + stream.finish() == tokenizer.encode(text, disallowed_special=())


@pytest.mark.daily
@settings(deadline=None)
@given(tokenizer=tokenizers(), text=words, start=st.integers(-5, 60), end=st.integers(-5, 60))
def test_interval_counts_are_counts_of_slices(tokenizer: Tokenizer, text: str, start: int, end: int) -> None:
    assert tokenizer.interval_counter(text)(start, end) == tokenizer.count(text[start:end])


@pytest.mark.daily
@settings(deadline=None)
@given(tokenizer=tokenizers(), text=words, n=st.integers(1, 30), side=st.sampled_from(["left", "right"]))
def test_parts_and_chunks_stay_within_their_bounds(tokenizer: Tokenizer, text: str, n: int, side: str) -> None:
    part, total = tokenizer.truncate(text, n, side=side, with_total=True)
    assert tokenizer.count(part) <= n
    assert total == tokenizer.count(text)
    assert text.startswith(part) if side == "right" else text.endswith(part)
    n_most = n + 12  # a character may take as many ids
    chunks = [*tokenizer.chunk(text, n_most, with_spans=True)]
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.n_tokens == tokenizer.count(chunk.text) <= n_most for chunk in chunks)


@pytest.mark.daily
@settings(deadline=None)
@given(tokenizer=tokenizers(), text=words)
def test_dropout_of_zero_is_encode_and_offsets_cover_the_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode_ordinary(text)
    assert tokenizer.encode(text, dropout=0.0, disallowed_special=()) == ids
    found, offsets = tokenizer.encode_with_offsets(text, disallowed_special=())
    assert found == ids
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    assert offsets == sorted(offsets)
    covered = {at for start, end in offsets for at in range(start, end)}
    assert covered == {*range(len(text))}


@pytest.mark.daily
@settings(deadline=None)
@given(tokenizer=tokenizers(), text=words, data=st.data())
def test_every_text_survives_removing_and_pruning(tokenizer: Tokenizer, text: str, data: st.DataObject) -> None:
    fixed = 257 if tokenizer.mode == "byte" else tokenizer.n_vocab
    merged = [i for i in range(256, tokenizer.n_vocab) if i not in tokenizer.special_tokens.values()]
    if tokenizer.mode == "codepoint":
        merged = [i for i in range(259, tokenizer.n_vocab) if len(tokenizer.id_to_token(i).decode()) > 1]
    gone = data.draw(st.lists(st.sampled_from(merged), unique=True) if merged else st.just([]))
    smaller, id_map = tokenizer.without_tokens(gone)
    pruned, map_of_pruned = tokenizer.prune(
        keep=data.draw(st.integers(min(fixed, tokenizer.n_vocab), tokenizer.n_vocab))
    )
    by_corpus, map_by_corpus = tokenizer.prune(corpus=iter([text or "a"]))
    for changed, mapped in ((smaller, id_map), (pruned, map_of_pruned), (by_corpus, map_by_corpus)):
        assert is_same_after(changed, text) == is_same_after(tokenizer, text)
        assert changed.decode(changed.encode_ordinary(text)) == tokenizer.decode(tokenizer.encode_ordinary(text))
        for new, old in enumerate(mapped.new_to_old.tolist()):
            assert old >= 0
            assert changed.id_to_token(new) == tokenizer.id_to_token(old)
        assert mapped.inverse().new_to_old.tolist() == mapped.old_to_new.tolist()
    assert all(id_map.old_to_new[i] == -1 for i in gone)
    assert by_corpus.encode_ordinary(text) == map_by_corpus.old_to_new[tokenizer.encode_ordinary(text)].tolist()


@pytest.mark.daily
@settings(deadline=None, max_examples=50)
@given(mode=modes, text=words, data=st.data())
def test_every_text_survives_merging_and_no_token_is_double(mode: str, text: str, data: st.DataObject) -> None:
    a, b = data.draw(tokenizers(mode)), data.draw(tokenizers(mode))
    if mode == "byte" and a.pattern != b.pattern:
        return
    merged, id_map = fastbpe.merge_vocabularies(a, b)
    assert merged.decode(merged.encode_ordinary(text)) == a.decode(a.encode_ordinary(text))
    tokens = [merged.id_to_token(i) for i in range(merged.n_vocab)]
    assert len({*tokens}) == len(tokens)
    assert [merged.id_to_token(int(i)) for i in id_map.old_to_new] == [a.id_to_token(i) for i in range(a.n_vocab)]
    assert {b.id_to_token(i) for i in range(b.n_vocab)} - {*tokens} == {
        b.id_to_token(i) for i in fastbpe.merge_vocabularies(a, b).report.dropped
    }


@pytest.mark.daily
@settings(deadline=None, max_examples=50)
@given(tokenizer=tokenizers(), more=documents, text=words)
def test_extended_vocabularies_keep_ids_and_map_back(tokenizer: Tokenizer, more: list[str], text: str) -> None:
    longer = fastbpe.train(iter(more), mode=tokenizer.mode, base=tokenizer, vocab_size="+3", progress=False)
    n = tokenizer.n_vocab
    assert longer.vocab[:n] == tokenizer.vocab
    assert longer.decode(longer.encode_ordinary(text)) == tokenizer.decode(tokenizer.encode_ordinary(text))
    ids = longer.encode_ordinary(text)
    if max(ids, default=0) < n:
        assert ids == tokenizer.encode_ordinary(text)
    assert longer.id_map(tokenizer).old_to_new.tolist() == [*range(n)]
