"""fastbpe.tokenizers against tokenizers: the same calls give the same values."""

from __future__ import annotations

import itertools
import json
import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("numpy")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import TEMPLATE, dumped, random_text, with_post_processor, without_some_bytes
from helpers.tokenizers_calls import (
    compare_calls,
    random_llama_document,
    usable_document,
    with_metaspace,
)
from helpers.tokenizers_twins import Twins, plain
from helpers.transformers_grid import FILES, MADE, TEXTS, json_of, random_texts

MODELS = ("small_bytes", "small_llama", *FILES, *MADE)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tokenizers encode a batch in order: of several errors, its threads raise one by chance."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("seed", rounds(25, 4000))
def test_random_tokenizers_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} {seed}")
    made = usable_document(rng)
    if rng.random() < 0.2:
        made = without_some_bytes(made, rng)
    if rng.random() < 0.6:
        made = with_post_processor(made, rng)
    elif rng.random() < 0.7:
        made["post_processor"] = TEMPLATE
    twins = Twins.of(dumped(made).decode())
    twins.check(lambda t: [t.to_str(), t.to_str(True).split("\n"), repr(t), str(t)])
    compare_calls(twins, rng, random_text, 6)


@pytest.mark.daily
@pytest.mark.parametrize("seed", rounds(8, 2000))
def test_random_llama_kinds_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} llama {seed}")
    made = random_llama_document(rng)
    if rng.random() < 0.7:
        made = with_metaspace(made, rng)
    twins = Twins.of(json.dumps(made))
    if not runs(twins.ours):
        return
    twins.check(lambda t: [t.to_str(), repr(t)])
    compare_calls(twins, rng, random_text, 8)
    for _ in range(20):
        ids, skips = rng.choices(range(len(twins.theirs.get_vocab()) + 2), k=rng.randint(0, 6)), rng.random() < 0.5
        twins.check(lambda t, i=ids, s=skips: t.decode(i, s), ids)
        twins.check(lambda t, i=ids, s=skips: stream(t, i, s), ids)


def runs(tokenizer: face.Tokenizer) -> bool:
    """Tell whether fastbpe runs a tokenizer."""
    try:
        tokenizer.encode("a")
    except ImportError:
        return False
    return True


@lru_cache
def published(name: str) -> Twins:
    return Twins.of(json_of(name))


@pytest.mark.daily
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(3)
def test_published_tokenizers_encode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} {name}"), published(name)
    texts = [*TEXTS, *random_texts(rng, 40)]
    compare_calls(twins, rng, lambda rng: rng.choice(texts), 25)
    twins.check(lambda t: (t.no_truncation(), t.no_padding(), setattr(t, "encode_special_tokens", False)))
    twins.check(lambda t: t.encode_batch(texts))
    twins.check(lambda t: [t.to_str(), repr(t), t.get_vocab(), t.get_vocab_size(), t.get_vocab_size(False)])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(3)
def test_published_tokenizers_decode_like_the_original(name: str) -> None:
    rng, twins = random.Random(f"{SEED} decode {name}"), published(name)
    size = twins.theirs.get_vocab_size()
    batch: list[Any] = [[rng.randrange(size) for _ in range(rng.choice([0, 1, 2, 9]))] for _ in range(30)]
    batch += [[rng.randrange(300) for _ in range(9)] for _ in range(30)]
    batch += [twins.theirs.encode(text).ids for text in random_texts(rng, 20)]
    for skips in (True, False):
        twins.check(lambda t, s=skips: t.decode_batch(batch, s))
        for ids in batch:
            twins.check(lambda t, i=ids, s=skips: t.decode(i, skip_special_tokens=s), ids)
            twins.check(lambda t, i=ids, s=skips: stream(t, i, s), ids)


def stream(tokenizer: Any, ids: list[int], skips: bool) -> list[str | None]:
    module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
    made = module.decoders.DecodeStream(skip_special_tokens=skips)
    return [made.step(tokenizer, id) for id in ids]


def test_parts_of_fast_pairs_keep_the_type_ids_of_their_texts() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0, "b": 1}, []))
        tokenizer.enable_truncation(5)
        found = []
        for kind in (module.processors.BertProcessing, module.processors.RobertaProcessing):
            tokenizer.post_processor = kind(("b", 1), ("a", 0))
            for pair in (("", "ababab"), ("ab", "abab"), ("ababab", "a")):
                for encode in (tokenizer.encode_batch, tokenizer.encode_batch_fast):
                    found.append(plain(encode([pair])[0]))
        return found

    assert run(face) == run(stock)


def test_truncation_to_about_as_many_ids_as_the_post_processor_adds() -> None:
    def tokenizer(module: Any, limit: int, strategy: str) -> Any:
        made = module.Tokenizer(module.models.BPE({"a": 0, "b": 1, "[": 2}, []))
        made.post_processor = module.processors.BertProcessing(("[", 2), ("[", 2))
        made.enable_truncation(limit, strategy=strategy)
        return made

    for settings in itertools.product(range(4), ("longest_first", "only_first", "only_second")):
        twins = Twins(tokenizer(face, *settings), tokenizer(stock, *settings))
        for texts in (("",), ("ab",), ("", "ab"), ("ab", "ab"), ("", "")):
            for adds in (True, False):
                twins.check(lambda t, texts=texts, adds=adds: t.encode(*texts, add_special_tokens=adds))


def test_steps_of_a_decoder_after_byte_level_are_applied() -> None:
    def tokenizer(module: Any, step: int) -> Any:
        kinds = module.decoders
        steps = [kinds.Fuse(), kinds.Strip(" ", 1, 0), kinds.Replace("a", "b")]
        made = module.Tokenizer(module.models.BPE({"a": 0, "\u0120": 1, "\u0120a": 2}, [("\u0120", "a")]))
        made.pre_tokenizer = module.pre_tokenizers.ByteLevel()
        made.decoder = kinds.Sequence([kinds.ByteLevel(), steps[step]])
        return made

    for step in range(3):
        Twins(tokenizer(face, step), tokenizer(stock, step)).check(lambda t: t.decode([2, 0, 1, 2]))


def test_two_post_processors_in_each_order() -> None:
    """The second one gets the encodings that the first one made; a template makes one for each of its items."""

    def tokenizer(module: Any, order: tuple[int, int]) -> Any:
        kinds, ends = module.processors, (("a", 0), ("b", 1))
        template = kinds.TemplateProcessing("a $A b", "a $A b $B:1 b:1", [("a", 0), ("b", 1)])
        all_four = [kinds.ByteLevel(), kinds.BertProcessing(*ends), kinds.RobertaProcessing(*ends), template]
        made = module.Tokenizer(module.models.BPE({"a": 0, "b": 1, "\u0120": 2}, []))
        made.pre_tokenizer = module.pre_tokenizers.ByteLevel()
        made.post_processor = kinds.Sequence([all_four[i] for i in order])
        return made

    for order in itertools.product(range(4), repeat=2):
        twins = Twins(tokenizer(face, order), tokenizer(stock, order))
        for texts in (("ab  b",), ("ab ", "b a")):
            twins.check(lambda t, texts=texts: t.encode(*texts))


def test_more_white_space_in_a_token_than_in_its_origin_is_not_trimmed() -> None:
    def trimmed(module: Any, text: str) -> Any:
        vocab = {"a": 0, "\u0120": 1, "\u0120\u0120": 2, "a\u0120\u0120": 3}
        merges = [("\u0120", "\u0120"), ("a", "\u0120\u0120")]
        made = module.Tokenizer(module.models.BPE(vocab, merges))
        made.normalizer = module.normalizers.Replace("x", "a  ")  # all characters of "a  " have the offsets of "x"
        made.pre_tokenizer = module.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return plain(module.processors.ByteLevel().process(made.encode(text)))

    for text in ("x", "ax", "xa", "axxa", "a  x"):
        assert trimmed(face, text) == trimmed(stock, text)


def test_words_behind_the_first_keep_no_space_unless_they_start_at_0() -> None:
    byte_level = stock.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    made = stock.Tokenizer(stock.models.BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))
    made.normalizer = stock.normalizers.Strip()
    made.pre_tokenizer = byte_level
    made.post_processor = stock.processors.ByteLevel(add_prefix_space=True, trim_offsets=True)
    twins = Twins.of(made.to_str())
    rows = [[" a", "a"], ["a", " a"], ["", " a", " a"], [" "], []]
    assert [one.offsets for one in twins.theirs.encode_batch(rows, is_pretokenized=True)][1] == [(0, 1), (2, 2)]
    for row in rows:
        twins.check(lambda t, r=row: t.encode(r, is_pretokenized=True), row)
    twins.check(lambda t: t.encode_batch(rows, is_pretokenized=True))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(3)
def test_stream_after_a_prompt_gives_the_text_of_tokenizers(name: str) -> None:
    """A prompt may end within a character: then its ids belong to the first text."""
    twins = published(name)
    rng = random.Random(f"{SEED} {name}")
    size = twins.theirs.get_vocab_size()
    batch: list[list[int]] = [
        twins.theirs.encode("Sauce \U0001f336 hot, \U0001f468\u200d\U0001f469 \u00e9t\u00e9").ids,
        [0],
        [],
    ]
    batch += [twins.theirs.encode(text).ids for text in random_texts(rng, 3)]
    batch += [[rng.randrange(size) for _ in range(6)] for _ in range(4)]
    for ids in batch:
        for cut in range(len(ids) + 1):
            for skips in (True, False):
                twins.check(lambda t, i=ids, c=cut, s=skips: after_prompt(t, i, c, s), (ids, cut, skips))


def after_prompt(tokenizer: Any, ids: list[int], cut: int, skips: bool) -> list[str | None]:
    """Return the texts of the ids after the cut, some of them in lists."""
    module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
    made, out = module.decoders.DecodeStream(ids[:cut], skips), []
    while cut < len(ids):
        n = cut % 3
        out.append(made.step(tokenizer, ids[cut : cut + n] if n else ids[cut]))
        cut += max(n, 1)
    return out


@pytest.mark.parametrize("method", ["add_tokens", "add_special_tokens"])
def test_token_added_again_with_other_flags_equals_the_originals(method: str) -> None:
    for flags in itertools.product([False, True], repeat=3):
        seen = []
        for library in (face, stock):
            tokenizer: Any = library.Tokenizer(
                library.models.BPE({c: i for i, c in enumerate("\u2581abnew1")}, [])
            )
            tokenizer.normalizer = library.normalizers.Replace(" ", "\u2581")
            answers = []
            for normalized in flags:
                getattr(tokenizer, method)([library.AddedToken(" new1", normalized=normalized)])
                ids = tokenizer.encode("a new1 b").ids
                answers += [
                    ids,
                    tokenizer.id_to_token(8),
                    tokenizer.decode(ids),
                    tokenizer.decode_batch([ids], False),
                ]
            tokenizer.normalizer = library.normalizers.Lowercase()
            seen.append([*answers, tokenizer.id_to_token(8), tokenizer.decode([8, 1])])
        assert seen[0] == seen[1], flags
