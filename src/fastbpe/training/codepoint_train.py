"""Code-point training: sentences in, the model out that sentencepiece 0.2.3 makes of them, piece by piece."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fastbpe._core.train.codepoint_learner import CodePointLearner
from fastbpe._core.train.word_counter import characters
from fastbpe._utils.progress import Progress, Reporter
from fastbpe.corpus.sources import Document, Source, documents, n_bytes
from fastbpe.errors import FormatError, SpecError
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType, Spec, pack_pieces
from fastbpe.training.codepoint_counting import Counted, Pretokenizer, character_classes, count_words
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.piece_counts import Reading, checked_count

_BOUNDARY = 0x1F  # in place of symbols, which are no text
CHARACTERS = "characters"  # the vocab_size that asks for the characters and nothing more


@dataclass(frozen=True, kw_only=True)
class CodePointReport:
    """What training found, and what it says nothing about otherwise.

    Attributes:
        n_bytes: of the text that was learned from.
        n_sentences: those that were learned from.
        n_empty, n_too_long, n_reserved: lines left out since they were empty, had more bytes than
            max_sentence_length, or held U+2585, which stands for unknown characters.
        n_bytes_left_out: of the lines of the last two kinds, without line ends.
        n_skipped: documents that could not be read and were left out, as on_error="skip" asks for.
        n_characters: characters of the normalised sentences.
        left_out: characters outside the alphabet, which are unknown to the model, and how often each occurred.
        n_distinct_words: what pieces were learned from.
        n_merges: pieces of more than one character.
    """

    n_bytes: int
    n_sentences: int
    n_empty: int
    n_too_long: int
    n_reserved: int
    n_bytes_left_out: int
    n_characters: int
    left_out: Mapping[str, int] = field(repr=False)
    n_distinct_words: int
    n_merges: int
    n_skipped: int = 0

    def notes(self, trainer: Spec) -> list[str]:
        """A sentence for each kind of text that was left out: how much, and by which option of the trainer."""
        notes = []
        n_left_out = self.n_too_long + self.n_reserved
        if n_left_out:
            reasons = []
            if self.n_too_long:
                limit = trainer["max_sentence_length"]
                reasons.append(f"{self.n_too_long:,} longer than max_sentence_length={limit} bytes (raise it)")
            if self.n_reserved:
                reasons.append(f"{self.n_reserved:,} with U+2585, which stands for unknown characters")
            notes.append(
                f"left out: {n_left_out:,} of {self.n_sentences + n_left_out:,} lines, "
                f"{self.n_bytes_left_out:,} bytes: {' and '.join(reasons)}"
            )
        if self.left_out:
            n_times = sum(self.left_out.values())
            most = sorted(self.left_out, key=lambda c: -self.left_out[c])[:10]
            notes.append(
                f"left out of the vocabulary: {len(self.left_out):,} rare characters, {n_times:,} times in all "
                f"({n_times / max(self.n_characters, 1):.3%}): {', '.join(map(repr, most))}"
                + (", …" if len(self.left_out) > len(most) else "")
                + f"; they become {'bytes' if trainer['byte_fallback'] else trainer['unk_piece']}, unless "
                f"character_coverage={trainer['character_coverage']:g} is raised"
            )
        return notes


def train_model(
    source: Source,
    *,
    vocab_size: int | str,
    progress: Progress = None,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    text_field: str = "text",
    separator: str | None = None,
    on_error: str = "raise",
    errors: str = "strict",
    **options: Any,
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a code-point vocabulary from text: pieces, scores and options are those of sentencepiece 0.2.3.

    Args:
        source: as for `train`; the lines of a document are the sentences. A mapping is of sentences to how often
            each occurs: what sentencepiece learns from with input_format="tsv".
        vocab_size: the ids to end with, control symbols and characters included; "characters": no more than those.
        progress, num_threads, max_memory_bytes, text_field, separator, on_error, errors: as for `train`.
        **options: sentencepiece's, by their names: character_coverage, byte_fallback, user_defined_symbols, ...

    Raises:
        SpecError: an option that cannot be met, or no text to learn from.

    >>> model, report = train_model(["ab ab abc\\nabcd ab"], vocab_size=12, hard_vocab_limit=False)
    >>> b" ".join(model.pieces).decode()
    '<unk> <s> </s> ab ▁ab ▁abc ▁abcd a b ▁ c d'

    The plain tokenizer of characters:

    >>> model, report = train_model(["ab ab abc\\nabcd ab"], vocab_size="characters")
    >>> b" ".join(model.pieces).decode()
    '<unk> <s> </s> a b ▁ c d'
    """
    reading = Reading(
        num_threads=num_threads,
        max_memory_bytes=max_memory_bytes,
        text_field=text_field,
        separator=separator,
        on_error=on_error,
        errors=errors,
    )
    has_counts = isinstance(source, Mapping)
    if has_counts:
        replace(reading, num_threads=None, max_memory_bytes=None).check_unused()
        if options.setdefault("input_format", "tsv") != "tsv":
            raise SpecError(f"input_format={options['input_format']!r}: counts of sentences are 'tsv'", "")
    wants_characters = vocab_size == CHARACTERS
    checked = CodePointOptions.of(
        {"model_type": "bpe"} | options | {"vocab_size": specs.MAX_INT32 if wants_characters else vocab_size}
    )
    reporter = Reporter(progress)
    skipped: list[FormatError] = []
    texts = documents(
        _tsv_lines(source) if isinstance(source, Mapping) else source,
        field=reading.text_field,
        separator=reading.separator,
        cut=lambda data: data.rfind(b"\n") + 1,
        skip=skipped.append if reading.on_error == "skip" else None,
        errors=reading.errors,
    )
    model, report = learn_model(
        texts,
        checked,
        n_bytes=n_bytes(source),
        are_sentences=has_counts,
        only_characters=wants_characters,
        is_checked=True,
        num_threads=reading.num_threads,
        max_memory_bytes=reading.max_memory_bytes,
        reporter=reporter,
    )
    report = replace(report, n_skipped=len(skipped))
    reporter.summarise(
        {
            "counting": f"{report.n_bytes:,} bytes, {report.n_sentences:,} sentences, "
            f"{report.n_distinct_words:,} distinct words"
            + (f", {report.n_skipped:,} documents skipped" if report.n_skipped else ""),
            "learning": f"{report.n_merges:,} merges",
        }
    )
    return model, report


def _tsv_lines(counts: Mapping[Any, Any]) -> Iterator[bytes]:
    """A line for each sentence that occurs, as input_format="tsv" has it."""
    for sentence, number in counts.items():
        data, n = checked_count(sentence, number)
        if b"\t" in data:
            raise SpecError(f"sentence {sentence!r} holds a tab, which no counted sentence can", "")
        if n:
            yield b"%s\t%d" % (data, n)


def learn_model(
    texts: Iterable[Document],
    options: CodePointOptions,
    *,
    n_bytes: int | None = None,
    are_sentences: bool = False,
    only_characters: bool = False,
    is_checked: bool = False,
    pretokenizer: Pretokenizer | None = None,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    reporter: Reporter,
) -> tuple[CodePointModel, CodePointReport]:
    """Learn from documents, whose lines are the sentences, or from sentences, with options that are checked."""
    classes = character_classes(options)
    with reporter.phase("counting", n_bytes, unit="B", unit_scale=True) as phase:
        counted = count_words(
            texts,
            options,
            classes,
            are_sentences=are_sentences,
            is_checked=is_checked,
            pretokenizer=pretokenizer,
            num_threads=num_threads,
            max_memory_bytes=max_memory_bytes,
            report=lambda n: phase.update(n - phase.n),
        )
    counts = _character_counts(counted)
    alphabet, left_out = _alphabet(counts, options.trainer)
    n_single = len(options.metas) + len(alphabet)
    vocab_size = n_single if only_characters else options.trainer["vocab_size"]
    if n_single > vocab_size:
        raise SpecError(
            f"vocab_size={vocab_size} is too small: {len(options.metas)} symbols and {len(alphabet)} characters "
            f"need {n_single}; or lower character_coverage",
            f"Vocabulary size is smaller than required_chars. {vocab_size} vs {n_single}. Increase vocab_size or "
            "decrease character_coverage with --character_coverage option.",
        )
    with reporter.phase("learning", vocab_size - n_single, unit=" merges") as phase:
        merged = _merged(counted, alphabet, classes, options.trainer, vocab_size - n_single, phase.update)
    model = _model([*merged, *alphabet], options, vocab_size, is_exact=only_characters)
    report = CodePointReport(
        n_bytes=counted.n_bytes,
        n_sentences=counted.n_sentences,
        n_empty=counted.n_empty,
        n_too_long=counted.n_too_long,
        n_reserved=counted.n_reserved,
        n_bytes_left_out=counted.n_bytes_left_out,
        n_characters=sum(counts.values()),
        left_out=left_out,
        n_distinct_words=len(counted.words),
        n_merges=len(merged),
    )
    return model, report


def _character_counts(counted: Counted) -> dict[int, int]:
    if not counted.n_sentences:
        raise SpecError(
            "there is no sentence to learn from: "
            + (
                f"{counted.n_too_long:,} are longer than max_sentence_length, {counted.n_reserved:,} hold U+2585, "
                f"{counted.n_empty:,} are empty"
                if counted.n_too_long or counted.n_reserved
                else "the source holds no line, or only empty ones"
            ),
            "[!sentences_.empty()] ",
        )
    counts = characters(counted.words)
    if not counts:
        raise SpecError(
            "there is no text to learn from: the sentences hold nothing but spaces",
            "[(all_chars_count) > (0)] ",
        )
    return counts


def _alphabet(counts: Mapping[int, int], trainer: Spec) -> tuple[list[str], dict[str, int]]:
    """The characters that become pieces, most frequent first; and the others, with how often each occurs."""
    required = {ord(character) for character in trainer["required_chars"]} - {0}
    order = sorted({*counts, *required}, key=lambda c: (c not in required, -counts.get(c, 0), c))
    total, covered, n = sum(counts.values()), 0, 0
    coverage = _float32(trainer["character_coverage"])  # a little below the default's 0.9995
    while n < len(order) and _float32(covered / total) < coverage:
        covered += counts.get(order[n], 0)
        n += 1
    taken = sorted(order[:n], key=lambda c: (-counts.get(c, 0), c))
    left_out = {chr(c): counts[c] for c in order[n:] if c != _BOUNDARY and c in counts}
    return [chr(c) for c in taken if c != _BOUNDARY], left_out


def _float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _merged(
    counted: Counted,
    alphabet: list[str],
    classes: bytes,
    trainer: Spec,
    n_merges: int,
    update: Callable[[int], object],
) -> list[str]:
    """The pieces that are learned, in order."""
    texts = sorted(alphabet)
    learner = CodePointLearner(
        counted.words,
        [ord(character) for character in texts],
        classes,
        n_merges=n_merges,
        max_length=trainer["max_sentencepiece_length"],
        split_by_whitespace=trainer["split_by_whitespace"],
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
        allow_whitespace_only_pieces=trainer["allow_whitespace_only_pieces"],
    )
    n_base = n_told = len(texts)

    def tell(n_ids: int) -> None:
        nonlocal n_told
        update(n_ids - n_told)
        n_told = n_ids

    learner.learn(tell)
    for left, right, _ in learner.merges():
        texts.append(texts[left] + texts[right])
    last = [texts[left] + texts[right] for left, right in learner.last_pairs()]
    update(len(last))
    return texts[n_base:] + last


def _model(learned: list[str], options: CodePointOptions, vocab_size: int, *, is_exact: bool) -> CodePointModel:
    """Put the pieces that were learned into the ids that are free."""
    n_ids = len(options.metas) + len(learned)
    pieces: list[bytes] = []
    scores = array("f")
    types = bytearray()
    rank = 0
    while len(pieces) < n_ids:
        i = len(pieces)
        if i in options.metas:
            name, type_ = options.metas[i]
            pieces.append(name.encode())
            scores.append(0.0)
            types.append(type_)
        elif rank < len(learned):
            pieces.append(learned[rank].encode())
            scores.append(-float(rank))
            types.append(PieceType.NORMAL)
            rank += 1
        else:
            _check_distinct(pieces)
            beyond = min(meta for meta in options.metas if meta > i)
            raise SpecError(
                f"{options.metas[beyond][0]!r} is to have the id {beyond}, but there are only {n_ids} pieces",
                "[(model_proto->pieces_size() - 1) == (it->first)] ",
            )
    _check_distinct(pieces)
    trainer = options.trainer
    if not is_exact and trainer["hard_vocab_limit"] and n_ids != vocab_size:
        raise SpecError(
            f"vocab_size={vocab_size} is too large: the text gives {n_ids} pieces; or set hard_vocab_limit=False",
            f"Vocabulary size too high ({vocab_size}). Please set it to a value <= {n_ids}.",
        )
    if is_exact or not trainer["hard_vocab_limit"]:
        trainer = specs.make(specs.TRAINER, {**trainer.values, "vocab_size": n_ids})
    piece_bytes, piece_ends = pack_pieces(pieces)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=_little_endian(scores),
        types=bytes(types),
        trainer=trainer,
        normalizer=options.normalizer,
        denormalizer=options.denormalizer,
    )


def _check_distinct(pieces: list[bytes]) -> None:
    if len(set(pieces)) == len(pieces):
        return
    seen: set[bytes] = set()
    for piece in pieces:
        if piece in seen:
            name = piece.decode()
            raise SpecError(
                f"{name!r} is two pieces: a symbol, and another symbol or a character of required_chars",
                f"{name} is already defined",
            )
        seen.add(piece)


def _little_endian(numbers: array[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def vocabulary_text(model: CodePointModel) -> bytes:
    """The `.vocab` file that sentencepiece writes beside a model: a line for each id."""
    if not model.trainer["vocabulary_output_piece_score"]:
        return b"".join(piece + b"\n" for piece in model.pieces)
    scores = struct.unpack(f"<{model.n_pieces}f", model.scores)
    return b"".join(
        b"%s\t%s\n" % (piece, b"%g" % score) for piece, score in zip(model.pieces, scores, strict=True)
    )
