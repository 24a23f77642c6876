"""Models that cut text without merging, random texts for them, and their slow twins. Needs no other library."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType, pack_pieces
from fastbpe.training import unigram
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.sentences import SentenceSource
from helpers.codepoint_twins import running_arguments, training_arguments
from reference.lattice import float32
from reference.sentencepiece import floats
from reference.unigram import Unigram
from reference.unigram_learner import Scored
from reference.unigram_training import UnigramTrainer

LETTERS = "abcé▁漢👍"
NORMAL, UNUSED, USER_DEFINED = PieceType.NORMAL, PieceType.UNUSED, PieceType.USER_DEFINED
#: Texts that training takes apart in different ways: scripts, digits, marks, spaces, few letters with many ties.
ALPHABETS = (
    "ab",
    "abc",
    "abcd",
    "ab1",
    "a1２あ",
    "aаあ漢ーア.",
    "a\u0301あ",
    "ab.,'",
    "éèê",
    "a▁b",
    "กำกa",
    "ab\0\x1f",
)


def unigram_model(
    pieces: Sequence[tuple[bytes, float, int]],
    trainer: Mapping[str, Any] | None = None,
    normalizer: Mapping[str, Any] | None = None,
) -> CodePointModel:
    """Make a unigram model of these pieces."""
    piece_bytes, piece_ends = pack_pieces(text for text, _, _ in pieces)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=struct.pack(f"<{len(pieces)}f", *(score for _, score, _ in pieces)),
        types=bytes(type_ for _, _, type_ in pieces),
        trainer=specs.make(specs.TRAINER, {"model_type": "unigram", **(trainer or {})}),
        normalizer=specs.make(specs.NORMALIZER, normalizer or {}),
    )


def random_score(rng: random.Random, style: str) -> float:
    """Choose a score. Some styles make ties and near ties, or totals that are reset."""
    if style == "ties":
        return -float(rng.randrange(1, 4))
    if style == "near ties":
        return float32(-rng.randrange(1, 5) * 1.1 + rng.choice([0.0, 1e-6, -1e-6]))
    if style == "resets":
        return float32(-rng.uniform(5_000, 30_000))
    if style == "positive":
        return float32(rng.uniform(-3, 30_000))
    return float32(-rng.uniform(0, 15))


SCORE_STYLES = ("any", "ties", "near ties", "resets", "positive")


def random_unigram(rng: random.Random, style: str) -> CodePointModel:
    """Make a model over few letters, with unused pieces, user-defined symbols and byte fallback in some."""
    letters = rng.sample(LETTERS, rng.randint(1, len(LETTERS)))
    longest = rng.choice([2, 3, 6, 17])
    texts = {"".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 40))}
    kinds = rng.choice([[NORMAL], [NORMAL], [NORMAL] * 5 + [UNUSED, USER_DEFINED], [NORMAL, UNUSED, USER_DEFINED]])
    pieces = [(text.encode(), random_score(rng, style), rng.choice(kinds)) for text in sorted(texts)]
    falls_back = rng.random() < 0.3
    others = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL)]
    if falls_back:
        others += [(b"<0x%02X>" % byte, random_score(rng, style), PieceType.BYTE) for byte in range(256)]
    at = rng.randrange(len(pieces) + 1)
    pieces[at:at] = others
    normalizer = {
        name: rng.random() < 0.5 for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    }
    trainer = {
        "byte_fallback": falls_back,
        "unk_id": at,
        "treat_whitespace_as_suffix": rng.random() < 0.2,
    }
    return unigram_model(pieces, trainer, normalizer)


def random_text(rng: random.Random, most: int = 40, others: str = " x") -> str:
    """Join characters of the models and unknown ones, with many repetitions."""
    letters = rng.choices(LETTERS + others, k=rng.randint(1, 5))
    return "".join(rng.choices(letters, k=rng.randint(0, most)))


def twin_of(model: CodePointModel) -> Unigram:
    """Make the slow twin of a unigram model."""
    return Unigram(*running_arguments(model))


# Training

Sentences = list[bytes]
Options = dict[str, Any]


def random_sentences(rng: random.Random) -> Sentences:
    """Make a small corpus, with words and sentences that occur again."""
    characters = rng.choice(ALPHABETS)
    longest = rng.choice([2, 4, 9, 20])
    words = ["".join(rng.choices(characters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 7))]
    words += ["".join(rng.choices(words, k=2)) for _ in range(rng.randint(0, 3))]
    lines = [" ".join(rng.choices(words, k=rng.randint(0, 7))) for _ in range(rng.randint(1, 7))]
    return [line.encode() for line in [*lines, *rng.choices(lines, k=rng.randint(0, 5))]]


def random_options(rng: random.Random) -> Options:
    """Choose options of training by sentencepiece's names."""
    options: Options = {
        "vocab_size": rng.choice([12, 20, 30, 60]),
        "hard_vocab_limit": False,
        "num_threads": rng.choice([1, 2, 3, 16]),
        "normalization_rule_name": "identity",
    }
    flags = (
        "split_by_whitespace",
        "split_by_number",
        "split_by_unicode_script",
        "remove_extra_whitespaces",
        "add_dummy_prefix",
        "split_digits",
        "allow_whitespace_only_pieces",
        "treat_whitespace_as_suffix",
    )
    options |= {name: rng.random() < 0.5 for name in rng.sample(flags, rng.choice([0, 1, 2, 3]))}
    choices: dict[str, list[Any]] = {
        "character_coverage": [0.98, 0.99, 1.0],
        "max_sentencepiece_length": [1, 2, 3, 5, 40],
        "seed_sentencepiece_size": [0, 1, 3, 10],
        "shrinking_factor": [0.5, 0.6, 0.9],
        "num_sub_iterations": [1, 3],
        "user_defined_symbols": [["ab"], ["b"]],
        "control_symbols": [["a"]],
        "required_chars": ["z", "az"],
        "pretokenization_delimiter": ["a", "ab"],
    }
    for name, values in choices.items():
        if rng.random() < 0.2:
            options[name] = rng.choice(values)
    return options


def learned_model(sentences: Sentences, options: Options, num_threads: int = 1) -> CodePointModel:
    """Learn a model with fastbpe."""
    model, _ = unigram.learn_unigram(
        SentenceSource(texts=[*sentences], are_sentences=True),
        CodePointOptions.of({"model_type": "unigram", **options}, model_types=("unigram",)),
        ReadingOptions(num_threads=num_threads),
        Reporter(False),
    )
    return model


def learned_pieces(model: CodePointModel) -> Scored:
    """List the learned pieces of a model with their scores."""
    fields = zip(model.pieces, floats(model.scores), model.types, strict=True)
    return [(piece.decode(), score) for piece, score, kind in fields if kind == NORMAL]


def twin_trainer(options: Options, **more: Any) -> UnigramTrainer:
    """Make the slow twin of training with these options."""
    checked = CodePointOptions.of({"model_type": "unigram", **options}, model_types=("unigram",))
    symbols = [name for name, _ in checked.metas.values()]
    arguments = training_arguments(UnigramTrainer, checked.trainer, checked.normalizer)
    return UnigramTrainer(**{**arguments, "symbols": symbols, "n_symbols": len(symbols), **more})


def kept_sentences(sentences: Sentences) -> list[tuple[bytes, int]]:
    """Drop the sentences that training leaves out: empty ones, and those with U+2585."""
    return [(sentence, 1) for sentence in sentences if sentence and "▅".encode() not in sentence]


# tokenizer.json

SPLITS: dict[str, dict[str, Any] | None] = {
    "WhitespaceSplit": {"type": "WhitespaceSplit"},
    "Metaspace": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "whole": None,
}


def tokenizer_json(model: Mapping[str, Any], split: str = "WhitespaceSplit", **parts: Any) -> bytes:
    """Write a tokenizer.json with a model."""
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": SPLITS[split],
        "post_processor": None,
        "decoder": None,
        **parts,
        "model": model,
    }
    return json.dumps(document, ensure_ascii=False).encode()


def random_number(rng: random.Random) -> str:
    """Write a number of JSON, as scores are written or harder."""
    sign = rng.choice(["", "-"])
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 25)))
    power = f"{rng.choice(['', '+', '-'])}{rng.randrange(330)}"
    most = (1 << 64) - rng.randrange(10)
    return rng.choice(
        [
            repr(-rng.uniform(0, 20)),
            repr(rng.random() * 10.0 ** rng.randint(-300, 300)),
            f"{sign}{rng.randrange(10 ** rng.randint(1, 22))}.{digits}",
            f"{sign}{rng.randrange(100)}.{digits}{rng.choice('eE')}{power}",
            f"{sign}0.{'0' * rng.randrange(330)}{digits}",
            f"{sign}{most}.{digits}",
            f"{sign}{rng.randrange(1 << 60)}",
            f"{sign}0e{power}",
        ]
    )


def unigram_of_numbers(numbers: Sequence[str]) -> bytes:
    """Write a tokenizer.json whose scores are these numbers, as they are written."""
    vocabulary = ", ".join(f'["piece {i}", {number}]' for i, number in enumerate(numbers))
    model: dict[str, Any] = {"type": "Unigram", "unk_id": None, "vocab": [], "byte_fallback": False}
    return tokenizer_json(model).replace(b'"vocab": []', f'"vocab": [{vocabulary}]'.encode())
