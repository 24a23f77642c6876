"""Two vocabularies of characters made one: tokenizers gives the same ids for what is exported."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import fastbpe
from conformance.test_removing_characters import check_export, loaded, of_words
from fastbpe.errors import VocabularyError
from helpers.random_pipelines import random_pipeline, random_texts
from helpers.sampling import SEED, rounds


def two(rng: random.Random) -> tuple[fastbpe.Tokenizer, fastbpe.Tokenizer, list[str]] | None:
    """Draw two tokenizers with the same steps, where the second has the vocabulary of other steps."""
    first, second = random_pipeline(rng), random_pipeline(rng)
    parts = {name: second["model"].get(name) for name in ("vocab", "merges", "end_of_word_suffix")}
    tokenizers = loaded(first), loaded({**first, "model": {**first["model"], **parts}})
    texts = [*random_texts(rng, first, 10), *random_texts(rng, second, 10)]
    return (*tokenizers, texts) if None not in tokenizers else None  # type: ignore[return-value]


@pytest.mark.filterwarnings("ignore::fastbpe.errors.FormatWarning")
@pytest.mark.parametrize("seed", rounds(60, 4000))
def test_exports_of_merged_vocabularies_give_their_ids_in_the_original(seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} merging {seed}")
    drawn = two(rng)
    if drawn is None:
        return
    a, b, texts = drawn
    try:
        change = fastbpe.merge_vocabularies(a, b)
    except ValueError as error:
        reasons = (
            "continuing_subword_prefix",
            "end_of_word_suffix",
            "is special in one",
            "is also the ordinary token",
        )
        if not any(reason in str(error) for reason in reasons):
            raise
        return
    merged, report = change.tokenizer, change.report
    assert merged.vocab[: len(a.vocab)] == a.vocab
    assert sorted(report.added.values()) == [*range(a.n_vocab, merged.n_vocab)]
    names = {token.id for token in b.added_tokens} | {*b.special_tokens.values()}
    assert all(merged.vocab[new] == b.vocab[i] for i, new in report.added.items() if i not in names)
    assert len({merged.id_to_token(i) for i in report.added.values()}) == len(report.added)
    # A token of a is still made of its own characters.
    tokens = {i: token for i, token in enumerate(a.vocab) if token}
    before, after = (
        dict(zip(tokens, each._family.speller()([*tokens.values()]), strict=True)) for each in (a, merged)
    )
    assert all(after[i] == ids for i, ids in before.items() if ids == (i,))
    check_export(merged, texts, tmp_path, report)


def merge(first: dict[str, Any], second: dict[str, Any]) -> tuple[Any, list[str]]:
    change = fastbpe.merge_vocabularies(of_words(**first), of_words(**second))
    tokenizer = change.tokenizer
    return change.report, [tokenizer.vocab[i].decode() for i in range(tokenizer.n_vocab)]


def test_tokens_of_the_second_follow_in_its_order() -> None:
    report, tokens = merge(
        {"vocab": ["a", "b", "ab"], "merges": ["a b"]},
        {"vocab": ["c", "b", "a", "bc", "abc", "xy"], "merges": ["b c", "a bc"]},
    )
    assert tokens == ["a", "b", "ab", "c", "bc", "abc"]
    assert (report.added, report.common, report.dropped) == ({0: 3, 3: 4, 4: 5}, 2, (5,))


def test_ends_of_words_are_symbols_of_their_own() -> None:
    report, tokens = merge(
        {"vocab": ["a", "b</w>", "ab</w>"], "merges": ["a b</w>"], "end_of_word_suffix": "</w>"},
        {"vocab": ["a", "c", "c</w>", "ac</w>", "ac"], "merges": ["a c", "a c</w>"], "end_of_word_suffix": "</w>"},
    )
    assert tokens == ["a", "b</w>", "ab</w>", "c", "c</w>", "ac</w>", "ac"]
    assert report.dropped == ()


def test_new_tokens_begin_as_the_symbols_of_their_places() -> None:
    options = {"end_of_word_suffix": "</w>", "unk_token": "?"}  # "?" has no token: nothing is unknown to it
    old = of_words(["a", "b", "b</w>", "ab</w>"], ["a b</w>"], **options)
    new = of_words(["a", "b", "b</w>", "ab", "aab</w>", "cb", "ab</w>"], ["a b", "a b</w>", "a ab</w>"], **options)
    assert new.id_map(old).init_from == ((0,), (1,), (2,), (0, 1), (0, 3), (1,), (3,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"continuing_subword_prefix": "##"}, "with a continuing_subword_prefix, here '##', cannot be combined"),
        ({"end_of_word_suffix": "</w>"}, "end_of_word_suffix is '' in a and '</w>' in b"),
    ],
)
def test_vocabularies_that_spell_otherwise_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        merge({"vocab": ["a"], "merges": []}, {"vocab": ["a"], "merges": [], **options})
