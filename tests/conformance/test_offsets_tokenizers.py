"""Offsets against tokenizers, which also counts characters."""

import pytest
import tokenizers
from hypothesis import given, settings
from tokenizers import AddedToken, Regex, models, pre_tokenizers

import fastbpe
from fastbpe import Tokenizer
from helpers.sampling import n_rounds
from helpers.shared_data import corpus, data_file
from helpers.text_strategies import sound_texts


def with_pattern(model: models.Model, pattern: str) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


@pytest.fixture(scope="module")
def small(code_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> tokenizers.Tokenizer:
    """The tokenizer of the tests as a peer of tokenizers, with its pattern spelled for Oniguruma."""
    folder = tmp_path_factory.mktemp("offsets")
    code_tokenizer.export(folder, format="gpt2")
    pattern = str(code_tokenizer.pattern)
    for possessive, greedy in (("?+", "?"), ("++", "+"), ("*+", "*"), ("3}+", "3}"), ("$", r"\z")):
        pattern = pattern.replace(possessive, greedy)
    peer = with_pattern(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")), pattern)
    peer.add_special_tokens([AddedToken(name, normalized=False) for name in code_tokenizer.special_tokens])
    return peer


@given(text=sound_texts)
@settings(max_examples=n_rounds(133, 400))
def test_offsets_of_random_texts_equal_tokenizers(
    code_tokenizer: Tokenizer, small: tokenizers.Tokenizer, text: str
) -> None:
    theirs = small.encode(text)
    assert code_tokenizer.encode_with_offsets(text, allowed_special="all") == (theirs.ids, theirs.offsets)


PROBES = [
    "i ⭢ j",
    "a👍b ⭢",
    "👍",
    "are you ok?",
    "A, naïve [MASK] AllenNLP",
    "T\x10his \x10\t \n \n    \x10",
    "La Société\u202f……………….dont",
    "👨\u200d👩\u200d👧 1️⃣ e\u0301\u0301",
    "a<|endoftext|> b<|sep|><|sep|>",
    "",
]


@pytest.mark.parametrize("text", PROBES)
def test_offsets_of_probes_equal_tokenizers(
    code_tokenizer: Tokenizer, small: tokenizers.Tokenizer, text: str
) -> None:
    theirs = small.encode(text)
    assert code_tokenizer.encode_with_offsets(text, allowed_special="all") == (theirs.ids, theirs.offsets)


@pytest.mark.daily
def test_gpt2_offsets_on_many_languages_equal_tokenizers() -> None:
    folder = data_file("vocab", "gpt2_encoder.json").parent
    peer = with_pattern(
        models.BPE.from_file(str(folder / "gpt2_encoder.json"), str(folder / "gpt2_vocab.bpe")),
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    )
    tokenizer = fastbpe.load(folder / "gpt2_encoder.json")
    for name in ("multilingual.txt", "emoji_mixed.txt", "json_yaml.txt"):
        for line in corpus(name, 150_000).splitlines(keepends=True):
            theirs = peer.encode(line)
            assert tokenizer.encode_with_offsets(line, disallowed_special=()) == (theirs.ids, theirs.offsets)


def test_cl100k_offsets_of_known_issues_are_right() -> None:
    path = data_file("vocab", "cl100k_base.tiktoken")
    tokenizer = fastbpe.load(path)
    assert tokenizer.encode_with_offsets("i ⭢ j")[1] == [(0, 1), (1, 3), (2, 3), (2, 3), (3, 5)]
    assert tokenizer.encode_with_offsets("are you ok?")[1] == [(0, 3), (3, 7), (7, 10), (10, 11)]
