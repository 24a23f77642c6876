"""Untrusted text never becomes a control token, for any vocabulary and any neighbouring parts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import FastbpeError, Tokenizer
from fastbpe.formats import tekken
from fastbpe.formats.byte_level import bytes_of
from fastbpe.formats.gguf import metadata
from fastbpe.formats.gguf.metadata import Typed
from fastbpe.model import PieceType
from fastbpe.splitting.charset import blanks
from helpers.codepoint_models import model_of
from helpers.shared_data import data_file
from helpers.tokenizer_json import (
    BYTE_LEVEL,
    METASPACE,
    SHOWN,
    added,
    document,
    dumped,
    llama_document,
    random_document,
)

PARTS = [
    *"abc<>s|/.é漢",
    " ",
    "  ",
    "\n",
    "\t",
    METASPACE,
    "<s>",
    "</s>",
    "<x>",
    "ab",
    "abc",
    "<unk>",
    "<0x41>",
    "<t>a",
]
rngs = st.randoms(use_true_random=False)


def text_of(rng: random.Random) -> str:
    return "".join(rng.choices(PARTS, k=rng.randint(0, 12)))


def merges_of(rng: random.Random, base: list[str]) -> tuple[list[str], list[str]]:
    """Return tokens and the merges that make them; some are spelled like added tokens."""
    tokens = [*base]
    merges: list[str] = []
    for wanted in ("<s", "<s>", "ab", "abc", "<x", "<x>", "bc", *(rng.choice(tokens) for _ in range(6))):
        cuts = [at for at in range(1, len(wanted)) if wanted[:at] in tokens and wanted[at:] in tokens]
        if wanted not in tokens and cuts and rng.random() < 0.8:
            at = rng.choice(cuts)
            tokens.append(wanted)
            merges.append(f"{wanted[:at]} {wanted[at:]}")
    return tokens, merges


def added_to(rng: random.Random, vocab: dict[str, int]) -> list[dict[str, Any]]:
    names = rng.sample(["<s>", "</s>", "<x>", "abc", "ab", "  ", "\n", "\t", "é漢", "a b", "<t>", "c"], 5)
    out, following = [], len(vocab)
    for name in names:
        flags = {key: rng.random() < 0.3 for key in ("special", "normalized", "lstrip", "rstrip", "single_word")}
        if rng.random() < 0.6:
            flags |= {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
        out.append(added(vocab.get(name, following), name, **flags))
        following += name not in vocab
    return out


def byte_level(rng: random.Random) -> dict[str, Any]:
    tokens, merges = merges_of(rng, [*SHOWN])
    vocab = {token: i for i, token in enumerate(tokens)}
    if rng.random() < 0.5:  # tokens without merges, which a whole piece may still match
        vocab |= {name: len(vocab) + i for i, name in enumerate(n for n in ("<t>", "</s>") if n not in vocab)}
    return document(
        vocab,
        merges,
        pre_tokenizer={**BYTE_LEVEL, "use_regex": rng.random() < 0.5},
        model={"ignore_merges": rng.random() < 0.5},
        added_tokens=added_to(rng, vocab),
    )


def llama_kind(rng: random.Random) -> dict[str, Any]:
    fallback = [f"<0x{byte:02X}>" for byte in range(256)] if rng.random() < 0.7 else []
    tokens, merges = merges_of(rng, [METASPACE, *"abc<>sx|/"])
    vocab = {token: i for i, token in enumerate(["<unk>", *fallback, *tokens])}
    made = llama_document(vocab, merges)
    made["model"]["byte_fallback"] = bool(fallback)
    made["added_tokens"] += added_to(rng, vocab)
    if rng.random() < 0.5:
        scheme = rng.choice(["always", "first", "never"])
        made["normalizer"] = None
        made["pre_tokenizer"] = {
            "type": "Metaspace",
            "replacement": METASPACE,
            "prepend_scheme": scheme,
            "split": False,
        }
    return made


def check(tokenizer: Tokenizer, forbidden: set[int], rng: random.Random) -> list[tuple[str, list[int]]]:
    """Return random texts with their ids, after checking that no id is forbidden, alone and between trusted
    parts."""
    out = []
    for _ in range(8):
        before, text, behind = text_of(rng), text_of(rng), text_of(rng)
        ids = tokenizer.encode_parts([(text, False)])
        assert forbidden.isdisjoint(ids), (text, ids)
        trusted = [tokenizer.encode(one, allowed_special="all") for one in (before, behind)]
        parts = [(before, True), (text, False), (behind, True)]
        assert tokenizer.encode_parts(parts) == [*trusted[0], *ids, *trusted[1]]
        assert tokenizer.encode_parts([(text[:3], False), (text[3:], False)]) == [
            *tokenizer.encode_parts([(text[:3], False)]),
            *tokenizer.encode_parts([(text[3:], False)]),
        ]
        out.append((text, ids))
    return out


def loaded(made: dict[str, Any]) -> Tokenizer | None:
    try:
        return fastbpe.load(dumped(made))
    except FastbpeError:
        return None  # the file is refused


def forbidden_in(made: dict[str, Any], bases: set[int]) -> set[int]:
    """Return the ids of special tokens and of added tokens with a visible character, except base symbols."""
    return {
        token["id"]
        for token in made["added_tokens"]
        if (token["special"] or token["content"].strip(blanks())) and token["id"] not in bases
    }


@pytest.mark.daily
@given(rngs)
@settings(max_examples=150, deadline=None)
def test_untrusted_text_has_no_added_tokens_in_byte_level_files(rng: random.Random) -> None:
    made = byte_level(rng)
    tokenizer = loaded(made)
    if tokenizer is not None:
        for text, ids in check(tokenizer, forbidden_in(made, {*range(256)}), rng):
            if not any(token["lstrip"] or token["rstrip"] for token in made["added_tokens"]):
                assert tokenizer.decode(ids) == text


@pytest.mark.daily
@given(rngs)
@settings(max_examples=100, deadline=None)
def test_untrusted_text_has_no_added_tokens_after_normalization(rng: random.Random) -> None:
    made = random_document(rng)
    tokenizer = loaded(made)
    if tokenizer is not None:
        check(tokenizer, forbidden_in(made, {*range(256)}), rng)


@pytest.mark.daily
@given(rngs)
@settings(max_examples=150, deadline=None)
def test_untrusted_text_has_no_added_tokens_in_llama_files(rng: random.Random) -> None:
    made = llama_kind(rng)
    tokenizer = loaded(made)
    if tokenizer is None:
        return
    vocab = made["model"]["vocab"]
    bases = {i for token, i in vocab.items() if len(token) == 1 or token == "<unk>"}
    takes_along = any(token["lstrip"] or token["rstrip"] for token in made["added_tokens"])
    for text, ids in check(tokenizer, forbidden_in(made, bases), rng):
        prepends = made["normalizer"] is not None
        if (
            prepends
            and made["model"]["byte_fallback"]
            and not takes_along
            and METASPACE not in text
            and text.isascii()
        ):
            blank = any(token["id"] in ids for token in made["added_tokens"])
            assert blank or tokenizer.decode(ids) == text


@pytest.mark.daily
@given(rngs)
@settings(max_examples=150, deadline=None)
def test_untrusted_text_has_no_control_symbols_of_a_model(rng: random.Random) -> None:
    tokens, _ = merges_of(rng, [METASPACE, *"abc<>sx|/"])
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"</s>", 0.0, PieceType.CONTROL)]
    fallback = rng.random() < 0.7
    if fallback:
        pieces += [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
    kinds = [PieceType.NORMAL, PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED, PieceType.CONTROL]
    names = [*tokens, "<t>", "a b", f"{METASPACE}{METASPACE}", "\n", "<t>a", "é漢", "é"]
    for number, name in enumerate(names):
        kind = rng.choice(kinds) if len(name) > 1 or name == "é" else PieceType.NORMAL
        pieces.append((name.encode(), -float(number), kind))
    normalizer = {"add_dummy_prefix": rng.random() < 0.5, "remove_extra_whitespaces": rng.random() < 0.3}
    tokenizer = fastbpe.load(model_of(pieces, {"byte_fallback": fallback}, normalizer))
    forbidden = {
        i
        for i, (piece, _, kind) in enumerate(pieces)
        if kind == PieceType.CONTROL
        or (
            kind == PieceType.USER_DEFINED
            and len(piece.decode()) > 1
            and piece.decode().strip(blanks() + METASPACE)
        )
    }
    for text, ids in check(tokenizer, forbidden, rng):
        if fallback and not normalizer["remove_extra_whitespaces"] and METASPACE not in text and text[:1] != " ":
            assert tokenizer.decode(ids) == text


@pytest.mark.daily
@given(rngs)
@settings(max_examples=100, deadline=None)
def test_untrusted_text_has_no_control_tokens_of_a_gguf_file(rng: random.Random) -> None:
    tokens, merges = merges_of(rng, [*SHOWN])
    tokens += [name for name in ("<t>", "</s>", "é漢", "<t>a") if name not in tokens]
    kinds = [PieceType.NORMAL, PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED, PieceType.CONTROL]
    types = [PieceType.NORMAL if i < 256 else rng.choice(kinds) for i in range(len(tokens))]
    normal = {token for token, kind in zip(tokens, types, strict=True) if kind == PieceType.NORMAL}
    kept = [line for line in merges if {*line.split(" "), line.replace(" ", "")} <= normal]
    values = {
        "model": Typed(metadata.STRING, b"gpt2"),
        "pre": Typed(metadata.STRING, rng.choice([b"llama-bpe", b"qwen2", b"starcoder"])),
        "tokens": Typed(metadata.STRING, [token.encode() for token in tokens], True),
        "token_type": Typed(metadata.INT32, types, True),
        "merges": Typed(metadata.STRING, [line.encode() for line in kept], True),
    }
    tokenizer = fastbpe.load(metadata.write({f"tokenizer.ggml.{key}": value for key, value in values.items()}))
    forbidden = {i for i, kind in enumerate(types) if kind in (PieceType.CONTROL, PieceType.USER_DEFINED)}
    for text, ids in check(tokenizer, forbidden, rng):
        assert tokenizer.decode(ids) == text


@pytest.mark.daily
@given(rngs)
@settings(max_examples=50, deadline=None)
def test_untrusted_text_has_no_special_tokens_of_a_tekken_file(rng: random.Random) -> None:
    shown, _ = merges_of(rng, [*SHOWN])
    names = rng.sample(["<s>", "</s>", "<t>", "<x>", "abc", "é漢"], 4)
    tokens = [bytes_of(token) for token in shown if token not in names]
    tokens = [bytes([byte]) for byte in range(256)] + [token for token in tokens if token and len(token) > 1]
    n = len(names)
    data = tekken.dump([b""] * n + tokens, r"\w+|\W", {name: i for i, name in enumerate(names)})  # type: ignore[list-item]
    tokenizer = fastbpe.load(data)
    for text, ids in check(tokenizer, {*range(n)}, rng):
        assert tokenizer.decode(ids) == text


def test_added_tokens_of_the_vocabulary_are_split_in_untrusted_text() -> None:
    vocab = {shown: i for i, shown in enumerate([*SHOWN, "ab", "<s", "<s>", "<s>a"])}
    made = document(vocab, ["a b", "< s", "<s >", "<s> a"], pre_tokenizer={**BYTE_LEVEL, "use_regex": False})
    made["added_tokens"] = [added(258, "<s>", special=True), added(256, "ab"), added(97, "a")]
    tokenizer = fastbpe.load(dumped(made))
    a, b, more = (SHOWN.index(character) for character in "ab>")
    assert tokenizer.encode_parts([("<s>", True)]) == [258]
    assert tokenizer.encode_parts([("<s>", False)]) == [257, more]
    assert tokenizer.encode_parts([("ab", False)]) == [a, b], "a byte has no other id"
    assert tokenizer.encode_parts([("<s>a", False)]) == [259], "a token of text, which nobody added"


FILES = {
    "phi2": "phi2_tokenizer.json",
    "phi3_mini": "phi3_mini_tokenizer.json",
    "whisper": "whisper_large_v3_tokenizer.json",
    "falcon": "falcon_tokenizer.json",
    "mistral_v3": "mistral_v3_tokenizer.model",
    "llama2": "llama2_tokenizer.model",
}


@pytest.mark.parametrize("name", FILES)
def test_published_vocabularies_keep_control_tokens_out_of_untrusted_text(name: str) -> None:
    tokenizer = fastbpe.load(data_file("vocab", FILES[name]))
    names = [*tokenizer.special_tokens, *(token.content for token in tokenizer.added_tokens)]
    names += ["[REFERENCE_DOC_0]"] * (name == "mistral_v3")
    visible = [one for one in names if one.strip(blanks())][:200]
    forbidden = {token_id for one in visible if (token_id := tokenizer.token_to_id(one)) is not None}
    assert len(forbidden) == len({*visible})
    for one in visible:
        ids = tokenizer.encode_parts([(f"a {one}", False), (one, False)])
        assert forbidden.isdisjoint(ids), (one, ids)
        assert tokenizer.decode(ids) in (f"a {one}{one}", f"a {one} {one}")
        if one in tokenizer.special_tokens:
            assert tokenizer.encode_parts([(one, True)]) == [tokenizer.token_to_id(one)]


def test_runs_of_spaces_are_found_in_untrusted_text() -> None:
    tokenizer = fastbpe.load(data_file("vocab", "phi2_tokenizer.json"))
    text = "if x:\n        return\t\ty"
    assert tokenizer.encode_parts([(text, False)]) == tokenizer.encode(text)


def test_control_tokens_of_llama_files_are_found_only_in_trusted_parts() -> None:
    tokenizer = fastbpe.load(data_file("vocab", "phi3_mini_tokenizer.json"))
    assert tokenizer.encode_parts([("</s>", True)]) == [2]
    assert 2 not in tokenizer.encode_parts([("</s>", False)])
    assert tokenizer.encode("</s>") == [2], "as tokenizers does"
