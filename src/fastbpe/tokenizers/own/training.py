"""Training of a byte-level BPE by fastbpe, with the vocabulary that tokenizers' BpeTrainer learns.

The base of the training is a tokenizer of the single bytes, with the normalizer and pre-tokenizer of the one that
learns. Its ids have the order of the characters for bytes, by which tokenizers decides between equally frequent
pairs. tokenizers numbers special tokens first, then the characters that occur, then merges. Merging is greedy, so
the merges of a long training begin with the merges of a short one: fastbpe learns as many as could be needed, and
the rest is cut off.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER, text_of
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers.own import components, decoders, document
from fastbpe.tokenizers.own.components import needs_tokenizers
from fastbpe.tokenizers.own.trainers import BpeTrainer

_BATCH = 256  # texts whose bytes are looked at together


def learn(
    texts: Iterable[str], trainer: BpeTrainer, normalizer: Any, pre_tokenizer: Any
) -> tuple[dict[str, int], list[list[str]]]:
    """Learn a vocabulary and its merges.

    Args:
        texts: the texts.
        trainer: the options.
        normalizer, pre_tokenizer: JSON of these components of the tokenizer.

    Raises:
        ImportError: only the original trains that way.
    """
    from fastbpe.training.train import train  # here: few programs train

    for name in ("limit_alphabet", "continuing_subword_prefix", "end_of_word_suffix"):
        if getattr(trainer, name) is not None:
            needs_tokenizers(f"training with {name}")
    special = [*dict.fromkeys(token.content for token in trainer.special_tokens if token.content)]
    if any(token in BYTE_OF_CHARACTER for token in special):
        needs_tokenizers("training with a special token of one character")
    base = _base(normalizer, pre_tokenizer)
    seen = _Seen(base)
    merges: list[list[str]] = []
    limit = trainer.max_token_length
    n_most = trainer.vocab_size - len(special) - len(trainer.initial_alphabet)
    # tokenizers looks at the length of tokens that two others make, and not of those that two characters make.
    options: dict[str, Any] = {} if limit is None else {"max_token_bytes": max(limit - 1, 2)}
    if n_most > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)  # tokenizers does not tell that it learned fewer
            try:
                learned = train(
                    seen.through(texts),
                    base=base,
                    vocab_size=f"+{n_most}",
                    ties="pair",
                    min_count=max(trainer.min_frequency, 1),
                    progress=None if trainer.show_progress else False,
                    **options,
                )
                tokens = [text_of(token) for token in learned.vocab]
                merges = [[tokens[left], tokens[right]] for left, right in learned.merges]
            except TrainingError:
                if seen.bytes:
                    raise
    else:
        for _ in seen.through(texts):
            pass
    alphabet = sorted({*trainer.initial_alphabet, *map(text_of, seen.bytes)} - {*special})
    vocab = {token: i for i, token in enumerate((*special, *alphabet))}
    merges = merges[: max(trainer.vocab_size - len(vocab), 0)]
    made = [left + right for left, right in merges]
    if len({*made}) < len(made) or not vocab.keys().isdisjoint(made):
        needs_tokenizers("training that makes a token twice, or a special token,")
    return vocab | {token: i for i, token in enumerate(made, len(vocab))}, merges


def _base(normalizer: Any, pre_tokenizer: Any) -> Native:
    """Return a tokenizer of the single bytes. Raises ImportError if fastbpe does not run the components."""
    if pre_tokenizer is None or all(step["type"] != "ByteLevel" for step in components.flat(pre_tokenizer)):
        needs_tokenizers("training without the pre-tokenizer ByteLevel")
    vocab = {character: i for i, character in enumerate(sorted(BYTE_OF_CHARACTER))}
    described = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": decoders.ByteLevel().state(),
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    try:
        return load(document.to_bytes(described))
    except ValueError as error:
        needs_tokenizers(f"training with these components ({error})")


class _Seen:
    """Bytes that occur in texts, once normalized and split.

    Args:
        base: tokenizer of the single bytes.
    """

    def __init__(self, base: Native) -> None:
        self._base = base
        self._tokens = base.vocab
        self.bytes: set[bytes] = set()

    def through(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts, and note their bytes."""
        batch: list[str] = []
        for one in texts:
            batch.append(one)
            if len(batch) == _BATCH:
                self._note(batch)
                yield from batch
                batch = []
        self._note(batch)
        yield from batch

    def _note(self, batch: list[str]) -> None:
        if len(self.bytes) < 256:
            ids = {*chain.from_iterable(self._base.encode_ordinary_batch(batch))}
            self.bytes |= {self._tokens[one] for one in ids}


def texts_of(iterator: Iterable[Any]) -> Iterator[str]:
    """Yield the texts of an iterable of str, or of lists of str.

    Raises TypeError for others, UnicodeEncodeError for a lone surrogate.
    """
    for item in iterator:
        for one in [item] if isinstance(item, str) else item:
            if not components.of_type(one, str).isascii():
                one.encode()
            yield one


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """Yield the lines of files, with their ends. Raises OSError if one cannot be read."""
    for path in files:
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from file
