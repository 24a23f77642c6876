"""minbpe's modules, helper functions and private methods in the face, and `install("minbpe")`."""

from __future__ import annotations

import pickle
import random

import pytest
import regex

import fastbpe
import fastbpe.minbpe as minbpe
from fastbpe.minbpe import base, gpt4
from helpers.child_processes import run_python
from helpers.sampling import n_rounds

TEXT = "hello hello world low lower lowest, 2024! " * 20


def trained(kind: type[minbpe.Tokenizer]) -> minbpe.Tokenizer:
    tokenizer = kind()
    tokenizer.train(TEXT, 266)
    return tokenizer


def plainly(tokenizer: minbpe.Tokenizer, data: bytes) -> list[int]:
    """Encode by the functions of `base`: the first of the pairs that merge lowest, until no pair is left."""
    ids = [*data]
    while known := [pair for pair in base.get_stats(ids) if pair in tokenizer.merges]:
        pair = min(known, key=lambda one: tokenizer.merges[one])
        ids = base.merge(ids, pair, tokenizer.merges[pair])
    return ids


@pytest.mark.parametrize("kind", [minbpe.BasicTokenizer, minbpe.RegexTokenizer])
def test_encode_chunk_merges_any_bytes_as_one_piece(kind: type[minbpe.Tokenizer]) -> None:
    tokenizer = trained(kind)
    words = [b"hello", b" world", b"\xff\x00", b"low", b" lowest,", b""]
    for _ in range(n_rounds(20, 200)):
        data = b"".join(random.choices(words, k=4))
        assert tokenizer._encode_chunk(data) == plainly(tokenizer, data)
    tokenizer.merges = {}
    assert tokenizer._encode_chunk(b"hello") == [*b"hello"]
    assert pickle.loads(pickle.dumps(trained(kind)))._encode_chunk(b"low") == trained(kind)._encode_chunk(b"low")


def test_build_vocab_follows_merges_and_special_tokens() -> None:
    tokenizer = minbpe.RegexTokenizer()
    tokenizer.merges = {(104, 105): 256}
    tokenizer.register_special_tokens({"<e>": 257})
    assert tokenizer._build_vocab() == {**{i: bytes([i]) for i in range(256)}, 256: b"hi", 257: b"<e>"}


def test_merge_with_a_huge_id_raises_an_error() -> None:
    tokenizer = minbpe.BasicTokenizer()
    tokenizer.merges = {(104, 105): 1 << 40}
    with pytest.raises(fastbpe.VocabularyError, match="the id 1099511627776: ids must be below 16777216"):
        tokenizer.encode("hi")


def test_compiled_pattern_is_the_pattern() -> None:
    tokenizer = minbpe.RegexTokenizer(r"\w+|\W+")
    assert tokenizer.compiled_pattern.findall("a b") == ["a", " ", "b"]
    tokenizer.compiled_pattern = regex.compile(r"\s+|\S")
    assert tokenizer.pattern == r"\s+|\S"
    tokenizer.train("aaab" * 9, 256)
    assert tokenizer.encode("ab  c") == [97, 98, 32, 32, 99]


def test_functions_of_base_and_gpt4() -> None:
    assert base.get_stats([1, 1, 1, 2], {(9, 9): 1}) == {(9, 9): 1, (1, 1): 2, (1, 2): 1}
    assert base.merge([1, 1, 1, 2], (1, 1), 1) == [1, 1, 2]
    assert base.merge([], (1, 2), 3) == []
    assert base.render_token(b"a\n\xff") == "a\\u000a\ufffd"
    assert base.replace_control_characters("\ta") == "\\u0009a"
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abb": 257, b"abab": 258}
    assert gpt4.bpe(ranks, b"ababb", None) == [b"ab", b"abb"]
    assert gpt4.bpe(ranks, b"ababb", 257) == [b"ab", b"ab", b"b"]
    assert gpt4.recover_merges(ranks) == {(97, 98): 256, (256, 98): 257, (256, 256): 258}


def test_install_gives_minbpe_and_its_modules() -> None:
    printed = run_python(
        """
import fastbpe
fastbpe.install("minbpe")
import minbpe.gpt4
from minbpe import BasicTokenizer
from minbpe.base import Tokenizer, get_stats, render_token
from minbpe.basic import BasicTokenizer as Basic
from minbpe.regex import RegexTokenizer
print(Basic is fastbpe.minbpe.BasicTokenizer, RegexTokenizer is fastbpe.minbpe.RegexTokenizer)
print(minbpe.gpt4.GPT4Tokenizer is fastbpe.minbpe.GPT4Tokenizer, get_stats([1, 2]))
fastbpe.uninstall()
try:
    import minbpe
except ModuleNotFoundError:
    print("gone")
"""
    )
    assert printed == "True True\nTrue {(1, 2): 1}\ngone\n"


def test_unknown_faces_are_named() -> None:
    with pytest.raises(ValueError, match="choose from minbpe, rustbpe, sentencepiece, tiktoken, tokenizers"):
        fastbpe.install("minbep")
