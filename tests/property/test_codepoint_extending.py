"""Code-point training after a model, against its slow twin, sentencepiece and the promises about old ids."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import Any

import pytest

import fastbpe
from fastbpe import OptionError, Tokenizer, TrainingError
from fastbpe.errors import SpecError
from helpers.random_training import random_options, random_sentences, twin_trainer
from helpers.sampling import rounds, share_of
from helpers.shared_data import corpus, data_file
from reference import sentencepiece as twin

spm = pytest.importorskip("sentencepiece")

TEXT = ["low lower lowest new newer newest wide wider widest"] * 3


def trained(**options: Any) -> Tokenizer:
    return fastbpe.train(TEXT, mode="codepoint", vocab_size=24, progress=False, **options)


def extend(base: Tokenizer, source: Any, n_more: int, **options: Any) -> Tokenizer:
    options = {"hard_vocab_limit": False, **options}
    return fastbpe.train(
        iter(source), mode="codepoint", base=base, vocab_size=f"+{n_more}", progress=False, **options
    )


def pieces_of(tokenizer: Tokenizer) -> list[bytes]:
    return tokenizer._family.own.pieces  # type: ignore[attr-defined]


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_extending_random_models_equals_the_slow_twin() -> None:
    n_done = 0
    for number in rounds(80, 3000):
        rng = random.Random(f"codepoint base {number}")
        lines = [sentence.replace(b"\n", b" ").replace(b"\r", b" ") for sentence in random_sentences(rng)]
        lines = [line for line in lines if line] * 2
        first, second = lines[:4], lines[-4:]
        options = random_options(rng, first) | {
            "hard_vocab_limit": False,
            "byte_fallback": False,
            "vocab_size": 40,
        }
        n_more = rng.choice([3, 10, 40])
        try:
            base = fastbpe.train(iter(first), mode="codepoint", progress=False, **options)
            extended = extend(base, second, n_more)
        except (SpecError, OptionError, TypeError, ValueError):
            continue  # refusals have tests of their own
        model = base._family.own  # type: ignore[attr-defined]
        trainer, names, kept = twin_trainer(second, model)
        processor = twin.Processor(model.pieces, twin.floats(model.scores), model.types, trainer.normalizer)
        expected = trainer.go_on(processor, [(s, 1) for s in kept], n_pieces=n_more, symbols=names)
        found = [piece.decode() for piece in pieces_of(extended)[base.n_vocab :]]
        assert found == expected, (number, first, second, options, n_more)
        n_done += 1
    assert n_done > share_of(4)


def test_rules_of_the_run_hold_for_pieces_that_continue_the_base() -> None:
    """The base has a piece with two U+2581 before a letter, which split_by_whitespace=True forbids."""
    spaces = {
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
        "hard_vocab_limit": False,
    }
    base = fastbpe.train(
        iter(["  b  b"] * 5), mode="codepoint", vocab_size=9, split_by_whitespace=False, progress=False, **spaces
    )
    assert "\u2581\u2581b".encode() in pieces_of(base)
    lines = [b"  bcd  bcde  bcdf"] * 30
    new = extend(base, lines, 20, split_by_whitespace=True)
    model = base._family.own  # type: ignore[attr-defined]
    trainer, names, kept = twin_trainer(lines, model)
    trainer = replace(trainer, split_by_whitespace=True)
    processor = twin.Processor(model.pieces, twin.floats(model.scores), model.types, trainer.normalizer)
    expected = trainer.go_on(processor, [(s, 1) for s in kept], n_pieces=20, symbols=names)
    assert [piece.decode() for piece in pieces_of(new)[base.n_vocab :]] == expected


def test_extended_model_keeps_pieces_scores_and_ids() -> None:
    base = trained()
    new = extend(base, ["wider lower, \u00fcbernew \u00fcbernew shower wow"] * 3, 12)
    old_model, model = base._family.own, new._family.own  # type: ignore[attr-defined]
    n = base.n_vocab
    assert model.pieces[:n] == old_model.pieces
    assert model.scores[: 4 * n] == old_model.scores
    assert model.types[:n] == old_model.types
    scores = struct.unpack(f"<{new.n_vocab}f", model.scores)
    assert list(scores[n:]) == [min(scores[:n]) - 1 - rank for rank in range(new.n_vocab - n)]
    assert len({*model.pieces}) == new.n_vocab == n + 12
    assert new.training_report["base"] == base.fingerprint


def test_extended_model_gives_the_ids_of_sentencepiece() -> None:
    base = trained(byte_fallback=False, user_defined_symbols=["<x>"])
    text = "wider lower, \u00fcbernew <x>shower wow low"
    new = extend(base, [text] * 3, 20).with_special_tokens(["<pad>"])
    peer = spm.SentencePieceProcessor(model_proto=new._family.dump(new, "sentencepiece"))
    for line in (text, *TEXT):
        assert new.encode_ordinary(line) == peer.encode(line)


def test_old_texts_without_new_pieces_keep_their_ids() -> None:
    base = trained()
    new = extend(base, ["zz zzz"] * 3, 5)
    for line in TEXT:
        assert new.encode(line) == base.encode(line)


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_llama_2_learns_japanese_and_keeps_its_ids() -> None:
    base = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
    text = corpus("wagahaiwa_nekodearu.txt", 200_000)
    new = extend(base, [text], 3000, max_sentence_length=1 << 20)
    assert new.vocab_size == 35_000
    assert pieces_of(new)[:32_000] == pieces_of(base)
    assert len(new.encode_ordinary(text)) < 0.8 * len(base.encode_ordinary(text))
    peer = spm.SentencePieceProcessor(model_proto=new._family.dump(new, "sentencepiece"))
    for line in text.splitlines()[:200]:
        assert new.encode_ordinary(line) == peer.encode(line)
        assert new.decode(new.encode_ordinary(line)) == base.decode(base.encode_ordinary(line))


def test_mode_of_the_base_is_the_default_mode() -> None:
    base = trained()
    expected = fastbpe.train(["abz low"], vocab_size="+5", mode="codepoint", base=base, progress=False)
    assert fastbpe.train(["abz low"], vocab_size="+5", base=base, progress=False) == expected
    counts = fastbpe.count_pieces(["abz low"], base=base, progress=False)
    assert counts.mode == "codepoint"
    assert counts == fastbpe.count_pieces(["abz low"], mode="codepoint", base=base, progress=False)
    assert fastbpe.train(counts, vocab_size="+5", base=base, progress=False) == expected
    codes = fastbpe.train([[0, 1, 0, 1]], mode="ids", base_size=2, vocab_size=3, progress=False)
    assert fastbpe.train([[0, 1, 0, 1]], base=codes, vocab_size="+1", progress=False).merges[-1] == (2, 2)
    with pytest.raises(TrainingError, match="sequences of integers are not counted"):
        fastbpe.count_pieces(["a"], base=codes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"byte_fallback": True}, OptionError, "byte_fallback= cannot be changed with base="),
        ({"user_defined_symbols": ["<x>"]}, OptionError, "user_defined_symbols= cannot be changed with base="),
        ({"vocab_size": 24}, SpecError, "24 is too small: 24 pieces of the base and 3 characters need 27"),
        ({"vocab_size": "+x"}, TrainingError, "put a number after"),
        ({"vocab_size": "+5", "base": None}, TrainingError, "pass base="),
        ({"vocab_size": "characters"}, TrainingError, "pass a number of ids"),
        ({"vocab_size": 5000}, SpecError, "too large: the text gives"),
        ({"mode": "byte", "vocab_size": 400}, TrainingError, "pass mode='codepoint'"),
    ],
)
def test_options_that_contradict_the_base_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments = {"mode": "codepoint", "base": trained(), "vocab_size": 30, "progress": False, **options}
    with pytest.raises(error, match=message):
        fastbpe.train(["abz low"], **arguments)
