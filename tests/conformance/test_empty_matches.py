"""Patterns that match the empty text, in Split, Replace and NormalizedString, as tokenizers 0.23 runs them."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

import fastbpe
import fastbpe.tokenizers as face
from fastbpe import PatternError, Tokenizer
from fastbpe.normalization.huggingface import make_change
from fastbpe.splitting.steps import make_sequence, step_of
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES

tokenizers = pytest.importorskip("tokenizers")

SUPERBPE = r"(?=(\d{3})+(?!\d))"
PATTERNS = [
    SUPERBPE, "^", "$", r"\b", r"\B", "a*", r"\s*$", r"a*|b", "|a", "a|", r"\d{0,2}", r"(?=b)", r"(?<=a)",
    r"(?<!a)", r"\A", r"\z", r"\Z", r"(?:ab)?", r"\s*", r"a*?", r"a??b?", r"(?=\d)|-", r"x{0}", r"[ab]*+",
    r"(?!b)", r"^a?", "()", r"\p{L}*", r"(?<=\d)(?=\p{L})|(?<=\p{L})(?=\d)",
]  # fmt: skip
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
TEXTS = ["a", "b", "aab", "1234567", "ab12345 6", "\n", "a\nb\n", "  a  ", "é漢a b", "a-b1-2", "x\r\n y\n\n"]


def texts(seed: str, n: int) -> list[str]:
    rng = random.Random(seed)
    return TEXTS + ["".join(rng.choices("aabb12 \n\té漢-\U0001f600", k=rng.randint(1, 9))) for _ in range(n)]


def pieces(step: dict[str, Any], text: str) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in make_sequence([step_of(step)]).pieces(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_split_gives_the_pieces_of_tokenizers(pattern: str) -> None:
    for behavior, invert in itertools.product(BEHAVIORS, (False, True)):
        step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in behavior)[1:]
        peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), name, invert)
        for text in texts(pattern, n_rounds(20, 1000)):
            expected = [piece for piece, _ in peer.pre_tokenize_str(text)]
            assert pieces(step, text) == expected, (pattern, behavior, invert, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_replace_gives_the_text_of_tokenizers(pattern: str) -> None:
    change = make_change([{"type": "Replace", "pattern": {"Regex": pattern}, "content": "_é"}])
    assert change is not None
    peer = tokenizers.normalizers.Replace(tokenizers.Regex(pattern), "_é")
    decoder = tokenizers.decoders.Replace(tokenizers.Regex(pattern), "_é")
    ours = face.decoders.Replace(face.Regex(pattern), "_é")
    for text in ["", *texts(pattern, n_rounds(20, 1000))]:
        assert change(text) == peer.normalize_str(text), (pattern, text)
        assert ours.decode([text, text]) == decoder.decode([text, text])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_normalized_string_splits_and_replaces_as_in_tokenizers(pattern: str) -> None:
    for text in ["", *texts(pattern, n_rounds(10, 500))]:
        for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
            made = face.NormalizedString(text).split(face.Regex(pattern), behavior)
            peer = tokenizers.NormalizedString(text).split(tokenizers.Regex(pattern), behavior)
            assert [part.normalized for part in made] == [part.normalized for part in peer], (
                pattern,
                behavior,
                text,
            )
        one, other = face.NormalizedString(text), tokenizers.NormalizedString(text)
        one.replace(face.Regex(pattern), "_")
        other.replace(tokenizers.Regex(pattern), "_")
        assert one.normalized == other.normalized


def described(*steps: dict[str, Any], normalizer: Any = None) -> bytes:
    """Return a byte-level tokenizer.json with these pre-tokenizers before ByteLevel."""
    ranks = {**BYTES, b"12": 256, b"123": 257, b"ab": 258, b"34": 259, b"45": 260, b"\n ": 261}
    plain = Tokenizer.from_ranks(ranks, pattern="gpt2")
    made = plain._family.dump(plain, "huggingface")
    assert isinstance(made, bytes)
    top = json.loads(made)
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    top["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*steps, last]}
    top["normalizer"] = normalizer
    return json.dumps(top).encode()


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


@pytest.mark.daily
@pytest.mark.parametrize(
    ("steps", "normalizer"),
    [
        ([split(r"\p{N}+"), split(SUPERBPE)], None),
        ([split(SUPERBPE)], None),
        ([split("a*", "MergedWithNext", True)], None),
        (
            [split(r"\b", "MergedWithPrevious")],
            {"type": "Replace", "pattern": {"Regex": "(?<=b)"}, "content": "12"},
        ),
    ],
)
def test_file_with_an_empty_match_encodes_as_tokenizers(steps: list[dict[str, Any]], normalizer: Any) -> None:
    data = described(*steps, normalizer=normalizer)
    tokenizer, peer = fastbpe.load(data), tokenizers.Tokenizer.from_str(data.decode())
    wanted = texts("file", n_rounds(100, 500))
    for text in [*wanted, "1234567 a1234567890b"]:
        assert tokenizer.encode(text) == peer.encode(text).ids, text
        spans = tokenizer.encode_with_offsets(text)
        assert list(spans[0]) == peer.encode(text).ids
        assert tokenizer.count(text) == len(peer.encode(text).ids)
    assert tokenizer.encode_batch(wanted) == [peer.encode(text).ids for text in wanted]
    long = "1234567 a" * 50_000
    assert tokenizer.decode(tokenizer.encode(long)) == long or normalizer


def test_file_with_an_empty_match_is_written_again(tmp_path: Any) -> None:
    tokenizer = fastbpe.load(described(split(r"\p{N}+"), split(SUPERBPE)))
    for name in ("a.json", "a.fbpe"):
        tokenizer.export(tmp_path / name)
        again = fastbpe.load(tmp_path / name)
        assert again == tokenizer
        assert again.encode("1234567") == tokenizer.encode("1234567")


def test_pattern_of_fastbpe_still_refuses_empty_matches() -> None:
    """Such a pattern would never get past its first empty match; tiktoken fails with an error."""
    with pytest.raises(PatternError, match="can match the empty string"):
        Tokenizer.from_ranks(BYTES, pattern="a*")
