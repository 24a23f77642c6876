"""Counting of the words of sentences in several threads, for code-point and unigram training.

The compiled `WordCounter` normalizes a sentence and cuts it into words: runs of characters that a piece may span,
which depend on white space, scripts and digits (`character_classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe._core.train.word_counter import WordCounter
from fastbpe._utils.progress import Reporter
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.corpora import ReadingOptions, Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import SpecError, TrainingError
from fastbpe.formats.sentencepiece import specs
from fastbpe.splitting.scripts import COMMON, INHERITED, NONE, script_numbers
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.codepoint_base import code_point_base
from fastbpe.training.codepoint_counts import (
    BOUNDARY,
    COUNTING_NAMES,
    CountedWords,
    WordFacts,
    check_counting_names,
    counting_options,
)
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.counting_threads import Batch, CountingThreads, Spill, batches, limited_tables, merged_tables
from fastbpe.training.options import Run
from fastbpe.training.piece_counts import PieceCounts, added_up, counts_of_table, facts_of, table_of
from fastbpe.training.sentences import (
    UNKNOWN_CHARACTER,
    InOrder,
    Kept,
    KeptSentences,
    LastWords,
    Pretokenizer,
    SentenceFilter,
    SentenceSource,
    sentences_of,
    with_tsv,
)

_N_CODE_POINTS = 0x110000
_DIGITS = (*range(0x30, 0x3A), *range(0xFF10, 0xFF1A))  # ASCII and full-width
# Classes of code points, numbered as in _core/train/scripts.pxd. INHERITED: has the script of the character before
# it. ALONE: is never in a piece with other characters. ANY_SCRIPT: may be next to any script. FIRST_SCRIPT and
# above: one number for each script.
_INHERITED, _METASPACE, _ALONE, _ANY_SCRIPT, _FIRST_SCRIPT = range(5)
_IN_NO_PIECE = (0x00, BOUNDARY, 0x20, UNKNOWN_CHARACTER)
_METASPACE_CODE_POINT = 0x2581  # "▁": a space in a piece


def character_classes(options: CodePointOptions) -> bytes:
    """Return the class of each code point, as one byte: it decides which neighbours may be in the same word.

    For models of type word or char, words end only at spaces.

    >>> classes = character_classes(CodePointOptions.of({"vocab_size": 500, "split_digits": True}))
    >>> classes[ord("7")] == _ALONE, classes[ord("a")] == classes[ord("é")], classes[ord("▁")] == _METASPACE
    (True, True, True)
    """
    trainer = options.trainer
    if trainer["model_type"] in ("word", "char"):
        return cut_at_spaces()
    if trainer["split_by_unicode_script"]:
        class_of_script = bytearray(range(_FIRST_SCRIPT, 256)).ljust(256, b"\0")
        class_of_script[NONE] = class_of_script[COMMON]
        class_of_script[INHERITED] = _INHERITED
    else:
        class_of_script = bytearray([_INHERITED]) * 256
    classes = bytearray(script_numbers().translate(class_of_script))
    for code_point in _DIGITS:
        if trainer["split_digits"]:
            classes[code_point] = _ALONE
        elif not trainer["split_by_number"]:
            classes[code_point] = _ANY_SCRIPT
    for code_point in _IN_NO_PIECE:
        classes[code_point] = _ALONE
    classes[_METASPACE_CODE_POINT] = _METASPACE
    return bytes(classes)


def cut_at_spaces() -> bytes:
    """Return the class of each code point for words that end only at spaces."""
    together = bytearray([_INHERITED]) * _N_CODE_POINTS
    together[_METASPACE_CODE_POINT] = _METASPACE
    return bytes(together)


def order_matters(options: CodePointOptions) -> str:
    """Return "name=value" of an option with which a unigram model depends on the order of sentences, or "".

    Without such options, each sentence and each word begins with U+2581. Then the counts of words are enough:
    see `_core.train.sentence_store`.
    """
    for name, value in (
        ("split_by_whitespace", False),
        ("treat_whitespace_as_suffix", True),
    ):
        if options.trainer[name] == value:
            return f"{name}={value}"
    return "" if options.normalizer["add_dummy_prefix"] else "add_dummy_prefix=False"


def keep_sentences(
    source: SentenceSource,
    options: CodePointOptions,
    reading: ReadingOptions,
    reporter: Reporter,
) -> tuple[SentenceStore, CountedWords]:
    """Keep the normalized sentences in memory, in order, and count their words or only their characters.

    The arguments are as in `count_words`; the errors are the same. Words are counted if training on their counts
    leads to the same model as training on the sentences.
    """
    names = ("split_by_whitespace", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces")
    store = SentenceStore(**{name: options.trainer[name] for name in names})
    # A pretokenizer may write sentences anew, and then they may begin with anything.
    has_words = source.pretokenizer is None and not order_matters(options)
    counted = count_words(
        source, options, cut_at_spaces(), reading, reporter, kept=KeptSentences(store), has_words=has_words
    )
    store.drop_empty()
    if has_words:
        return store, replace(counted, last_word=store.last_word())
    return store, replace(counted, pruned_characters=store.characters())


def count_words(
    source: SentenceSource,
    options: CodePointOptions,
    classes: bytes,
    reading: ReadingOptions,
    reporter: Reporter,
    *,
    kept: Kept | None = None,
    has_words: bool = True,
) -> CountedWords:
    """Count the words of sentences.

    Args:
        source: the text.
        options: options of training.
        classes: class of each code point; see `character_classes`.
        reading: only num_threads and max_memory_bytes are used.
        reporter: gets the phase "counting".
        kept: for a unigram model, collector of the sentences or of their last words. A byte 0xFF then follows
            each word that ends a sentence. None: for a model of another type.
        has_words: bool – whether to count words.

    Raises:
        SpecError: the joined parts from the pretokenizer differ from the sentence, or a line is not valid tsv.
        ValueError: a text is not UTF-8, but must be.
    """
    n_threads = usable_threads(reading.num_threads)
    filters = SentenceFilter(options)
    if options.trainer["input_sentence_size"]:
        source = replace(source, texts=filters.sample(source.sentences()), are_sentences=True)
    with (
        reporter.phase("counting", source.n_bytes, unit="B", unit_scale=True) as phase,
        limited_tables(reading.max_memory_bytes, n_threads) as (spill, limit),
    ):
        make_counter = _counter_maker(
            options,
            classes,
            must_be_utf8=source.must_be_utf8,
            spill=spill,
            limit=limit,
            marks_ends=kept is not None,
            keeps="" if kept is None else kept.keeps,
            counts_words=has_words,
        )
        in_order = None if kept is None else InOrder(kept)

        def add(counter: WordCounter, batch: Batch) -> None:
            if batch.part is not None:
                counter.add_part(batch.texts[0], *batch.part, first=batch.first)
            elif source.are_sentences:
                counter.add_sentences(batch.documents(), first=batch.first)
            else:
                counter.add_lines(batch.documents(), first=batch.first)
            if in_order is not None:
                in_order.add(batch.number, *counter.take_store())

        threads = CountingThreads(make_counter, add)
        if source.pretokenizer is not None:
            threads.counters.append(make_counter())
            _count_pretokenized(threads.counters[0], source.sentences(), source.pretokenizer)
            if kept is not None:
                kept.take(*threads.counters[0].take_store())
        else:
            threads.count(batches(source.texts, source.parts), n_threads - 1, phase.reach)
        phase.reach(threads.n_bytes)
        n_left_out = sum(counter.n_bytes_left_out for counter in threads.counters)
        return CountedWords(
            words=merged_tables([counter.words for counter in threads.counters], spill),
            n_bytes=threads.n_bytes - n_left_out - sum(counter.n_ends_left_out for counter in threads.counters),
            n_bytes_left_out=n_left_out + filters.n_bytes_left_out,
            n_sentences=sum(counter.n_sentences for counter in threads.counters),
            n_empty=sum(counter.n_empty for counter in threads.counters) + filters.n_empty,
            n_too_long=sum(counter.n_too_long for counter in threads.counters) + filters.n_too_long,
            n_reserved=sum(counter.n_reserved for counter in threads.counters) + filters.n_reserved,
            n_skipped=source.skipped.n,
            n_files_left_out=source.left_out.n,
        )


def _counter_maker(
    options: CodePointOptions,
    classes: bytes,
    *,
    must_be_utf8: bool,
    spill: Spill | None,
    limit: int,
    marks_ends: bool,
    keeps: str,
    counts_words: bool,
) -> Callable[[], WordCounter]:
    trainer, flags = options.trainer, ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    normalizer = Normalizer(
        options.normalizer["precompiled_charsmap"],
        **{name: options.normalizer[name] for name in flags},
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
    )
    names = sorted({name.encode() for name, _ in options.metas.values()})
    symbols = SpecialMatcher(names, list(range(len(names)))) if names else None
    has_rules = trainer["model_type"] in ("bpe", "unigram")  # otherwise a word always begins at each space
    return lambda: WordCounter(
        normalizer,
        classes,
        symbols=symbols,
        delimiter=trainer["pretokenization_delimiter"].encode(),
        max_bytes=trainer["max_sentence_length"],
        split_by_whitespace=trainer["split_by_whitespace"] or not has_rules,
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"] and has_rules,
        allow_whitespace_only_pieces=trainer["allow_whitespace_only_pieces"] and has_rules,
        has_counts=trainer["input_format"] == "tsv",
        is_checked=must_be_utf8,
        spill=spill,
        limit=limit,
        marks_ends=marks_ends,
        keeps=keeps,
        counts_words=counts_words,
    )


def _count_pretokenized(counter: WordCounter, sentences: Iterable[Document], pretokenizer: Pretokenizer) -> None:
    """Count sentences, with BOUNDARY between the parts of each."""
    prepared = filter(None, (counter.prepare(_utf8(sentence)) for sentence in sentences))
    for number, (text, count) in enumerate(prepared):
        parts = pretokenizer.cut(text.decode())
        joined = "".join(parts)
        if pretokenizer.is_checked and joined.encode() != text:
            detail = (
                f"Pretokenized output mismatch at sample {number}: joined='{joined}', original='{text.decode()}'."
            )
            raise SpecError(
                f"the pretokenizer changed {short_repr(text.decode())} to {short_repr(joined)} (its parts, "
                "joined), but it may only cut the text; to allow changes, pass "
                "allow_inconsistent_pretokenization=True",
                f"{detail} Set allow_inconsistent_pretokenization=true in TrainerComponents to bypass.",
                "INVALID_ARGUMENT",
            )
        counter.add_prepared(chr(BOUNDARY).join(parts).encode(), count)


def _utf8(sentence: Document) -> bytes:
    return sentence.encode() if isinstance(sentence, str) else sentence


# Counts of words


def count_words_of(
    source: Source,
    mode: str,
    base: Tokenizer | None,
    keywords: Mapping[str, Any],
    reading: ReadingOptions,
    reporter: Reporter,
) -> tuple[PieceCounts, int]:
    """Count the words of a source, as training does.

    Args:
        source: as for `train`; the keys of a mapping must be sentences.
        mode: "codepoint" or "unigram".
        base: the tokenizer that training will extend; None: it will train a new model.
        keywords: options of counting, with sentencepiece's names.
        reading: how to read and count the source.
        reporter: gets the phase "counting".

    Returns:
        The counts, and the number of unread files in the source's folders.

    Raises:
        OptionError: an option does not apply to counting, or would change the base.
        SpecError: an option has an invalid value.
        TrainingError: the base cannot be extended in this mode, counts would not be enough for the unigram model,
            or the source is counted already.
    """
    check_counting_names(keywords, mode)
    values = with_tsv(keywords) if isinstance(source, Mapping) else keywords
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
    counted = count_words(sentences_of(source, reading), options, classes, reading, reporter, kept=last_words)
    if last_words is not None:
        counted = replace(counted, last_word=last_words.last_word())
    assert isinstance(counted.words, PieceCounter)
    facts = WordFacts.of(counted, options, [name for name in values if name in specs.TRAINER])
    counts = counts_of_table(
        counted.words, None, (), n_bytes=counted.n_bytes, n_skipped=counted.n_skipped, words=facts
    )
    return counts, counted.n_files_left_out


def weighted_words(sources: Mapping[str, Any], base: Tokenizer | None, run: Run) -> tuple[PieceCounts, int]:
    """Count the words of named sources, and multiply the counts by the weights.

    Args:
        sources: name → source, or counts.
        base: the tokenizer to extend, or None to train a new one.
        run: the run, which has weights.

    Returns:
        The sum of the counts, and the number of unread files in the sources' folders.

    Raises:
        TrainingError: the sources were counted in different ways, or all are counts but there are options for
            reading.
    """
    assert run.weights is not None
    keywords = {name: value for name, value in run.options.items() if name in COUNTING_NAMES}
    if all(isinstance(source, PieceCounts) for source in sources.values()):
        run.reading.check_unused()
    counted, n_left_out = [], 0
    for name, source in sources.items():
        if isinstance(source, PieceCounts):
            counts, n = source, 0
        else:
            counts, n = count_words_of(source, "codepoint", base, keywords, run.reading, run.reporter)
        counted.append(counts * run.weights[name])
        n_left_out += n
    return added_up(counted), n_left_out


def counted_words(counts: PieceCounts, mode: str, reading: ReadingOptions) -> tuple[CountedWords, WordFacts]:
    """Return the words in counts, in the form that the learner of a mode accepts, and the facts about them.

    Raises:
        TrainingError: they were counted for another mode, or there are options for reading.
    """
    facts = facts_of(counts)
    if facts is None or facts.mode != mode:
        raise TrainingError(
            f"these counts are for mode={counts.mode!r}; count with mode={mode!r}, or pass the text"
        )
    reading.check_unused()
    counted = CountedWords(
        words=table_of(counts),
        n_bytes=counts.n_bytes,
        pruned_characters=facts.characters,
        last_word=facts.last_word,
        n_skipped=counts.n_skipped,
        n_pruned=counts.n_pruned,
        **facts.numbers,
    )
    return counted, facts
