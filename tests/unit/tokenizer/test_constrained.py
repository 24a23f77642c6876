"""GuidedTokenizer: the bytes of tokens for constrained decoding."""

from __future__ import annotations

import pytest

import fastbpe
from fastbpe.constrained import GuidedTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def points() -> Tokenizer:
    """A vocabulary of code points with byte fallback: its pieces spell spaces as U+2581."""
    text = ["the cat sat on the mat"] * 9
    return fastbpe.train(text, mode="codepoint", vocab_size=285, byte_fallback=True, progress=False)


def test_bytes_of_tokens_join_to_the_text(points: Tokenizer) -> None:
    guided = GuidedTokenizer(points)
    text = "the cat 世 sat"
    ids = guided(text)
    assert b"".join(guided.tokens[i] for i in ids) == f" {text}".encode()
    assert any(points.decode_bytes([i]) != guided.tokens[i] for i in ids)
    assert len(guided.tokens) == points.n_vocab


def test_special_tokens_are_no_text(points: Tokenizer) -> None:
    guided = GuidedTokenizer(points)
    assert guided.special_token_ids == [0, 1, 2]
    assert guided.tokens[:3] == [b"<unk>", b"<s>", b"</s>"]
    assert guided.text_tokens[:3] == [b"", b"", b""]
    assert guided.text_tokens[3:] == guided.tokens[3:]
    assert (guided.bos_token_id, guided.eos_token_id) == (1, 2)


def test_ids_without_a_token_have_no_bytes() -> None:
    ranks = {bytes([i]): i for i in range(256)}
    made = Tokenizer.from_ranks(ranks, pattern=None, special_tokens={"<end>": 258})
    guided = GuidedTokenizer(made, eos_token_id=258)
    assert guided.tokens[255:] == [b"\xff", b"", b"", b"<end>"]
    assert guided(b"a<end>") == made.encode_ordinary("a<end>")


def test_tokenizer_without_an_end_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"has no end-of-text token \(role eos\): pass eos_token_id="):
        GuidedTokenizer(Tokenizer.from_merges([], pattern=None))


@pytest.mark.parametrize("eos", [999, -1, 257])
def test_end_that_is_no_token_is_refused(eos: int) -> None:
    made = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None, special_tokens={"<end>": 258})
    with pytest.raises(fastbpe.InvalidTokenError, match=rf"eos_token_id={eos} is not a token .*0 and 258"):
        GuidedTokenizer(made, eos_token_id=eos)
    with pytest.raises(TypeError, match="eos_token_id must be an integer, not str"):
        GuidedTokenizer(made, eos_token_id=str(eos))  # type: ignore[arg-type]


def test_the_three_libraries_accept_what_the_grammar_allows(points: Tokenizer) -> None:
    """Runs with the packages that are installed; docs/constrained-decoding.md shows the calls."""
    llguidance = pytest.importorskip("llguidance")
    guided = GuidedTokenizer(points)
    ids = points.encode("the cat")
    wrapped = llguidance.LLTokenizer(llguidance.TokenizerWrapper(guided))
    matcher = llguidance.LLMatcher(wrapped, llguidance.LLMatcher.grammar_from_regex(" the (cat|mat)"))
    assert matcher.try_consume_tokens(ids) == len(ids)
    assert matcher.is_accepting()
