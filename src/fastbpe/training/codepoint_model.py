"""Models of code-point and unigram training: alphabet, ids and scores of pieces, report, and stored options."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastbpe._core.train.sentence_store import characters
from fastbpe._utils import plurals
from fastbpe._utils.progress import Reporter
from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType, Spec, pack_pieces
from fastbpe.tokenizer.internals import check_tokenizers, family_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.codepoint_counts import BOUNDARY, CountedWords
from fastbpe.training.codepoint_options import CodePointOptions, float32
from fastbpe.training.sentences import UNKNOWN_CHARACTER

_N_CHARACTERS_SHOWN = 10  # rare characters that a note lists
# Options that readers of a tokenizer.json or a GGUF file set, too (byte_fallback and unk_id always): a model with
# only these stores no training. (A .model looks the same if sentencepiece got these two options and no others.)
_SAID_ELSEWHERE = {
    *("model_type", "vocab_size", "byte_fallback", "treat_whitespace_as_suffix"),
    *(f"{role}_{what}" for role in ("unk", "bos", "eos", "pad") for what in ("id", "piece")),
}


def character_counts(counted: CountedWords) -> dict[int, int]:
    """Count the occurrences of each code point.

    Raises:
        SpecError: there is no sentence with a character other than spaces.
    """
    if not counted.n_sentences:
        raise SpecError(
            "there is no sentence to learn from: "
            + (
                f"all were left out ({counted.n_too_long:,} longer than max_sentence_length=, "
                f"{counted.n_reserved:,} with U+2585, {counted.n_empty:,} empty)"
                if counted.n_too_long or counted.n_reserved
                else "the source contains no lines, or only empty ones"
            ),
            "[!sentences_.empty()] ",
        )
    counts = characters(counted.words)
    for code_point, number in counted.pruned_characters.items():
        counts[code_point] = counts.get(code_point, 0) + number
    if not counts:
        raise SpecError(
            "there is no text to learn from: after normalization, the sentences contain only spaces or nothing",
            "[(all_chars_count) > (0)] ",
        )
    return counts


def alphabet_of(counts: Mapping[int, int], trainer: Spec) -> tuple[list[str], dict[str, int]]:
    """Choose the characters that become pieces: required and then frequent ones, until they cover enough text.

    Args:
        counts: code point → count.
        trainer: options of the trainer: character_coverage, required_chars, and use_all_vocab (take all
            characters).

    Returns:
        The characters, most frequent first; and the left-out characters with their counts.

    Raises:
        SpecError: a space or U+2585 would be one of them: required_chars contains it, or (although sentences with
            U+2585 are left out) normalization writes it. As in sentencepiece, other characters may cover enough
            text before a required one is taken.
    """
    required = {ord(character) for character in trainer["required_chars"]} - {0}  # no piece contains U+0000
    order = sorted({*counts, *required}, key=lambda c: (c not in required, -counts.get(c, 0), c))
    total, covered, n = sum(counts.values()), 0, 0
    # Compare as 32-bit floats, as sentencepiece does: 0.9995 is a little less as a float.
    coverage = float("inf") if trainer["use_all_vocab"] else float32(trainer["character_coverage"])
    while n < len(order) and float32(covered / total) < coverage:
        covered += counts.get(order[n], 0)
        n += 1
    taken = sorted(order[:n], key=lambda c: (-counts.get(c, 0), c))
    if ord(" ") in taken:
        raise SpecError(
            "required_chars= contains ' ', which no piece can contain; write U+2581 instead",
            "space must not be included in normalized string.",
        )
    if UNKNOWN_CHARACTER in taken:
        cause, way_out = (
            ("required_chars= contains", "leave it out")
            if UNKNOWN_CHARACTER in required
            else ("normalization turns text into", "change the rules of normalization_rule_tsv=")
        )
        raise SpecError(
            f"{cause} U+2585, which is reserved for unknown characters; {way_out}",
            "[!required_chars_.contains(kUNKChar)] ",
        )
    left_out = {chr(c): counts[c] for c in order[n:] if c != BOUNDARY and c in counts}
    return [chr(c) for c in taken if c != BOUNDARY], left_out


def make_model(learned: Sequence[str], scores_of: Sequence[float], options: CodePointOptions) -> CodePointModel:
    """Return the model: symbols get their ids, learned pieces and characters get the free ids, in order.

    Args:
        learned: the pieces that are not symbols.
        scores_of: the score of each learned piece.
        options: options of the run.

    Raises:
        SpecError: a symbol's id is beyond the last piece, two pieces have the same text, or there are too few
            pieces.
    """
    n_ids = len(options.metas) + len(learned)
    texts = [piece.encode() for piece in learned]
    pieces: list[bytes] = []
    scores = array("f")
    types = bytearray()
    rank = 0  # index of the next learned piece
    for symbol_id, (name, type_) in sorted(options.metas.items()):
        end = rank + symbol_id - len(pieces)
        if end > len(learned):
            _check_distinct(pieces + texts[rank:])  # first: of two errors, sentencepiece reports this one
            raise SpecError(
                f"{name!r} cannot have the id {symbol_id}: there are only {n_ids} pieces; choose a lower id",
                "[(model_proto->pieces_size() - 1) == (it->first)] ",
            )
        pieces += [*texts[rank:end], name.encode()]
        scores.extend([*scores_of[rank:end], 0.0])
        types += bytes([PieceType.NORMAL]) * (end - rank) + bytes([type_])
        rank = end
    pieces += texts[rank:]
    scores.extend(scores_of[rank:])
    types += bytes([PieceType.NORMAL]) * (len(learned) - rank)
    _check_distinct(pieces)
    trainer = options.trainer
    check_number(n_ids, options)
    if options.only_characters or not trainer["hard_vocab_limit"]:
        trainer = specs.make(specs.TRAINER, {**trainer.values, "vocab_size": n_ids})
    piece_bytes, piece_ends = pack_pieces(pieces)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=scores.tobytes(),
        types=bytes(types),
        trainer=trainer,
        normalizer=options.normalizer,
        denormalizer=options.denormalizer,
    )


def check_number(n_ids: int, options: CodePointOptions) -> None:
    """Raise SpecError if there are fewer pieces than vocab_size, and hard_vocab_limit forbids that."""
    vocab_size = options.trainer["vocab_size"]
    if not options.only_characters and options.trainer["hard_vocab_limit"] and n_ids != vocab_size:
        raise SpecError(
            f"vocab_size={vocab_size} is too large: the text gives only {n_ids} pieces; lower it, or set "
            "hard_vocab_limit=False",
            f"Vocabulary size too high ({vocab_size}). Please set it to a value <= {n_ids}.",
        )


def _check_distinct(pieces: list[bytes]) -> None:
    """Raise SpecError if two ids have the same text."""
    if len(set(pieces)) == len(pieces):
        return
    seen: set[bytes] = set()
    for piece in pieces:
        if piece in seen:
            name = piece.decode()
            raise SpecError(
                f"{name!r} is two pieces: a symbol, and another symbol or a character of required_chars=; leave "
                "one of the two out",
                f"{name} is already defined",
            )
        seen.add(piece)


def vocabulary_text(model: CodePointModel) -> bytes:
    """Return the `.vocab` file that sentencepiece writes next to a model: one line per id.

    >>> options = CodePointOptions.of({"vocab_size": 4})
    >>> vocabulary_text(make_model(["a"], [-2.5], options)).decode().splitlines()[-1]
    'a\\t-2.5'
    """
    if not model.trainer["vocabulary_output_piece_score"]:
        return b"".join(piece + b"\n" for piece in model.pieces)
    scores = struct.unpack(f"={model.n_pieces}f", model.scores)
    return b"".join(
        b"%s\t%s\n" % (piece, b"%g" % score) for piece, score in zip(model.pieces, scores, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class CodePointReport:
    """Statistics of one run of code-point training.

    Attributes:
        n_bytes: int – size of the training text in bytes, without the lines that n_bytes_left_out counts.
        n_sentences: int – sentences that were learned from.
        n_empty: int – empty lines, left out.
        n_too_long: int – lines of more than max_sentence_length bytes, left out.
        n_reserved: int – lines with U+2585, which sentencepiece reserves for unknown characters, left out.
        n_bytes_left_out: int – bytes of the last two kinds of lines, without line endings.
        n_characters: int – characters of the normalized sentences.
        left_out: character → count – characters outside the alphabet, which are unknown to the model.
        n_distinct_words: int – distinct words that merges were learned from.
        n_merges: int – learned pieces of more than one character.
        n_skipped: int – documents that on_error="skip" left out because they could not be read.
        n_pruned: int – words that `PieceCounts.pruned` left out; each counts as often as it occurs.
        n_files_left_out: int – files in folders of the source that, by their names, contain no documents.
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
    n_pruned: int = 0
    n_files_left_out: int = 0

    def notes(self, trainer: Spec) -> list[str]:
        """Describe how much text was left out, and which option of the trainer would keep it.

        Args:
            trainer: options of the run.

        Returns:
            A note on lines that were left out, and one on rare characters; [] without either.
        """
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
            become = "it becomes" if len(self.left_out) == 1 else "they become"
            most = sorted(self.left_out, key=lambda c: -self.left_out[c])[:_N_CHARACTERS_SHOWN]
            notes.append(
                f"left out of the vocabulary: {plurals.counted(len(self.left_out), 'rare character')} with "
                f"{plurals.counted(n_times, 'occurrence')} ({n_times / self.n_characters:.3%}): "
                f"{', '.join(map(repr, most))}"
                + (", …" if len(self.left_out) > len(most) else "")
                + f"; {become} {'bytes' if trainer['byte_fallback'] else trainer['unk_piece']}, unless "
                f"character_coverage={trainer['character_coverage']:g} is raised"
            )
        return notes


def report_of(
    counted: CountedWords, counts: Mapping[int, int], left_out: Mapping[str, int], *, n_merges: int
) -> CodePointReport:
    """Return the report of a run.

    Args:
        counted: the words.
        counts: code point → count.
        left_out, n_merges: as in `CodePointReport`.
    """
    return CodePointReport(
        n_bytes=counted.n_bytes,
        n_sentences=counted.n_sentences,
        n_empty=counted.n_empty,
        n_too_long=counted.n_too_long,
        n_reserved=counted.n_reserved,
        n_bytes_left_out=counted.n_bytes_left_out,
        n_characters=sum(counts.values()),
        left_out=left_out,
        n_distinct_words=counted.words.n_pieces,
        n_merges=n_merges,
        n_skipped=counted.n_skipped,
        n_pruned=counted.n_pruned,
        n_files_left_out=counted.n_files_left_out,
    )


def summarise(report: CodePointReport, reporter: Reporter, learned: str) -> None:
    """Report the statistics of a run. learned: description of what was learned."""
    left_out = report.n_files_left_out
    reporter.summarise(
        {
            "counting": f"{report.n_bytes:,} bytes, {plurals.counted(report.n_sentences, 'sentence')}, "
            f"{plurals.counted(report.n_distinct_words, 'distinct word')}"
            + (f", {plurals.counted(report.n_skipped, 'document')} skipped" if report.n_skipped else "")
            + (f", {plurals.counted(left_out, 'file')} in folders not read" if left_out else "")
            + (f", {plurals.counted(report.n_pruned, 'word')} pruned" if report.n_pruned else ""),
            "learning": learned,
        }
    )


def training_options(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the options with which sentencepiece, or `train` in code-point or unigram mode, trained a tokenizer.

    Sentencepiece models and .fbpe files store these options; a tokenizer.json does not. Options that do not affect
    the model are left out, such as the paths of its input.

    Args:
        tokenizer: Tokenizer.

    Returns:
        Keyword arguments for `train`; {} if the tokenizer stores no such options.

    Raises TypeError if tokenizer is not a Tokenizer.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=10)
    >>> fastbpe.train(["ab ab abc"], **fastbpe.training_options(tokenizer)) == tokenizer
    True
    """
    check_tokenizers(tokenizer=tokenizer)
    model = family_of(tokenizer).own
    if not isinstance(model, CodePointModel):
        return {}
    given = model.trainer.values
    if not model.training and {"byte_fallback", "unk_id"} <= given.keys() <= _SAID_ELSEWHERE:
        return {}
    options = {name: value for name, value in given.items() if name not in (*specs.WITHOUT_EFFECT, "num_threads")}
    rules = model.normalizer
    options |= {name: rules[name] for name in rules.values if name not in ("name", "precompiled_charsmap")}
    name_if_unset = "user_defined" if rules["precompiled_charsmap"] else "identity"
    is_unigram = model.trainer["model_type"] == "unigram"
    for name in ("model_type",) if is_unigram else specs.OF_UNIGRAM:
        options.pop(name, None)
    return {
        "mode": "unigram" if is_unigram else "codepoint",
        "vocab_size": model.trainer["vocab_size"],
        "normalization_rule_name": rules["name"] or name_if_unset,
        **options,
    }
