"""Counting the words of a source: `count_pieces(mode="codepoint")`, and the first half of code-point training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.sources import ResolvedSource, Source
from fastbpe.errors import SpecError, TrainingError
from fastbpe.formats.sentencepiece import specs
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import check_mode
from fastbpe.training.codepoint_base import CodePointBase
from fastbpe.training.codepoint_counting import CountedWords, SentenceSource, character_classes, count_words
from fastbpe.training.codepoint_counts import COUNTING_NAMES, WordFacts, check_counting_names
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.options import ReadingOptions, Run
from fastbpe.training.piece_counts import PieceCounts, added_up, checked_count, counts_of_table, facts_of, table_of


def count_words_of(
    source: Source,
    base: Tokenizer | None,
    keywords: Mapping[str, Any],
    reading: ReadingOptions,
    reporter: Reporter,
) -> PieceCounts:
    """Count the words of a source, as code-point training does.

    Args:
        source: as for `train`; a mapping is of sentences.
        base: the tokenizer that training will extend; None: it will train a new model.
        keywords: options of counting, by sentencepiece's names.
        reading: how to read and count the source.
        reporter: gets the phase "counting".

    Raises:
        OptionError: counting does not have an option, or the option would change the base.
        SpecError: an option has an invalid value.
        TrainingError: the base is of another mode.
    """
    check_counting_names(keywords)
    values = with_format_of(source, keywords)
    if base is None:
        options = CodePointOptions.of({**values, "vocab_size": specs.MAX_INT32})
    else:
        options = code_point_base(base).options(specs.MAX_INT32, values)
    texts, skipped = sentences_of(source, reading)
    with reporter.phase("counting", texts.n_bytes, unit="B", unit_scale=True) as phase:
        counted = count_words(
            texts, options, character_classes(options), reading, lambda n_bytes: phase.update(n_bytes - phase.n)
        )
    assert isinstance(counted.words, PieceCounter)
    facts = WordFacts.of(counted, options, [name for name in values if name in specs.TRAINER])
    return counts_of_table(counted.words, None, (), n_bytes=counted.n_bytes, n_skipped=skipped.n, words=facts)


def weighted_words(sources: Mapping[str, Any], base: Tokenizer | None, run: Run) -> PieceCounts:
    """Count the words of sources with names, each as often as its weight says.

    Args:
        sources: name → source, or counts.
        base: the tokenizer to extend; None: there is none.
        run: the run; it has weights.

    Raises:
        TrainingError: the sources were counted in different ways, or all were counted and options say how to read.
    """
    assert run.weights is not None
    keywords = {name: value for name, value in run.options.items() if name in COUNTING_NAMES}
    if all(isinstance(source, PieceCounts) for source in sources.values()):
        run.reading.check_unused()
    counted = []
    for name, source in sources.items():
        if not isinstance(source, PieceCounts):
            source = count_words_of(source, base, keywords, run.reading, run.reporter)
        counted.append(source * run.weights[name])
    return added_up(counted)


def counted_words(counts: PieceCounts) -> CountedWords:
    """Return the words that counts hold, as the learner takes them.

    Raises:
        TrainingError: they hold pieces of byte mode.
    """
    facts = facts_of(counts)
    if facts is None:
        raise TrainingError(
            'PieceCounts hold what mode="byte" learns from; count with count_pieces(mode="codepoint"), or give '
            "the text"
        )
    return CountedWords(
        words=table_of(counts), n_bytes=counts.n_bytes, pruned_characters=facts.characters, **facts.numbers
    )


def code_point_base(base: Tokenizer) -> CodePointBase:
    """Return the base of a run.

    Raises TrainingError for a tokenizer of another mode, TypeError for other objects.
    """
    check_mode(base, "codepoint")
    return CodePointBase(base)


def with_format_of(source: object, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return options to which a mapping of sentences to counts adds input_format="tsv".

    Raises:
        SpecError: the options name another format.
    """
    values = dict(keywords)
    if isinstance(source, Mapping) and values.setdefault("input_format", "tsv") != "tsv":
        raise SpecError(f"input_format={values['input_format']!r}: counts of sentences are 'tsv'", "")
    return values


def sentences_of(source: Source | ResolvedSource, reading: ReadingOptions) -> tuple[SentenceSource, Skipped]:
    """Open a source of sentences.

    Args:
        source: as for `train`; the lines of a document are the sentences. A mapping holds sentences with their
            counts.
        reading: how to read it.

    Returns:
        The sentences, and a record that gets the documents that are skipped.
    """
    if isinstance(source, PieceCounts):
        raise TrainingError("the source is PieceCounts already: use it as it is")
    has_counts = isinstance(source, Mapping)
    if has_counts:  # threads and memory matter for counting words, the other options only for reading
        ReadingOptions(
            text_field=reading.text_field,
            separator=reading.separator,
            format=reading.format,
            on_error=reading.on_error,
            errors=reading.errors,
        ).check_unused()
    if isinstance(source, ResolvedSource):
        resolved = source
    else:
        resolved = reading.resolve(_tsv_lines(source) if isinstance(source, Mapping) else source)
    skipped = Skipped()
    texts = reading.documents(resolved, lambda data: data.rfind(b"\n") + 1, skipped)
    sentences = SentenceSource(texts=texts, n_bytes=resolved.n_bytes, are_sentences=has_counts, must_be_utf8=True)
    return sentences, skipped


def _tsv_lines(counts: Mapping[Any, Any]) -> Iterator[bytes]:
    """Write each sentence that occurs as a line of input_format="tsv"."""
    for sentence, number in counts.items():
        data, n = checked_count(sentence, number)
        if b"\t" in data:
            raise SpecError(f"sentence {sentence!r} holds a tab, which no counted sentence can", "")
        if n:
            yield b"%s\t%d" % (data, n)
