"""Vocabulary changes compared with other tools: merges of bpe-continue, removals of bpe-tokenizer-editor.

bpe-continue 0.1.0 continues the training of a tokenizer.json with the trainer of tokenizers. It learns the merges
of train(base=…, ties="pair") if the text has no added tokens: bpe-continue learns from added tokens as from other
text, while fastbpe never merges them.

bpe-tokenizer-editor 0.2.0 removes a token and all tokens whose listed merges need it. fastbpe keeps the ones
that merging still makes in another way. So it keeps more tokens, and the test checks that some text gives each of
these. The editor's other changes are not compared: `add_token` lists merges that take text from older tokens, and
`merge_from` puts the merges of the second tokenizer before the merges of the first.
"""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import fastbpe
from fastbpe import Tokenizer, TrainingWarning
from helpers import tokenizer_json
from helpers.sampling import n_rounds, rounds, share_of

ALPHABET = pre_tokenizers.ByteLevel.alphabet()
LETTERS = ["ab ", "abc  é", "abcd \n漢é12"]


def trained(rng: random.Random, letters: str, special: list[str]) -> tokenizers.Tokenizer:
    """Train a byte-level tokenizer with the trainer of tokenizers."""
    peer = tokenizers.Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + rng.randrange(30), initial_alphabet=ALPHABET, special_tokens=special, show_progress=False
    )
    peer.train_from_iterator(drawn(rng, letters, 9), trainer)
    return peer


def drawn(rng: random.Random, letters: str, n: int) -> list[str]:
    return ["".join(rng.choices(letters, k=rng.randrange(1, 40))) for _ in range(n)]


def extended(texts: list[str], base: Tokenizer, n_more: int, **options: Any) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return fastbpe.train(
            iter(texts), base=base, vocab_size=f"+{n_more}", ties="pair", progress=False, **options
        )


def test_train_from_a_base_learns_the_merges_of_bpe_continue() -> None:
    bpe_continue = pytest.importorskip("bpe_continue")
    n_learned = 0
    for number in rounds(60, 3000):
        rng = random.Random(f"continued {number}")
        letters = rng.choice(LETTERS)
        peer = trained(rng, letters, rng.choice([[], ["<s>"]]))
        texts, n_more, least = drawn(rng, letters, 6), rng.randrange(1, 25), rng.choice([0, 2, 3])
        longer = bpe_continue.continue_training(
            peer,
            texts=texts,
            vocab_size=peer.get_vocab_size() + n_more,
            min_frequency=least,
            show_progress=False,
        )
        ours = extended(texts, fastbpe.load(peer.to_str().encode()), n_more, min_count=max(least, 1))
        expected = fastbpe.load(longer.to_str().encode())
        assert (ours.vocab, ours.merges) == (expected.vocab, expected.merges), number
        n_learned += ours.n_vocab - peer.get_vocab_size()
    assert n_learned > share_of(60)


def test_train_from_a_base_with_any_components_learns_the_tokens_of_bpe_continue() -> None:
    """Compare for bases with normalizers and pre-tokenizers of every kind."""
    bpe_continue = pytest.importorskip("bpe_continue")
    byte_of = {shown: byte for byte, shown in enumerate(tokenizer_json.SHOWN)}
    n_compared = 0
    for number in rounds(80, 3000):
        rng = random.Random(f"continued steps {number}")
        made = {**tokenizer_json.random_document(rng), "added_tokens": []}
        try:
            base = fastbpe.load(tokenizer_json.dumped(made))
            peer = tokenizers.Tokenizer.from_str(json.dumps(made))
        except Exception:  # FastbpeError, or what tokenizers raises
            continue
        texts = [text for text in (tokenizer_json.random_text(rng) for _ in range(12)) if text]
        n_more = rng.randrange(1, 10)
        try:
            longer = bpe_continue.continue_training(
                peer, texts=texts, vocab_size=base.n_vocab + n_more, show_progress=False
            )
        except ValueError:  # a byte has no token: fastbpe drops the byte, as tokenizers does
            continue
        names = {i: token for token, i in json.loads(longer.to_str())["model"]["vocab"].items()}
        new = [bytes(byte_of[c] for c in names[i]) for i in range(base.n_vocab, len(names))]
        assert extended(texts, base, n_more).vocab[base.n_vocab :] == new, (number, made)
        n_compared += 1
    assert n_compared > share_of(4)


@pytest.mark.daily
def test_removal_keeps_the_tokens_that_the_editor_keeps_and_others_that_merging_still_makes(
    tmp_path: Path,
) -> None:
    editor_module = pytest.importorskip("bpe_tokenizer_editor")
    n_equal = n_more = 0
    path = tmp_path / "tokenizer.json"
    for number in rounds(60, 3000):
        rng = random.Random(f"removed {number}")
        letters = rng.choice(LETTERS)
        peer = trained(rng, letters, [])
        old = fastbpe.load(peer.to_str().encode())
        names = {i: token for token, i in peer.get_vocab().items()}
        merged = range(256, old.n_vocab)
        gone = rng.sample(merged, rng.randrange(1, 5)) if len(merged) > 4 else [*merged]
        editor = editor_module.BPETokenizerEditor.from_json(peer.to_str())
        editor.remove_tokens([names[i] for i in gone])
        editor.reindex_vocab()
        change = old.without_tokens(gone)
        change.tokenizer.export(path, format="huggingface")
        model = json.loads(path.read_text())["model"]
        kept, expected = model["vocab"], editor.get_vocab()
        assert kept.keys() >= expected.keys(), number
        if kept.keys() == expected.keys():
            n_equal += 1
            assert not change.report.remade
            assert len(change.report.lost) == len(names) - len(kept) - len(gone)
            assert kept == expected, number  # tokens and ids
            assert [tuple(pair.split(" ")) for pair in model["merges"]] == editor.get_merges(), number
            theirs = tokenizers.Tokenizer.from_str(editor.to_json())
            for text in drawn(rng, letters, 10):
                assert change.tokenizer.encode(text) == theirs.encode(text).ids, (number, text)
        else:
            n_more += 1
            if n_more > n_rounds(6, 3000):
                continue  # a report takes about a second
            more = {kept[name] for name in kept.keys() - expected.keys()}
            report = fastbpe.vocabulary_report(change.tokenizer)
            assert more <= report.witnesses.keys(), number  # the report has a text that gives each
            peer = tokenizers.Tokenizer.from_file(str(path))
            assert all(token_id in peer.encode(report.witnesses[token_id]).ids for token_id in more), number
    assert n_equal > share_of(3)
    assert n_more > share_of(2)


def test_editor_accepts_all_merges_of_exported_files(tmp_path: Path) -> None:
    editor_module = pytest.importorskip("bpe_tokenizer_editor")
    path = tmp_path / "tokenizer.json"
    n_merges = 0
    for number in rounds(30, 1000):
        rng = random.Random(f"valid {number}")
        letters = rng.choice(LETTERS)
        first, second = (fastbpe.load(trained(rng, letters, []).to_str().encode()) for _ in range(2))
        changed = [
            extended(drawn(rng, letters, 6), first, 9),
            fastbpe.merge_vocabularies(first, second)[0],
            first.prune(keep=max(256, first.n_vocab - 9))[0],
        ]
        for tokenizer in changed:
            tokenizer.export(path, format="huggingface")
            written = tokenizers.Tokenizer.from_file(str(path)).to_str()  # the editor reads merges as pairs only
            found = editor_module.BPETokenizerEditor.from_json(written).validate_merges()
            assert found.invalid_count == 0, (number, found.invalid_merges)
            n_merges += found.valid_count
    assert n_merges > share_of(100)
