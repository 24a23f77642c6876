"""Tokenizers of characters with fewer tokens: tokenizers gives the same ids for what is exported."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe
from fastbpe.errors import FastbpeError, VocabularyError
from fastbpe.vocabularies.makers import made_of
from helpers.random_pipelines import random_pipeline, random_texts
from helpers.sampling import SEED, rounds


def loaded(made: dict[str, Any]) -> fastbpe.Tokenizer | None:
    try:
        tokenizer = fastbpe.load(json.dumps(made).encode())
    except FastbpeError:
        return None
    return tokenizer if tokenizer.mode == "character" else None


def ids_of(tokenizer: fastbpe.Tokenizer, text: str, allowed: Any = "all") -> list[int] | None:
    """Return the ids of a text; None if it needs an unknown token that there is not."""
    try:
        return tokenizer.encode(text, allowed_special=allowed, disallowed_special=())
    except VocabularyError:
        return None


def their_ids_of(tokenizer: Any, text: str) -> list[int] | None:
    try:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:
        if type(error).__name__ not in ("PanicException", "Exception"):
            raise
        return None
    return ids


def check_export(tokenizer: fastbpe.Tokenizer, texts: list[str], folder: Path, report: Any) -> None:
    """Compare ids with the original's for the exported file, if the tokenizer can be exported."""
    try:
        tokenizer.export(folder / "tokenizer.json")
    except FastbpeError:
        return
    theirs = stock.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_truncation()
    theirs.no_padding()
    for text in texts:
        assert ids_of(tokenizer, text) == their_ids_of(theirs, text), (text, report)


def removable(tokenizer: fastbpe.Tokenizer, ids: list[int]) -> list[int]:
    out = []
    for i in ids:
        try:
            tokenizer.without_tokens([i])
        except VocabularyError:
            continue
        out.append(i)
    return out


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.errors.FormatWarning")
@pytest.mark.parametrize("seed", rounds(60, 4000))
def test_exports_of_fewer_tokens_give_their_ids_in_the_original(seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} removing {seed}")
    made = random_pipeline(rng)
    old = loaded(made)
    if old is None:
        return
    texts = [text for text in random_texts(rng, made, 16) if ids_of(old, text) is not None]
    corpus = [text for text in texts[:9] if ids_of(old, text, ())]
    try:
        if rng.random() < 0.4 and corpus:
            change = old.prune(corpus=corpus, min_count=rng.choice([1, 2]))
        else:
            change = old.without_tokens(removable(old, rng.sample(range(old.n_vocab), min(old.n_vocab, 9))))
    except VocabularyError as error:
        if "the template puts the id" not in str(error):
            raise
        return
    new, id_map, report = change.tokenizer, change.id_map, change.report
    staying = {old_id: new_id for new_id, old_id in enumerate(id_map.new_to_old) if old_id >= 0}
    gone = {*report.removed, *report.lost}
    changed = {*gone, *made_of(gone, old._remover()._removal.makers)}
    for text in texts:
        ids = ids_of(old, text) or []
        if not changed & {*ids}:
            assert ids_of(new, text) == [staying[i] for i in ids], (text, report)
    check_export(new, texts, tmp_path, report)


def of_words(vocab: list[str], merges: list[str], around: Any = None, **options: Any) -> fastbpe.Tokenizer:
    made = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": around,
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(vocab)},
            "merges": merges,
            **options,
        },
    }
    return fastbpe.load(json.dumps(made).encode())


def test_token_whose_makers_go_gets_a_new_merge() -> None:
    old = of_words(
        ["?", "a", "b", "c</w>", "ab", "abc</w>"], ["a b", "ab c</w>"], end_of_word_suffix="</w>", unk_token="?"
    )
    change = old.without_tokens(["ab"])
    assert (change.report.lost, change.tokenizer.encode("abc")) == ((5,), [1, 2, 3])
    old = of_words(
        ["a", "b", "c</w>", "ab", "bc</w>", "abc</w>"], ["a b", "b c</w>", "ab c</w>"], end_of_word_suffix="</w>"
    )
    change = old.without_tokens(["ab"])
    assert change.report.remade == {4: (0, 3)}
    assert change.tokenizer.encode("abc") == [4]


def test_token_with_a_prefix_goes_with_its_makers() -> None:
    old = of_words(["a", "##b", "##c", "##bc", "abc"], ["##b ##c", "a ##bc"], continuing_subword_prefix="##")
    change = old.without_tokens(["##bc"])
    assert (change.report.lost, change.tokenizer.encode("abc")) == ((4,), [0, 1, 2])


@pytest.mark.parametrize(
    ("token", "reason"),
    [("a", "a single character"), ("?", "the unknown token"), ("<0x41>", "a byte of the byte fallback")],
)
def test_base_is_not_removed(token: str, reason: str) -> None:
    old = of_words(["?", "a", "b", "ab", "<0x41>"], ["a b"], unk_token="?", byte_fallback=True)
    with pytest.raises(VocabularyError, match=f"cannot be removed: it is {reason}"):
        old.without_tokens([token])
    new = old.without_tokens(["ab"]).tokenizer
    assert new.encode("abA?") == [1, 2, 3, 0]


def test_template_with_an_id_of_no_token_is_named() -> None:
    template = {"type": "BertProcessing", "sep": ["a", 0], "cls": ["x", 9]}
    old = of_words(["a", "b", "ab"], ["a b"], around=template)
    with pytest.raises(VocabularyError, match="the template puts the id 9 around texts, but no token has this id"):
        old.without_tokens(["ab"])


def test_ids_can_be_kept() -> None:
    old = of_words(["a", "b", "ab", "c"], ["a b"])
    assert old.without_tokens(["ab"], keep_ids=True).tokenizer.encode("abc") == [0, 1, 3]
