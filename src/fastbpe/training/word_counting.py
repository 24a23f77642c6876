"""Counting the words of a source: `count_pieces` in code-point and unigram mode, the first half of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._utils.progress import Reporter
from fastbpe._utils.short_reprs import short_repr
from fastbpe.corpus.corpora import Source
from fastbpe.errors import SpecError, TrainingError
from fastbpe.formats.sentencepiece import specs
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import check_mode
from fastbpe.training.codepoint_base import CodePointBase
from fastbpe.training.codepoint_counting import (
    CountedWords,
    SentenceSource,
    character_classes,
    count_words,
    cut_at_spaces,
    order_matters,
)
from fastbpe.training.codepoint_counts import COUNTING_NAMES, WordFacts, check_counting_names, counting_options
from fastbpe.training.count_checks import checked_count
from fastbpe.training.options import ReadingOptions, Run
from fastbpe.training.piece_counts import PieceCounts, added_up, counts_of_table, facts_of, table_of
from fastbpe.training.sentence_order import LastWords


def count_words_of(
    source: Source,
    mode: str,
    base: Tokenizer | None,
    keywords: Mapping[str, Any],
    reading: ReadingOptions,
    reporter: Reporter,
) -> PieceCounts:
    """Count the words of a source, as training does.

    Args:
        source: as for `train`; the keys of a mapping must be sentences.
        mode: "codepoint" or "unigram".
        base: the tokenizer that training will extend; None: it will train a new model.
        keywords: options of counting, with sentencepiece's names.
        reading: how to read and count the source.
        reporter: gets the phase "counting".

    Raises:
        OptionError: an option does not apply to counting, or would change the base.
        SpecError: an option has an invalid value.
        TrainingError: the base cannot be extended in this mode, counts would not be enough for the unigram model,
            or the source is counted already.
    """
    check_counting_names(keywords, mode)
    values = with_format_of(source, keywords)
    if base is None:
        options = counting_options({**values, "vocab_size": specs.MAX_INT32}, mode)
    elif mode == "codepoint":
        options = code_point_base(base).options(specs.MAX_INT32, values)
    else:
        raise TrainingError("base= adds merges, but a unigram model has no merges; leave base= out")
    last_words = LastWords() if mode == "unigram" else None
    if last_words is not None and (name := order_matters(options)):
        raise TrainingError(
            f"{name}: the unigram model would depend on the order of the sentences, which counts do not keep: "
            "leave it out, or pass the text to train"
        )
    classes = character_classes(options) if last_words is None else cut_at_spaces()
    texts = sentences_of(source, reading)
    with reporter.phase("counting", texts.n_bytes, unit="B", unit_scale=True) as phase:
        counted = count_words(texts, options, classes, reading, phase.reach, kept=last_words)
    if last_words is not None:
        counted = replace(counted, last_word=last_words.last_word())
    assert isinstance(counted.words, PieceCounter)
    facts = WordFacts.of(counted, options, [name for name in values if name in specs.TRAINER])
    return counts_of_table(
        counted.words, None, (), n_bytes=counted.n_bytes, n_skipped=counted.n_skipped, words=facts
    )


def weighted_words(sources: Mapping[str, Any], base: Tokenizer | None, run: Run) -> PieceCounts:
    """Count the words of named sources, and multiply the counts by the weights.

    Args:
        sources: name → source, or counts.
        base: the tokenizer to extend, or None to train a new one.
        run: the run, which has weights.

    Raises:
        TrainingError: the sources were counted in different ways, or all are counts but there are options for
            reading.
    """
    assert run.weights is not None
    keywords = {name: value for name, value in run.options.items() if name in COUNTING_NAMES}
    if all(isinstance(source, PieceCounts) for source in sources.values()):
        run.reading.check_unused()
    counted = []
    for name, source in sources.items():
        if not isinstance(source, PieceCounts):
            source = count_words_of(source, "codepoint", base, keywords, run.reading, run.reporter)
        counted.append(source * run.weights[name])
    return added_up(counted)


def counted_words(counts: PieceCounts, mode: str) -> CountedWords:
    """Return the words in counts, in the form that the learner of a mode accepts.

    Raises:
        TrainingError: they were counted for another mode.
    """
    facts = facts_of(counts)
    if facts is None or facts.mode != mode:
        raise TrainingError(
            f"these counts are for mode={counts.mode!r}; count with mode={mode!r}, or pass the text"
        )
    return CountedWords(
        words=table_of(counts),
        n_bytes=counts.n_bytes,
        pruned_characters=facts.characters,
        last_word=facts.last_word,
        n_skipped=counts.n_skipped,
        n_pruned=counts.n_pruned,
        **facts.numbers,
    )


def code_point_base(base: Tokenizer) -> CodePointBase:
    """Return the base of a run.

    Raises TrainingError for a tokenizer of another mode or with rules that training lacks, TypeError for other
        objects.
    """
    check_mode(base, "codepoint")
    return CodePointBase(base)


def with_format_of(source: object, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, with input_format="tsv" added if the source is a mapping of sentences to counts.

    Raises:
        SpecError: the options contain another format.
    """
    values = dict(keywords)
    if isinstance(source, Mapping) and values.setdefault("input_format", "tsv") != "tsv":
        raise SpecError(f"input_format={values['input_format']!r}: for sentences with counts, use 'tsv'", "")
    return values


def sentences_of(source: Source, reading: ReadingOptions) -> SentenceSource:
    """Open a source of sentences.

    Args:
        source: as for `train`; the lines of a document are the sentences. A mapping contains sentences with their
            counts.
        reading: how to read it.

    Raises TrainingError if the source is counted already, or options for reading are given with a mapping.
    """
    if isinstance(source, PieceCounts):
        raise TrainingError("the source is counted already, so there is nothing to count; pass it to train")
    has_counts = isinstance(source, Mapping)
    if has_counts:  # threads and memory matter for counting words, the other options only for reading
        replace(reading, num_threads=None, max_memory_bytes=None).check_unused()
    corpus = reading.open(_tsv_lines(source) if isinstance(source, Mapping) else source)
    return SentenceSource(
        texts=corpus.blocks(lambda data: data.rfind(b"\n") + 1),
        n_bytes=corpus.n_bytes,
        are_sentences=has_counts,
        must_be_utf8=True,
        skipped=corpus.skipped,
        left_out=corpus.left_out,
    )


def _tsv_lines(counts: Mapping[Any, Any]) -> Iterator[bytes]:
    """Write each sentence with a count above 0 as a line of input_format="tsv"."""
    for sentence, number in counts.items():
        data, n = checked_count(sentence, number, "sentence")
        if b"\t" in data:
            raise SpecError(
                f"sentence {short_repr(sentence)} contains a tab, which separates it from its count; replace it",
                "",
            )
        if n:
            yield b"%s\t%d" % (data, n)
