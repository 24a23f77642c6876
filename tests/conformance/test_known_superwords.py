"""Superwords as their references learned them: known answers in superwords_known.json, each with its origin.

The ids of SuperBPE begin with the characters that occur, in the order of tokenizers, those of BoundlessBPE with
the 243 bytes of UTF-8, and those of fastbpe with 256 bytes. The tests compare tokens, and translate ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Superwords, Tokenizer
from fastbpe.formats.byte_level import text_of
from fastbpe.model import N_BYTES, Model, Supermerges, pack_merges
from fastbpe.splitting.steps import make_sequence, step_of
from helpers.shared_data import data_file

KNOWN = json.loads((Path(__file__).parent / "superwords_known.json").read_text(encoding="utf-8"))
UTF8 = [bytes([byte]) for byte in range(N_BYTES) if byte not in {0xC0, 0xC1, *range(0xF5, N_BYTES)}]
BOUNDLESS = KNOWN["boundless"]


def text_of_case(case: dict[str, Any]) -> str:
    where = case["text"]
    text = data_file(*where["file"].split("/")).read_text(encoding="utf-8")  # read_text turns "\r\n" into "\n"
    text = text[where["from_char"] : where["from_char"] + where["chars"]]
    assert hashlib.sha256(text.encode()).hexdigest() == where["sha256"]
    return text


def check_probes(tokenizer: Tokenizer, probes: Sequence[dict[str, str]], theirs: Sequence[bytes]) -> None:
    """Compare ids. theirs: the reference's tokens, by id; it drops characters that it has not learned."""
    places = {token: i for i, token in enumerate(theirs)}
    for probe in probes:
        tokens = tokenizer.decode_tokens_bytes(tokenizer.encode(probe["text"]))
        ids = [places[token] for token in tokens if token in places or len(token) > 1]
        assert ids == [*map(int, probe["ids"].split())], probe


def test_superbpe_learns_the_known_merges_and_ids() -> None:
    case = KNOWN["superbpe"]
    text, n_others = text_of_case(case), N_BYTES - case["n_characters"]
    tokenizer = fastbpe.train(
        [text],
        vocab_size=n_others + case["n_ids"],
        pattern=case["pattern"],
        ties="huggingface",
        superwords=Superwords(n_others + case["n_words"], pattern=case["lines_pattern"]),
        progress=False,
    )
    vocab = tokenizer.vocab
    merges = ["|".join(text_of(vocab[part]) for part in pair) for pair in tokenizer.merges]
    assert merges == f"{case['word_merges']} {case['superword_merges']}".split(" ")
    characters = sorted({bytes([byte]) for byte in text.encode()}, key=text_of)
    assert len(characters) == case["n_characters"]
    check_probes(tokenizer, case["probes"], [*characters, *vocab[N_BYTES:]])


@pytest.fixture(scope="module")
def documents() -> list[str]:
    text = text_of_case(BOUNDLESS)
    return [text[at : at + 5000] for at in range(0, len(text), 5000)]


def learned(documents: list[str], superwords: Any) -> Tokenizer:
    return fastbpe.train(
        documents,
        vocab_size=N_BYTES - len(UTF8) + BOUNDLESS["n_ids"],
        pattern=BOUNDLESS["pattern"],
        superwords=superwords,
        progress=False,
    )


def test_words_of_boundless_are_the_known_merges_with_their_counts(documents: list[str]) -> None:
    words = learned(documents, "words")
    vocab, counts = words.vocab, words.training_report["word_counts"]
    merges = [
        f"{vocab[left].hex()}|{vocab[right].hex()}|{n}"
        for (left, right), n in zip(words.merges, counts, strict=True)
    ]
    assert merges == BOUNDLESS["word_merges"].split()
    check_probes(words, BOUNDLESS["word_probes"], UTF8 + vocab[N_BYTES:])


def test_boundless_learns_the_known_superwords_and_ids(documents: list[str]) -> None:
    tokenizer = learned(documents, "boundless")
    vocab, model = tokenizer.vocab, tokenizer._family.own
    assert model.supermerges is not None
    merges = [f"{vocab[left].hex()}|{vocab[right].hex()}" for left, right, _ in model.supermerges.merge_list()]
    assert merges == [row.rpartition("|")[0] for row in BOUNDLESS["superword_merges"].split()]
    assert len(model.merge_list() or ()) == BOUNDLESS["n_words_used"]
    assert [token.hex() for token in vocab[N_BYTES:]] == BOUNDLESS["tokens"].split()
    check_probes(tokenizer, BOUNDLESS["probes"], UTF8 + vocab[N_BYTES:])


def test_superwords_on_top_of_all_words_encode_as_known(documents: list[str]) -> None:
    words = learned(documents, "words")
    vocab = words.vocab
    rows: list[tuple[int, int, int]] = []
    for row in BOUNDLESS["superwords_on_top"].split():
        left, right = map(bytes.fromhex, row.split("|")[:2])
        rows.append((vocab.index(left), vocab.index(right), len(vocab)))
        vocab.append(left + right)
    merges = pack_merges((left, right, N_BYTES + i) for i, (left, right) in enumerate(words.merges))
    model = Model(
        tokens=vocab,
        pattern=words.pattern,
        special_tokens={},
        merges=merges,
        merges_rule="merges",
        whole_piece_first=False,
        supermerges=Supermerges(pack_merges(rows)),
    )
    check_probes(Tokenizer(model), BOUNDLESS["probes_on_top"], UTF8 + vocab[N_BYTES:])


def test_digits_are_cut_from_the_right_as_known() -> None:
    case = KNOWN["zero_width_split"]
    steps = [
        step_of({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False})
        for pattern in case["patterns"]
    ]
    for text, pieces in case["pieces"]:
        data = text.encode()
        assert [data[start:end].decode() for start, end in make_sequence(steps).pieces(text)] == pieces
