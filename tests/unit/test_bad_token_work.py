"""Bad arguments of methods that change a vocabulary or work with tokens: ValueError, and no tokenizer changes.

Each test gets tokenizers of both modes. The fixture `tokenizers` checks afterwards that they have not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import fastbpe
from fastbpe import IdMap, InvalidTokenError, SpecialTokenError, Tokenizer

TEXT = "low lower lowest, slow"


@pytest.fixture
def tokenizers() -> Iterator[Mapping[str, Tokenizer]]:
    """Give a tokenizer of each mode, and check afterwards that ids and vocabularies have not changed."""
    made: dict[str, Tokenizer] = {
        "byte": fastbpe.train([TEXT], vocab_size=264, pattern="gpt2", special_tokens=["<s>"], progress=False),
        "codepoint": fastbpe.train(
            [TEXT], vocab_size=24, mode="codepoint", byte_fallback=False, hard_vocab_limit=False, progress=False
        ),
    }
    before = {mode: (t.fingerprint, t.vocab, t.special_tokens, t.encode(TEXT)) for mode, t in made.items()}
    yield made
    for mode, t in made.items():
        assert (t.fingerprint, t.vocab, t.special_tokens, t.encode(TEXT)) == before[mode]


def refused(tokenizers: Mapping[str, Tokenizer], message: str, call: Callable[[Tokenizer], Any]) -> None:
    for tokenizer in tokenizers.values():
        with pytest.raises(ValueError, match=message):
            call(tokenizer)


@pytest.mark.parametrize("n", [-1, -(10**30)])
def test_negative_limit_is_refused(tokenizers: Mapping[str, Tokenizer], n: int) -> None:
    refused(tokenizers, f"max_tokens={n}", lambda t: t.truncate(TEXT, n))
    refused(tokenizers, f"max_tokens={n}", lambda t: t.truncate_batch([TEXT], n))
    refused(tokenizers, f"max_tokens={n}", lambda t: t.chunk(TEXT, n))
    refused(tokenizers, "max_tokens", lambda t: t.count(TEXT, max_tokens=n))
    refused(tokenizers, f"max_tokens={n}", lambda t: t.fits(TEXT, n))
    refused(tokenizers, f"max_tokens={n}", lambda t: t.conversation().truncate_to(n))


def test_zero_limit_is_refused_except_by_truncate(tokenizers: Mapping[str, Tokenizer]) -> None:
    refused(tokenizers, "max_tokens=0", lambda t: t.chunk(TEXT, 0))
    for tokenizer in tokenizers.values():
        assert tokenizer.truncate(TEXT, 0) == ""


@pytest.mark.parametrize("overlap", [-1, 3, 4, 10**20])
def test_overlap_as_large_as_the_chunk_is_refused(tokenizers: Mapping[str, Tokenizer], overlap: int) -> None:
    refused(tokenizers, f"overlap={overlap}", lambda t: t.chunk(TEXT, 3, overlap=overlap))


@pytest.mark.parametrize("token_id", [-1, 10**6, 2**32, 2**70])
def test_ids_outside_the_vocabulary_are_refused(tokenizers: Mapping[str, Tokenizer], token_id: int) -> None:
    for tokenizer in tokenizers.values():
        for call in (tokenizer.decode, tokenizer.decode_bytes, tokenizer.decode_tokens_bytes):
            with pytest.raises(InvalidTokenError, match=str(token_id)):  # a KeyError, as everywhere
                call([0, token_id])
        with pytest.raises(InvalidTokenError, match=str(token_id)):
            tokenizer.decode_batch([[0], [token_id]])
    refused(tokenizers, str(token_id), lambda t: t.without_tokens([token_id]))


@pytest.mark.parametrize("dropout", [-0.1, 1.1, float("nan"), float("inf")])
def test_dropout_outside_its_range_is_refused(tokenizers: Mapping[str, Tokenizer], dropout: float) -> None:
    refused(tokenizers, "dropout", lambda t: t.encode(TEXT, dropout=dropout))
    refused(tokenizers, "dropout", lambda t: t.encode_batch([TEXT], dropout=dropout, seed=1))


def test_empty_corpus_is_refused(tokenizers: Mapping[str, Tokenizer]) -> None:
    for corpus in ([], [""]):
        refused(tokenizers, "no tokens to count", lambda t, corpus=corpus: t.prune(corpus=corpus))
        refused(
            tokenizers,
            "nothing|no text|no sentence|empty",
            lambda t, corpus=corpus: fastbpe.train(corpus, mode=t.mode, base=t, vocab_size="+2", progress=False),
        )


def test_pruning_below_the_base_alphabet_is_refused(tokenizers: Mapping[str, Tokenizer]) -> None:
    for keep in (-1, 0, 3):
        refused(tokenizers, f"keep={keep}", lambda t, keep=keep: t.prune(keep=keep))
    refused(tokenizers, "cannot be removed", lambda t: t.without_tokens(["l"]))


def test_special_tokens_that_collide_are_refused(tokenizers: Mapping[str, Tokenizer]) -> None:
    for tokenizer in tokenizers.values():
        for names in (["low"], ["<new>", "<new>"], {"<new>": 0}, {"<a>": 900, "<b>": 900}, [""]):
            with pytest.raises(SpecialTokenError):  # a ValueError
                tokenizer.with_special_tokens(names)
        with pytest.raises(ValueError, match="twice"):
            tokenizer.with_tokens(["<new>", "<new>"])


def test_two_bases_of_different_modes_are_refused(tokenizers: Mapping[str, Tokenizer]) -> None:
    one, other = tokenizers.values()
    for a, b in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="mode"):
            fastbpe.merge_vocabularies(a, b)
        with pytest.raises(ValueError, match=f"base= is a tokenizer of mode='{b.mode}'"):
            fastbpe.train([TEXT], mode=a.mode, base=b, vocab_size="+1", progress=False)


def test_integer_symbols_beyond_the_base_are_refused() -> None:
    tokenizer = fastbpe.SequenceTokenizer.from_merges([(0, 1)], base_size=4)
    for symbol in (-1, 4, 2**40):
        for call in (tokenizer.encode, tokenizer.encode_to_numpy, tokenizer.count, tokenizer.token_to_id):
            with pytest.raises(ValueError, match=f"{symbol} at position 1 is not a symbol: a base size of 4"):
                call([0, symbol])
        with pytest.raises(ValueError, match=f"{symbol} at position 1 of sequence 0 is not a symbol"):
            fastbpe.train([[0, symbol]], mode="ids", base=tokenizer, vocab_size="+1", progress=False)
    assert tokenizer.merges == [(0, 1)]


def test_id_map_for_another_matrix_is_refused(tokenizers: Mapping[str, Tokenizer]) -> None:
    numpy = pytest.importorskip("numpy")
    for tokenizer in tokenizers.values():
        id_map = tokenizer.with_tokens(["<new>"]).id_map(tokenizer)
        for n_rows in (0, tokenizer.n_vocab - 1, tokenizer.n_vocab + 1):
            matrix = numpy.ones((n_rows, 2))
            with pytest.raises(ValueError, match=f"matrix has {n_rows} rows"):
                id_map.resize(matrix)
            assert (matrix == 1).all()
    with pytest.raises(ValueError, match="must be the old one of the second"):
        IdMap(2, [0, 1]).then(IdMap(3, [0]))
