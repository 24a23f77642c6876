"""Offsets, cutting and streaming in code-point mode, beside sentencepiece and beside what is done at once."""

from __future__ import annotations

import random
from functools import lru_cache

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from data import corpus, data_file, standard_library
from fastbpe import InvalidTokenError, Tokenizer
from fastbpe.formats.sentencepiece import dump
from texts import sound_texts, texts

KINDS = {
    "plain": {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "trimmed": {"normalization_rule_name": "nmt_nfkc"},
    "no prefix": {"add_dummy_prefix": False, "byte_fallback": True},
}
PUBLISHED = ["llama2_tokenizer.model", "mistral_v3_tokenizer.model", "bpemb_en_wiki_vs100000.model"]


@lru_cache
def trained(kind: str) -> Tokenizer:
    text = standard_library(40_000) + "naïve café 日本語 안녕 " * 30
    return fastbpe.train(
        text.splitlines(), vocab_size=700, mode="codepoint", progress=False, hard_vocab_limit=False, **KINDS[kind]
    )  # fmt: skip


@lru_cache
def peer(kind: str) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=dump(trained(kind)._source))  # type: ignore[attr-defined]


@given(text=texts, kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=200)
def test_ids_are_those_of_encode(text: str, kind: str) -> None:
    tokenizer = trained(kind)
    ids, places = tokenizer.encode_with_offsets(text, disallowed_special=())
    assert ids == tokenizer.encode_ordinary(text)
    assert len(ids) == len(places)
    assert all(0 <= start <= end <= len(text) for start, end in places)
    assert places == sorted(places)


@given(text=sound_texts, kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=200)
def test_places_are_those_of_sentencepiece(text: str, kind: str) -> None:
    """But for bytes of a character, of which there only the last has a place."""
    theirs = peer(kind).encode(text, return_type="offset_mapping")
    ids, places = trained(kind).encode_with_offsets(text, disallowed_special=())
    assert ids == theirs["ids"]
    for i, ours, place in zip(ids, places, theirs["offsets"], strict=True):
        if not peer(kind).is_byte(i) or place[0] < place[1]:
            assert ours == tuple(place)


def test_every_byte_of_a_character_has_its_place() -> None:
    tokenizer = trained("plain")
    ids, places = tokenizer.encode_with_offsets("a🦙🦙<s>\ud83e\udd99b", allowed_special="all")
    assert ids == tokenizer.encode("a🦙🦙<s>\ud83e\udd99b", allowed_special="all")
    at = ids.index(1)
    assert places[at - 8 : at] == [(1, 2)] * 4 + [(2, 3)] * 4
    assert places[at] == (3, 6)
    assert [place for place in places[at + 1 :] if place == (6, 8)] == [(6, 8)] * 4
    assert places[-1][1] == 9
    with pytest.raises(ValueError, match="disallowed special token '<s>'"):
        tokenizer.encode_with_offsets("<s>")
    with pytest.raises(ValueError, match="no split pattern"):
        tokenizer.pieces("a b")


@given(
    text=texts, kind=st.sampled_from(sorted(KINDS)), n=st.integers(0, 30), side=st.sampled_from(["right", "left"])
)
@settings(max_examples=150)
def test_parts_fit(text: str, kind: str, n: int, side: str) -> None:
    tokenizer = trained(kind)
    part = tokenizer.truncate(text, n, side=side)
    count = tokenizer.count(text)
    assert tokenizer.count(part) <= n
    assert text.startswith(part) if side == "right" else text.endswith(part)
    if count <= n:
        assert part == text
    assert tokenizer.count(text, limit=n) == min(count, n + 1)
    parts = list(tokenizer.chunk(text, n + 8))
    assert "".join(parts) == text
    assert max(map(tokenizer.count, parts), default=0) <= n + 8


@given(st.data())
@settings(max_examples=200)
def test_streams(data: st.DataObject) -> None:
    """Ids of texts, or any ids at all, in any groups."""
    tokenizer = trained(data.draw(st.sampled_from(sorted(KINDS))))
    few = [*range(3), *range(3, 8), *range(0x60, 0x64), *range(0xE0, 0xF8), *range(259, 300)]
    any_ids = st.lists(st.sampled_from([i for i in few if i < tokenizer.n_vocab]), max_size=12)
    ids = data.draw(any_ids) if data.draw(st.booleans()) else tokenizer.encode_ordinary(data.draw(texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=6)))
    stream = tokenizer.decoder()
    for _ in range(2):  # finish begins anew
        groups = [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]
        assert "".join([stream.push(group) for group in groups]) + stream.finish() == tokenizer.decode(ids)
        assert "".join([stream.push(i) for i in ids]) + stream.finish() == tokenizer.decode(ids)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(name: str) -> None:
    tokenizer = fastbpe.load(data_file("vocab", name))
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(data_file("vocab", name)))
    rng = random.Random(4)
    for line in rng.sample(corpus("multilingual.txt", 400_000).splitlines(), 300):
        expected = theirs.encode(line, return_type="offset_mapping")
        ids, places = tokenizer.encode_with_offsets(line, disallowed_special=())
        assert ids == expected["ids"]
        pairs = zip(ids, places, expected["offsets"], strict=True)
        assert all(ours == tuple(place) or theirs.is_byte(i) for i, ours, place in pairs)
        stream = tokenizer.decoder()
        assert "".join(map(stream.push, ids)) + stream.finish() == tokenizer.decode(ids)
        assert tokenizer.count(tokenizer.truncate(line, 20)) <= 20
    with pytest.raises(InvalidTokenError):
        tokenizer.decoder().push(1 << 30)


def test_spaces_after_the_first_chunk_stay() -> None:
    tokenizer = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
    stream = tokenizer.decoder()
    ids = tokenizer.encode("engine for LLMs. It")
    pushed = [stream.push(i) for i in ids]
    assert "".join(pushed) == "engine for LLMs. It"
    assert pushed[1].startswith(" ")
