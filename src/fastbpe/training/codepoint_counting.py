"""Counting the words of sentences in several threads, for code-point training.

A sentence is a line of text. The compiled `WordCounter` normalizes it and cuts it into words: runs of characters
that a piece may span, which depend on white space, scripts and digits (`character_classes`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe._core.train.word_counter import WordCounter
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Block, each_document
from fastbpe.errors import SpecError
from fastbpe.splitting.scripts import COMMON, INHERITED, NONE, script_numbers
from fastbpe.training import counting_threads
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.counting_threads import Batch, CountingThreads, batches, merged_tables
from fastbpe.training.options import ReadingOptions
from fastbpe.training.sentence_order import InOrder, Kept, KeptSentences
from fastbpe.training.spill import Spill, limited_tables

BOUNDARY = 0x1F  # code point by which the counter replaces symbols; no piece contains it
_N_CODE_POINTS = 0x110000
_DIGITS = (*range(0x30, 0x3A), *range(0xFF10, 0xFF1A))  # ASCII and full-width
# Classes of code points, numbered as in _core/train/scripts.pxd. INHERITED: has the script of the character before
# it. ALONE: is never in a piece with other characters. ANY_SCRIPT: may be next to any script. FIRST_SCRIPT and
# above: one number for each script.
_INHERITED, _METASPACE, _ALONE, _ANY_SCRIPT, _FIRST_SCRIPT = range(5)
_UNKNOWN_CHARACTER = 0x2585  # "▅": sentencepiece reserves it for unknown characters
_IN_NO_PIECE = (0x00, BOUNDARY, 0x20, _UNKNOWN_CHARACTER)
_METASPACE_CODE_POINT = 0x2581  # "▁": a space in a piece
_SEED = 1  # seed of random samples: the same text results in the same model


@dataclass(frozen=True, kw_only=True)
class SentenceSource:
    """Text for code-point training.

    Attributes:
        texts: documents or blocks of them, whose lines are the sentences; or sentences.
        are_sentences: bool – each text is a sentence.
        must_be_utf8: bool – whether invalid UTF-8 is an error; False: each invalid byte becomes U+FFFD.
        pretokenizer: function that first cuts each sentence, in one thread; None: sentences are not cut.
        n_bytes: int or None – number of bytes of all texts, for the progress bar; None: not known.
        skipped: documents that are left out while the texts are read, because they cannot be read.
        left_out: files in folders of the source that, by their names, contain no documents.
    """

    texts: Iterable[Document | Block]
    are_sentences: bool = False
    must_be_utf8: bool = False
    pretokenizer: Pretokenizer | None = None
    n_bytes: int | None = None
    skipped: Skipped = field(default_factory=Skipped)
    left_out: Skipped = field(default_factory=Skipped)


@dataclass(frozen=True, kw_only=True)
class CountedWords:
    """Words of the sentences that were used, and statistics about left-out sentences.

    Attributes:
        words: the words with their counts.
        n_bytes: int – bytes of the counted text, with line endings, but without too long and reserved sentences.
        n_bytes_left_out: int – bytes of too long and reserved sentences, without line endings.
        n_sentences: int – sentences that were used.
        n_empty: int – empty sentences.
        n_too_long: int – sentences of more than max_sentence_length bytes.
        n_reserved: int – sentences with U+2585.
        last_word: bytes or None – the word in `words` that ends the last sentence, without its mark; b"": no
            word. None: no word has a mark, as for a BPE model.
        pruned_characters: code point → count – characters of words that are not in `words`: they were pruned, or
            no words were counted.
        n_skipped: int – documents that were left out because they could not be read.
        n_files_left_out: int – files in folders of the source that, by their names, contain no documents.
        n_pruned: int – words that `PieceCounts.pruned` left out; each counts as often as it occurs.
    """

    words: PieceCounter
    n_bytes: int
    n_bytes_left_out: int
    n_sentences: int
    n_empty: int
    n_too_long: int
    n_reserved: int
    last_word: bytes | None = None
    pruned_characters: Mapping[int, int] = field(default_factory=dict)
    n_skipped: int = 0
    n_files_left_out: int = 0
    n_pruned: int = 0


class Pretokenizer(NamedTuple):
    """Function of the caller that cuts sentences into parts; no piece crosses their boundaries.

    cut: function from a normalized sentence to its parts.
    is_checked: bool – whether to raise SpecError if the joined parts differ from the sentence.
    """

    cut: Callable[[str], Sequence[str]]
    is_checked: bool = True


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
        of_scripts = bytearray(range(_FIRST_SCRIPT, 256)).ljust(256, b"\0")
        of_scripts[NONE] = of_scripts[COMMON]
        of_scripts[INHERITED] = _INHERITED
    else:
        of_scripts = bytearray([_INHERITED]) * 256
    classes = bytearray(script_numbers().translate(of_scripts))
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
    report: Callable[[int], object] = lambda n_bytes: None,
) -> tuple[SentenceStore, CountedWords]:
    """Keep the normalized sentences in memory, in order, and count their words, or else their characters.

    The arguments are those of `count_words` with these names; the errors are the same. The result has words if
    training on their counts leads to the same model as training on the sentences.
    """
    names = ("split_by_whitespace", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces")
    store = SentenceStore(**{name: options.trainer[name] for name in names})
    # A pretokenizer may write sentences anew, and then they may begin with anything.
    has_words = source.pretokenizer is None and not order_matters(options)
    counted = count_words(
        source, options, cut_at_spaces(), reading, report, kept=KeptSentences(store), has_words=has_words
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
    report: Callable[[int], object] = lambda n_bytes: None,
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
        report: function to call from time to time with the number of bytes counted so far.
        kept: keeper of the sentences of a unigram model, or of their last words; words that end a sentence are
            marked. None: for a model of another type.
        has_words: bool – whether to count words.

    Raises:
        SpecError: the joined parts from the pretokenizer differ from the sentence, or a line is not valid tsv.
        ValueError: a text is not UTF-8, but must be.
    """
    n_threads = usable_threads(reading.num_threads)
    filters = _SentenceFilter(options)
    texts, are_sentences = source.texts, source.are_sentences
    if options.trainer["input_sentence_size"]:
        texts, are_sentences = filters.sample(each_document(texts) if are_sentences else _lines(texts)), True
    with limited_tables(reading.max_memory_bytes, n_threads) as (spill, limit):
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
        add_batch = _add_sentences if are_sentences else _add_lines

        def add(counter: WordCounter, batch: Batch) -> None:
            add_batch(counter, batch)
            if in_order is not None:
                in_order.add(batch.number, *counter.take_store())

        threads = CountingThreads(make_counter, add)
        if source.pretokenizer is not None:
            threads.counters.append(make_counter())
            _count_pretokenized(
                threads.counters[0],
                each_document(texts) if are_sentences else _lines(texts),
                source.pretokenizer,
            )
            if kept is not None:
                kept.take(*threads.counters[0].take_store())
        else:
            parts_of = _no_parts if are_sentences else _parts
            threads.count(batches(texts, parts_of), n_threads - 1, report)
        report(threads.n_bytes)
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


def _add_sentences(counter: WordCounter, batch: Batch) -> None:
    counter.add_sentences(batch.documents(), first=batch.first)


def _add_lines(counter: WordCounter, batch: Batch) -> None:
    if batch.part is None:
        counter.add_lines(batch.documents(), first=batch.first)
    else:
        counter.add_part(batch.texts[0], *batch.part, first=batch.first)


def _no_parts(document: Document, number: int) -> None:
    """Return None, because each sentence is counted whole."""


def _parts(document: Document, number: int) -> Iterator[tuple[int, int]] | None:
    """Cut a long document into parts of whole lines; None if it is short."""
    return _line_ranges(document) if len(document) >= counting_threads.LONG_TEXT_UNITS else None


def _line_ranges(document: Document) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(document):
        end = _line_end(document, min(start + counting_threads.BATCH_UNITS, len(document)))
        yield start, end
        start = end


def _line_end(document: Document, position: int) -> int:
    """Return the position after the end of the line that contains a position."""
    found = document.find("\n", position) if isinstance(document, str) else document.find(b"\n", position)
    return found + 1 if found >= 0 else len(document)


def _lines(documents: Iterable[Document | Block]) -> Iterator[Document]:
    for document in each_document(documents):
        start = 0
        while start < len(document):
            end = _line_end(document, start)
            yield document[start : end - 1 if document[end - 1 : end] in ("\n", b"\n") else end]
            start = end


class _SentenceFilter:
    """Takes a sample of input_sentence_size sentences, and counts the sentences that cannot be used.

    With shuffle_input_sentence the sample is random (reservoir sampling: Vitter 1985, algorithm R), otherwise it
    consists of the first sentences.
    """

    def __init__(self, options: CodePointOptions) -> None:
        self.n_empty = self.n_too_long = self.n_reserved = self.n_bytes_left_out = 0
        self._size = options.trainer["input_sentence_size"]
        self._shuffle = options.trainer["shuffle_input_sentence"]
        self._max_bytes = options.trainer["max_sentence_length"]
        self._has_counts = options.trainer["input_format"] == "tsv"

    def sample(self, sentences: Iterable[Document]) -> Iterator[Document]:
        """Choose sentences. Keeps the whole sample in memory."""
        rng = random.Random(_SEED)
        chosen: list[Document] = []
        for n_before, sentence in enumerate(filter(self._is_kept, sentences)):
            if len(chosen) < self._size:
                chosen.append(sentence)
            elif not self._shuffle:
                break
            elif (i := rng.randrange(n_before + 1)) < self._size:
                chosen[i] = sentence
        yield from chosen

    def _is_kept(self, sentence: Document) -> bool:
        """Tell whether training uses a sentence, as `WordCounter` does."""
        data = sentence.encode("utf-8", "surrogatepass") if isinstance(sentence, str) else sentence
        if self._has_counts:
            data = data.split(b"\t")[0]
        if not data:
            self.n_empty += 1
            return False
        if len(data) > self._max_bytes:
            self.n_too_long += 1
        elif chr(_UNKNOWN_CHARACTER).encode() in data:
            self.n_reserved += 1
        else:
            return True
        self.n_bytes_left_out += len(data)
        return False
