"""Training of word and character models: the most frequent words, or characters, become the pieces.

Words, alphabet, order and scores equal sentencepiece 0.2.3's. A word begins at each U+2581, whatever the other
options are. A word with a character outside the alphabet is not a piece, but is included in the total.
"""

from __future__ import annotations

from dataclasses import replace

from fastbpe._core.train.log_scores import log_scores
from fastbpe._utils.progress import Reporter
from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel
from fastbpe.training.codepoint_counting import character_classes, count_words
from fastbpe.training.codepoint_model import alphabet_of, character_counts, make_model
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.codepoints import CodePointReport, report_of
from fastbpe.training.options import ReadingOptions
from fastbpe.training.sentences import SentenceSource


def learn_frequent(
    sentences: SentenceSource, options: CodePointOptions, reading: ReadingOptions, reporter: Reporter
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a model of type word or char from sentences.

    Args:
        sentences: the text.
        options: options of training; model_type is "word" or "char".
        reading: only num_threads and max_memory_bytes are used.
        reporter: gets the phase "counting".

    Raises:
        SpecError: there is no text to learn from, or vocab_size cannot be met.
    """
    trainer = options.trainer
    counted = count_words(sentences, options, character_classes(options), reading, reporter)
    counts = character_counts(counted)
    alphabet, left_out = alphabet_of(counts, trainer)
    if trainer["model_type"] == "word":
        words = [(word.decode(), count) for word, count in counted.words.items()]
        total = sum(count for _, count in words)
        known = frozenset(alphabet)
        pieces = sorted(
            (word for word in words if known.issuperset(word[0])), key=lambda word: (-word[1], word[0])
        )
    else:
        pieces = [(character, counts.get(ord(character), 0)) for character in alphabet]
        total = sum(count for _, count in pieces)
    n_free = trainer["vocab_size"] - len(options.metas)
    if n_free < 0:
        raise SpecError(
            f"vocab_size={trainer['vocab_size']} is too small: it must be at least {len(options.metas)}, the "
            "number of pieces that are not learned (unknown, control, user-defined and byte pieces)",
            "[(vocab_size) >= (0)] ",
        )
    if not total:
        raise SpecError(
            "there is no text to learn from: the sentences contain nothing but symbols", "[(sum) > (0)] "
        )
    if trainer["use_all_vocab"]:
        options = _for_all(len(pieces) + len(options.metas), options)
    else:
        pieces = pieces[:n_free]
    texts = [text for text, _ in pieces]
    scores = log_scores([count for _, count in pieces], total)
    if trainer["model_type"] == "char":
        options = replace(options, only_characters=True)  # there may be fewer characters than vocab_size
    return make_model(texts, scores, options), report_of(counted, counts, left_out, n_merges=0)


def _for_all(vocab_size: int, options: CodePointOptions) -> CodePointOptions:
    """Return the options with another vocab_size, for use_all_vocab. A symbol with an id beyond it gets no id."""
    return replace(
        options,
        trainer=specs.make(specs.TRAINER, {**options.trainer.values, "vocab_size": vocab_size}),
        metas={i: symbol for i, symbol in options.metas.items() if i < vocab_size},
    )
