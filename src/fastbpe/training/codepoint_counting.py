"""Reading the sentences of a source and counting their words, in several threads, for code-point training."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.word_counter import WordCounter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.sources import Document
from fastbpe.errors import SpecError
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.piece_counting import BATCH, LEAST, LONG, Batch, Crew, added_up, batches
from fastbpe.training.script_table import SCRIPT_RUNS
from fastbpe.training.spill import Spill

_N_CODE_POINTS = 0x110000
_DIGITS = (*range(0x30, 0x3A), *range(0xFF10, 0xFF1A))
_INHERITED, _METASPACE, _ALONE, _ANY, _FIRST_SCRIPT = range(5)  # as _core/character_classes.pxd has them
_IN_NO_PIECE = (0x00, 0x1F, 0x20, 0x2585)
_MARK_CODE_POINT = 0x2581
_RESERVED = "▅".encode()
_SEED = 1  # of samples: the same text gives the same model


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The words of the sentences that were kept, and what became of the others.

    n_bytes: of the text that is kept. n_too_long: sentences of more than max_sentence_length bytes; n_reserved:
    with U+2585; n_bytes_left_out: of both, without line ends.
    """

    words: PieceCounter
    n_bytes: int
    n_bytes_left_out: int
    n_sentences: int
    n_empty: int
    n_too_long: int
    n_reserved: int


class Pretokenizer(NamedTuple):
    """A function that cuts normalised sentences into parts that no piece crosses.

    is_checked: the parts of a sentence must be all of it.
    """

    cut: Callable[[str], Sequence[str]]
    is_checked: bool = True


@lru_cache
def scripts() -> bytes:
    """The script of each code point: 0 Common, 1 Inherited, 2 and more others."""
    runs = (run.split(".") for run in SCRIPT_RUNS.split())
    return b"".join(bytes([int(script, 36)]) * int(n, 36) for script, n in runs).ljust(_N_CODE_POINTS, b"\0")


def character_classes(options: CodePointOptions) -> bytes:
    """What each code point is to a word, a byte each."""
    trainer = options.trainer
    numbers = [_FIRST_SCRIPT, _INHERITED, *range(_FIRST_SCRIPT + 1, 258)]
    if not trainer["split_by_unicode_script"]:
        numbers = [_INHERITED] * 256
    classes = bytearray(scripts().translate(bytes(numbers[:252]) + bytes(4)))
    for code_point in _DIGITS:
        if trainer["split_digits"]:
            classes[code_point] = _ALONE
        elif not trainer["split_by_number"]:
            classes[code_point] = _ANY
    for code_point in _IN_NO_PIECE:
        classes[code_point] = _ALONE
    classes[_MARK_CODE_POINT] = _METASPACE
    return bytes(classes)


def count_words(
    texts: Iterable[Document],
    options: CodePointOptions,
    classes: bytes,
    *,
    are_sentences: bool,
    is_checked: bool,
    pretokenizer: Pretokenizer | None = None,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    report: Callable[[int], object] = lambda n_bytes: None,
) -> Counted:
    """Count the words of documents, whose lines are the sentences, or of sentences.

    is_checked: bytes that are not UTF-8 are an error; else each becomes U+FFFD. pretokenizer: cuts sentences
    first, in one thread. num_threads, max_memory_bytes, report: as for `counting.count`.
    """
    n_threads = usable_threads(num_threads)
    spill = Spill() if max_memory_bytes is not None else None
    limit = 0 if max_memory_bytes is None else max(max_memory_bytes // n_threads, LEAST)
    sieve = _Sieve(options)
    if options.trainer["input_sentence_size"]:
        texts, are_sentences = sieve.chosen(texts if are_sentences else _lines(texts)), True
    make_counter = _counter_maker(options, classes, is_checked=is_checked, spill=spill, limit=limit)
    crew = Crew(make_counter, _add_sentences if are_sentences else _add_lines)
    try:
        if pretokenizer is not None:
            crew.counters.append(make_counter())
            _pretokenized(crew.counters[0], texts if are_sentences else _lines(texts), pretokenizer)
        else:
            crew.count(batches(texts, lambda *_: None if are_sentences else _parts(*_)), n_threads - 1, report)
        report(crew.n_bytes)
        n_left_out = sum(counter.n_bytes_left_out for counter in crew.counters)
        return Counted(
            words=added_up([counter.words for counter in crew.counters], spill),
            n_bytes=crew.n_bytes - n_left_out - sum(counter.n_ends_left_out for counter in crew.counters),
            n_bytes_left_out=n_left_out + sieve.n_bytes_left_out,
            n_sentences=sum(counter.n_sentences for counter in crew.counters),
            n_empty=sum(counter.n_empty for counter in crew.counters) + sieve.n_empty,
            n_too_long=sum(counter.n_too_long for counter in crew.counters) + sieve.n_too_long,
            n_reserved=sum(counter.n_reserved for counter in crew.counters) + sieve.n_reserved,
        )
    finally:
        if spill is not None:
            spill.close()


def _counter_maker(
    options: CodePointOptions, classes: bytes, *, is_checked: bool, spill: Spill | None, limit: int
) -> Callable[[], WordCounter]:
    trainer, flags = options.trainer, ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    normalizer = Normalizer(
        options.normalizer["precompiled_charsmap"],
        **{name: options.normalizer[name] for name in flags},
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
    )
    names = sorted({name.encode() for name, _ in options.metas.values()})
    symbols = SpecialMatcher(names, list(range(len(names)))) if names else None
    return lambda: WordCounter(
        normalizer,
        classes,
        symbols=symbols,
        delimiter=trainer["pretokenization_delimiter"].encode(),
        max_bytes=trainer["max_sentence_length"],
        split_by_whitespace=trainer["split_by_whitespace"],
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
        allow_whitespace_only_pieces=trainer["allow_whitespace_only_pieces"],
        has_counts=trainer["input_format"] == "tsv",
        is_checked=is_checked,
        spill=spill,
        limit=limit,
    )


def _pretokenized(counter: WordCounter, sentences: Iterable[Document], pretokenizer: Pretokenizer) -> None:
    """Count sentences, with a boundary between the parts that a function cuts each into."""
    prepared = filter(None, (counter.prepare(_utf8(sentence)) for sentence in sentences))
    for number, (text, count) in enumerate(prepared):
        parts = pretokenizer.cut(text.decode())
        joined = "".join(parts)
        if pretokenizer.is_checked and joined.encode() != text:
            detail = (
                f"Pretokenized output mismatch at sample {number}: joined='{joined}', original='{text.decode()}'."
            )
            raise SpecError(
                f"the pretokenizer makes {joined!r} of {text.decode()!r}: it may only cut, or "
                "allow_inconsistent_pretokenization=True must say that it does more",
                f"{detail} Set allow_inconsistent_pretokenization=true in TrainerComponents to bypass.",
                "INVALID_ARGUMENT",
            )
        counter.add_prepared("\x1f".join(parts).encode(), count)


def _utf8(sentence: Document) -> bytes:
    return sentence.encode() if isinstance(sentence, str) else sentence


def _add_sentences(counter: WordCounter, batch: Batch) -> None:
    counter.add_sentences(batch.texts, first=batch.first)


def _add_lines(counter: WordCounter, batch: Batch) -> None:
    if batch.part is None:
        counter.add_lines(batch.texts, first=batch.first)
    else:
        counter.add_part(batch.texts[0], *batch.part, first=batch.first)


def _parts(document: Document, _: int) -> Iterator[tuple[int, int]] | None:
    """The parts of a long document: whole lines."""
    return _cut(document) if len(document) >= LONG else None


def _cut(document: Document) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(document):
        end = _line_end(document, min(start + BATCH, len(document)))
        yield start, end
        start = end


def _line_end(document: Document, at: int) -> int:
    """Where the line ends that goes on at a place, its end included."""
    found = document.find("\n", at) if isinstance(document, str) else document.find(b"\n", at)
    return found + 1 if found >= 0 else len(document)


def _lines(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        start = 0
        while start < len(document):
            end = _line_end(document, start)
            yield document[start : end - 1 if document[end - 1 : end] in ("\n", b"\n") else end]
            start = end


class _Sieve:
    """Chooses input_sentence_size of the sentences that are kept: the first, or any, each as likely as another."""

    def __init__(self, options: CodePointOptions) -> None:
        self.n_empty = self.n_too_long = self.n_reserved = self.n_bytes_left_out = 0
        self._size = options.trainer["input_sentence_size"]
        self._shuffle = options.trainer["shuffle_input_sentence"]
        self._max_bytes = options.trainer["max_sentence_length"]
        self._has_counts = options.trainer["input_format"] == "tsv"

    def chosen(self, sentences: Iterable[Document]) -> Iterator[Document]:
        rng = random.Random(_SEED)
        chosen: list[Document] = []
        for n_before, sentence in enumerate(filter(self._is_kept, sentences)):
            if len(chosen) < self._size:
                chosen.append(sentence)
            elif not self._shuffle:
                break
            elif (at := rng.randrange(n_before + 1)) < self._size:
                chosen[at] = sentence
        yield from chosen

    def _is_kept(self, sentence: Document) -> bool:
        data = sentence.encode("utf-8", "surrogatepass") if isinstance(sentence, str) else sentence
        if self._has_counts:
            data = data.split(b"\t")[0]
        if not data:
            self.n_empty += 1
            return False
        if len(data) > self._max_bytes:
            self.n_too_long += 1
        elif _RESERVED in data:
            self.n_reserved += 1
        else:
            return True
        self.n_bytes_left_out += len(data)
        return False
