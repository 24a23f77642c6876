"""Integers beyond 32 and 64 bits in `fastbpe.tokenizers`: results and classes of errors as in tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tokenizers

import fastbpe.tokenizers as face

VALUES = (
    *(1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 70),
    *(-1, -(1 << 63), -(1 << 63) - 1, -(1 << 64), -(1 << 70)),
)
WORDS = {"a": 0, "b": 1, "[UNK]": 2}
TRAINERS = {
    "BpeTrainer": ("vocab_size", "min_frequency", "limit_alphabet", "max_token_length"),
    "WordPieceTrainer": ("vocab_size", "min_frequency", "limit_alphabet"),
    "WordLevelTrainer": ("vocab_size", "min_frequency"),
    "UnigramTrainer": ("vocab_size",),
}

Call = Callable[[Any, int], Any]  # of a module and a number


def bpe(module: Any) -> Any:
    vocab = {name: i for i, name in enumerate(sorted(module.pre_tokenizers.ByteLevel.alphabet()))}
    made = module.Tokenizer(module.models.BPE(vocab=vocab | {"ab": 256}, merges=[("a", "b")]))
    made.pre_tokenizer = module.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = module.decoders.ByteLevel()
    made.add_special_tokens(["<s>"])
    return made


def encoded(module: Any) -> Any:
    return bpe(module).encode("abcab abc")


def changed(module: Any, method: str, **options: Any) -> Any:
    """Call a method of a tokenizer, and return its state."""
    made = bpe(module)
    return getattr(made, method)(**options), made.truncation, made.padding


def read_back(made: Any, name: str, value: int) -> Any:
    setattr(made, name, value)
    return getattr(made, name)


def tokenized(module: Any, token_id: int = 1, end: int = 1, **options: Any) -> Any:
    text = module.PreTokenizedString("abc")
    text.tokenize(lambda _: [module.Token(token_id, "a", (0, end))])
    encoding = text.to_encoding(**options)
    return encoding.ids, encoding.offsets, encoding.type_ids, encoding.word_ids


def part(module: Any, range: object) -> str:
    return str(module.NormalizedString("abc déf").slice(range))


# Not `Encoding.pad` by its length, nor training to a vocabulary size: the original would ask for all memory.
CALLS: dict[str, Call] = {
    **{
        name: (lambda m, v, name=name: getattr(encoded(m), name)(v))  # type: ignore[misc]
        for name in (
            *("char_to_token", "char_to_word", "token_to_chars", "token_to_sequence", "token_to_word"),
            *("word_to_chars", "word_to_tokens", "set_sequence_id", "truncate"),
        )
    },
    **{
        f"{name}, sequence": (lambda m, v, name=name: getattr(encoded(m), name)(1, v))  # type: ignore[misc]
        for name in ("char_to_token", "char_to_word", "word_to_chars", "word_to_tokens")
    },
    "truncate, stride": lambda m, v: encoded(m).truncate(2, stride=v),
    "pad, pad_id": lambda m, v: encoded(m).pad(12, pad_id=v),
    "pad, pad_type_id": lambda m, v: encoded(m).pad(12, pad_type_id=v),
    "id_to_token": lambda m, v: bpe(m).id_to_token(v),
    "BPE.id_to_token": lambda m, v: bpe(m).model.id_to_token(v),
    "WordPiece.id_to_token": lambda m, v: m.models.WordPiece(WORDS).id_to_token(v),
    "WordLevel.id_to_token": lambda m, v: m.models.WordLevel(WORDS).id_to_token(v),
    "Unigram.id_to_token": lambda m, v: m.models.Unigram([("a", 0.0)], 0).id_to_token(v),
    "decode": lambda m, v: bpe(m).decode([64, v]),
    "decode_batch": lambda m, v: bpe(m).decode_batch([[v]]),
    "DecodeStream.step": lambda m, v: m.decoders.DecodeStream(skip_special_tokens=False).step(bpe(m), v),
    "DecodeStream": lambda m, v: m.decoders.DecodeStream([v], False).step(bpe(m), 64),
    "enable_truncation": lambda m, v: changed(m, "enable_truncation", max_length=v),
    "enable_truncation, stride": lambda m, v: changed(m, "enable_truncation", max_length=4, stride=v),
    **{
        f"enable_padding, {name}": (lambda m, v, name=name: changed(m, "enable_padding", **{name: v}))  # type: ignore[misc]
        for name in ("length", "pad_id", "pad_type_id", "pad_to_multiple_of")
    },
    "BPE, vocab": lambda m, v: m.models.BPE(vocab={"a": v}, merges=[]).token_to_id("a"),
    "WordPiece, vocab": lambda m, v: m.models.WordPiece({"a": v}).token_to_id("a"),
    "WordLevel, vocab": lambda m, v: m.models.WordLevel({"a": v}).token_to_id("a"),
    "Unigram, unk_id": lambda m, v: bool(m.models.Unigram([("a", 0.0), ("b", -1.0)], unk_id=v)),
    "WordPiece, max_input_chars_per_word": (
        lambda m, v: m.models.WordPiece(WORDS, max_input_chars_per_word=v).max_input_chars_per_word
    ),
    "TemplateProcessing": lambda m, v: bool(
        m.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", v)])
    ),
    "BertProcessing": lambda m, v: bool(m.processors.BertProcessing(("[SEP]", v), ("[CLS]", 1))),
    "RobertaProcessing": lambda m, v: bool(m.processors.RobertaProcessing(("[SEP]", v), ("[CLS]", 1))),
    **{
        f"{kind}, {name}": (
            lambda m, v, kind=kind, name=name: getattr(getattr(m.trainers, kind)(**{name: v}), name)
        )  # type: ignore[misc]
        for kind, names in TRAINERS.items()
        for name in names
    },
    **{
        f"{kind}.{name}": (lambda m, v, kind=kind, name=name: read_back(getattr(m.trainers, kind)(), name, v))  # type: ignore[misc]
        for kind, names in TRAINERS.items()
        for name in names
    },
    "UnigramTrainer, max_piece_length": lambda m, v: bool(m.trainers.UnigramTrainer(max_piece_length=v)),
    "UnigramTrainer, n_sub_iterations": lambda m, v: bool(m.trainers.UnigramTrainer(n_sub_iterations=v)),
    "train_from_iterator, length": lambda m, v: m.Tokenizer(m.models.BPE()).train_from_iterator(
        ["the low"], m.trainers.BpeTrainer(vocab_size=20, show_progress=False), length=v
    ),
    "slice": lambda m, v: part(m, v),
    "slice by index": lambda m, v: str(m.NormalizedString("abc déf")[v]),
    "slice from a start": lambda m, v: part(m, (v, 2)),
    "slice to an end": lambda m, v: part(m, (0, v)),
    "slice of a slice": lambda m, v: [part(m, slice(v, 3)), part(m, slice(0, v))],
    "FixedLength": lambda m, v: m.pre_tokenizers.FixedLength(v).length,
    "FixedLength.length": lambda m, v: read_back(m.pre_tokenizers.FixedLength(3), "length", v),
    "Strip": lambda m, v: [m.decoders.Strip("a", v, 0).start, m.decoders.Strip("a", 0, v).stop],
    "Token": lambda m, v: tokenized(m, v),
    "Token, offsets": lambda m, v: m.Token(1, "a", (0, v)).offsets,
    "to_encoding, type_id": lambda m, v: tokenized(m, type_id=v),
    "to_encoding, word_idx": lambda m, v: tokenized(m, word_idx=v),
}


def outcome(call: Call, module: Any, value: int) -> Any:
    try:
        return call(module, value)
    except BaseException as error:  # a panic of Rust is no Exception
        return error


@pytest.mark.parametrize("name", CALLS)
def test_huge_integers_raise_the_class_of_tokenizers(name: str) -> None:
    for value in VALUES:
        expected, found = outcome(CALLS[name], tokenizers, value), outcome(CALLS[name], face, value)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (value, found, expected)
        elif isinstance(expected, BaseException):
            assert not isinstance(found, BaseException) or isinstance(found, Exception)
        else:
            assert found == expected, (value, found, expected)


@pytest.mark.parametrize(
    ("range", "said"),
    [
        (1 << 64, "the index of a character must be from -2**63 to 2**63 - 1"),
        ((0, 1 << 64), "a number of a range must be from 0 to 2**64 - 1"),
    ],
)
def test_slice_names_the_limits(range: object, said: str) -> None:
    with pytest.raises(TypeError) as raised:
        face.NormalizedString("abc").slice(range)
    assert str(raised.value) == said
