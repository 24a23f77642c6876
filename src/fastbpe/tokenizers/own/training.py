"""Training by fastbpe, with the vocabulary that tokenizers' BpeTrainer learns.

The words of the texts are counted first: by the core where normalizer and pre-tokenizer only cut texts that it can
normalize, else in Python. `learning` then learns from the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from fastbpe.errors import FastbpeError
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER, text_of
from fastbpe.normalization.huggingface import make_steps, sources
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers.own import components, decoders, document, pre_tokenizers
from fastbpe.tokenizers.own.components import needs_tokenizers
from fastbpe.tokenizers.own.learning import learn_words
from fastbpe.tokenizers.own.pieces import Piece
from fastbpe.tokenizers.own.pre_tokenized_string import split_text
from fastbpe.tokenizers.own.trainers import BpeTrainer, progress_of

#: Steps that cut texts, and change nothing.
_CUTTING = frozenset({"Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit", "CharDelimiterSplit"})
#: What BertPreTokenizer does.
_BERT = (pre_tokenizers.WhitespaceSplit().state(), pre_tokenizers.Punctuation().state())


def learn(
    texts: Iterable[str], trainer: BpeTrainer, normalizer: Any, pre_tokenizer: Any
) -> tuple[dict[str, int], list[list[str]]]:
    """Learn a vocabulary and its merges.

    Args:
        texts: the texts.
        trainer: the options. It keeps the words of the texts.
        normalizer, pre_tokenizer: JSON of these components of the tokenizer.

    Raises:
        ImportError: fastbpe does not run the components.
    """
    steps = [] if pre_tokenizer is None else components.flat(pre_tokenizer)
    steps = [one for step in steps for one in (_BERT if step["type"] == "BertPreTokenizer" else [step])]
    kinds = {step["type"] for step in steps}
    carrier = None
    if "ByteLevel" in kinds or kinds <= _CUTTING:
        shown = [] if "ByteLevel" in kinds else [pre_tokenizers.ByteLevel(False, use_regex=False).state()]
        carrier = _carrier(normalizer, [*steps, *shown])
    if carrier is None:
        words: Mapping[str, int] = _words(texts, normalizer, steps)
    else:
        word_of = text_of if "ByteLevel" in kinds else bytes.decode
        words = {word_of(piece): count for piece, count in _counted(texts, carrier, trainer)}
    trainer.words = dict(sorted(words.items()))
    return learn_words(trainer.words, trainer)


def _carrier(normalizer: Any, steps: list[Any]) -> Native | None:
    """Return a tokenizer of the single bytes with these components; None if the core does not run them."""
    vocab = {character: i for i, character in enumerate(sorted(BYTE_OF_CHARACTER))}
    described = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": None,
        "decoder": decoders.ByteLevel().state(),
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    try:
        made: Native = load(document.to_bytes(described))
    except FastbpeError:
        return None
    return made if made.mode == "byte" else None


def _counted(texts: Iterable[str], carrier: Native, trainer: BpeTrainer) -> Iterable[tuple[bytes, int]]:
    """Return each piece of the texts with its count."""
    # Imported here: few programs train.
    from fastbpe._utils.progress import Reporter
    from fastbpe.training.base_vocabulary import add_pattern_of_base, vocabulary_of_base
    from fastbpe.training.options import ByteOptions, ReadingOptions
    from fastbpe.training.piece_counting import count_source

    options = ByteOptions(vocab_size=carrier.vocab_size, **add_pattern_of_base(carrier, {}))
    start = vocabulary_of_base(carrier, "keep", options)
    reporter = Reporter(progress_of(trainer))
    counts = count_source(iter(texts), options.pattern, (), ReadingOptions(), reporter, start.texts)
    found: Iterable[tuple[bytes, int]] = counts.items()
    return found


def _words(texts: Iterable[str], normalizer: Any, steps: list[Any]) -> Counter[str]:
    """Count the words of texts in Python, for steps that the core does not run."""
    words: Counter[str] = Counter()
    try:
        changes = make_steps([] if normalizer is None else components.flat(normalizer))
        for text in texts:
            normalized = reduce(lambda changed, change: change(changed), changes, text)
            if not normalized:
                continue
            places = sources(changes, text)
            spans = [(place, place + 1) for place in (range(len(normalized)) if places is None else places)]
            piece = Piece(normalized, spans)
            words.update(part.text for part in split_text(text, piece, steps))
    except FastbpeError as error:
        needs_tokenizers(f"training with these components ({error})")
    return words


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
