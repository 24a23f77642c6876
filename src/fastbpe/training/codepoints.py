"""Code-point training: learns the same model from sentences as sentencepiece 0.2.3, piece by piece.

`learn_model` counts the words of sentences, chooses the alphabet, learns merges, and assigns ids to the pieces.
The sentencepiece drop-in and `learn_source` call it; `learn_source` may also begin with counted words. The
drop-in alone calls `learn_frequent`, for models of the types word and char.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from fastbpe._core.train.codepoint_learner import CodePointLearner
from fastbpe._core.train.log_scores import log_scores
from fastbpe._utils import plurals
from fastbpe._utils.progress import Reporter
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.corpus.corpora import ReadingOptions, Source
from fastbpe.errors import SpecError, TrainingWarning
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, Spec
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.codepoint_base import CodePointBase, code_point_base
from fastbpe.training.codepoint_counting import character_classes, count_words, counted_words, weighted_words
from fastbpe.training.codepoint_counts import CountedWords
from fastbpe.training.codepoint_model import (
    CodePointReport,
    alphabet_of,
    character_counts,
    check_number,
    make_model,
    report_of,
    summarise,
)
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.options import Run, number_of_ids
from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.sentences import SentenceSource, sentences_of, with_tsv

CHARACTERS = "characters"  # value of vocab_size that asks for all characters and no merges


def train_code_points(source: Any, base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn a code-point vocabulary from a source, from counts, or from sources with weights. See `train`."""
    run = run._replace(vocab_size=number_of_ids(run.vocab_size, None if base is None else base.vocab_size))
    facts: dict[str, Any] = {} if base is None else {"base": base.fingerprint}
    n_files_left_out = 0
    if run.weights is not None:
        source, n_files_left_out = weighted_words(source, base, run)
        run = run._replace(reading=ReadingOptions())  # they have been used, and would be an error with counts
        facts["weights"] = run.weights
    model, report = learn_source(source, base, run, n_files_left_out)
    for note in report.notes(model.trainer):
        warn(note, TrainingWarning)
    return Tokenizer(model._replace(training={"library": __version__, **asdict(report), **facts}))


def learn_source(
    source: Source | PieceCounts, base: Tokenizer | None, run: Run, n_files_left_out: int = 0
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a code-point vocabulary from text, or from words that `count_pieces` counted.

    Args:
        source: as for `train`; the lines of a document are the sentences. A mapping contains sentences with their
            counts, like sentencepiece's input_format="tsv".
        base: the tokenizer to extend; None: train a new model.
        run: the other arguments of `train`; vocab_size is a number or "characters".
        n_files_left_out: if the source is counts, the number of unread files in folders, for the report.

    Raises:
        SpecError: an option has an invalid value, there is no text to learn from, or vocab_size cannot be met.
        TrainingError: the base cannot be extended; or the counts are of another mode, were counted with other
            options, or come with options for reading.
        FormatError: a file cannot be read.

    >>> def learned(vocab_size):
    ...     run = Run(vocab_size, {"hard_vocab_limit": False}, ReadingOptions(), Reporter(False))
    ...     model, _ = learn_source(["ab ab abc\\nabcd ab"], None, run)
    ...     return b" ".join(model.pieces).decode()
    >>> learned(12)
    '<unk> <s> </s> ab ▁ab ▁abc ▁abcd a b ▁ c d'

    Without merges, a tokenizer of characters:

    >>> learned("characters")
    '<unk> <s> </s> a b ▁ c d'
    """
    start = None if base is None else code_point_base(base)
    only_characters = start is None and run.vocab_size == CHARACTERS
    n_ids: Any = specs.MAX_INT32 if only_characters else run.vocab_size
    if isinstance(source, PieceCounts):
        counted, facts = counted_words(source, "codepoint", run.reading)
        counted = replace(counted, n_files_left_out=n_files_left_out)
        if start is None:
            options = facts.options_for(n_ids, run.options)
        else:
            options = start.options(n_ids, {**facts.options, **run.options})
            facts.check_read(options)
        options = replace(options, only_characters=only_characters)
        with run.reporter.phase("counting", 0):  # every run reports the phase, even without work
            pass
        model, report = _learn_counted(counted, options, character_classes(options), run.reporter, start)
    else:
        values = with_tsv(run.options) if isinstance(source, Mapping) else run.options
        options = (
            CodePointOptions.of({**values, "vocab_size": n_ids}) if start is None else start.options(n_ids, values)
        )
        options = replace(options, only_characters=only_characters)
        model, report = learn_model(sentences_of(source, run.reading), options, run.reading, run.reporter, start)
    summarise(report, run.reporter, f"{report.n_merges:,} merges")
    return model, report


def learn_model(
    sentences: SentenceSource,
    options: CodePointOptions,
    reading: ReadingOptions,
    reporter: Reporter,
    base: CodePointBase | None = None,
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a code-point vocabulary from sentences.

    Args:
        sentences: the text.
        options: options of training.
        reading: only num_threads and max_memory_bytes are used.
        reporter: gets the phases "counting" and "learning".
        base: the model to extend; None: train a new model.

    Raises:
        SpecError: there is no text to learn from, or vocab_size cannot be met.
    """
    classes = character_classes(options)
    counted = count_words(sentences, options, classes, reading, reporter)
    return _learn_counted(counted, options, classes, reporter, base)


def _learn_counted(
    counted: CountedWords,
    options: CodePointOptions,
    classes: bytes,
    reporter: Reporter,
    base: CodePointBase | None,
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a code-point vocabulary from words.

    Args:
        counted: the words.
        options, reporter, base: as for `learn_model`.
        classes: class of each code point; see `character_classes`.
    """
    counts = character_counts(counted)
    alphabet, left_out = alphabet_of(counts, options.trainer)
    n_symbols = len(options.metas)
    if base is not None:
        n_symbols = base.model.n_pieces
        alphabet = [character for character in alphabet if not base.has(character)]
        left_out = {character: n for character, n in left_out.items() if not base.has(character)}
    n_single = n_symbols + len(alphabet)
    symbols = "symbols" if base is None else "pieces of the base"
    vocab_size = n_single if options.only_characters else options.trainer["vocab_size"]
    if n_single > vocab_size:
        characters = f" and {plurals.counted(len(alphabet), 'character')}" if alphabet else ""
        raise SpecError(
            f"vocab_size={vocab_size} is too small: {n_symbols} {symbols}{characters} need {n_single} ids; "
            "raise it" + (", or lower character_coverage=" if n_symbols < vocab_size else ""),
            f"Vocabulary size is smaller than required_chars. {vocab_size} vs {n_single}. Increase vocab_size or "
            "decrease character_coverage with --character_coverage option.",
        )
    with reporter.phase("learning", vocab_size - n_single, unit=" merges") as phase:
        merges = _learned(counted, alphabet, classes, options.trainer, vocab_size - n_single, phase.update, base)
    learned = [left + right for left, right in merges]
    if base is None:
        texts = [*learned, *alphabet]
        model = make_model(texts, [-float(rank) for rank in range(len(texts))], options)
    else:
        check_number(n_single + len(learned), options)
        model = base.extended(learned, alphabet, merges)
    return model, report_of(counted, counts, left_out, n_merges=len(learned))


def _learned(
    counted: CountedWords,
    alphabet: list[str],
    classes: bytes,
    trainer: Spec,
    n_merges: int,
    update: Callable[[int], object],
    base: CodePointBase | None,
) -> list[tuple[str, str]]:
    """Learn the pieces of more than one character; return the two parts of each, the best score first.

    Args:
        counted: the words.
        alphabet: the characters that become pieces; with a base, the new ones.
        classes: class of each code point; see `character_classes`.
        trainer: options of the learner.
        n_merges: int – number of pieces to learn; there may be fewer.
        update: function to call with the number of pieces learned since the last call.
        base: the model to extend; None: train a new model.
    """
    texts = sorted(alphabet) if base is None else base.alphabet(alphabet)
    pieces = [] if base is None else base.pieces(texts)
    learner = CodePointLearner(
        counted.words,
        [ord(character) for character in texts],
        classes,
        n_merges=n_merges,
        max_length=trainer["max_sentencepiece_length"],
        split_by_whitespace=trainer["split_by_whitespace"],
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
        allow_whitespace_only_pieces=trainer["allow_whitespace_only_pieces"],
        base=pieces,
        cuts=b"" if base is None else base.cuts(counted.words, alphabet),
    )
    # From here on, texts has the text of each of the learner's ids: characters, the base's pieces, learned pieces.
    texts += ["".join([texts[symbol] for symbol in piece]) for piece in pieces]
    n_reported = len(texts)

    def report(n_ids: int) -> None:
        nonlocal n_reported
        update(n_ids - n_reported)
        n_reported = n_ids

    learner.learn(report)
    merges: list[tuple[str, str]] = []
    for left, right, _ in learner.merges():
        merges.append((texts[left], texts[right]))
        texts.append(texts[left] + texts[right])
    last = [(texts[left], texts[right]) for left, right in learner.last_pairs()]
    update(len(last))
    return merges + last


# Models of the types word and char


def learn_frequent(
    sentences: SentenceSource, options: CodePointOptions, reading: ReadingOptions, reporter: Reporter
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a model of type word or char: the most frequent words, or characters, become the pieces.

    Words, alphabet, order and scores equal sentencepiece 0.2.3's. A word begins at each U+2581, whatever the other
    options are. A score is the logarithm of a piece's share of the total count. A word with a character outside
    the alphabet is not a piece, but its count is part of the total.

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
