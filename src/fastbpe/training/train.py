"""`train`: text in, `Tokenizer` out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields, replace
from inspect import signature
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._core.train.byte_learner import Learner
from fastbpe._utils.arguments import integer
from fastbpe._utils.choices import BaseSpecial, DocumentFormat, Mode, OnError, ReadErrors
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.suggestions import choose_one_of
from fastbpe._version import __version__
from fastbpe.corpus.sources import ResolvedSource, Source
from fastbpe.errors import OptionError, TrainingError, TrainingWarning
from fastbpe.model import N_BYTES
from fastbpe.tokenizer.internals import with_roles
from fastbpe.tokenizer.own_tokens import check_roles
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import (
    BaseVocabulary,
    add_pattern_of_base,
    byte_vocabulary,
    check_mode,
    mode_of,
    vocabulary_of_base,
)
from fastbpe.training.options import (
    ByteOptions,
    ByteRun,
    CodePointRun,
    ReadingOptions,
    SequenceRun,
    TrainingKeywords,
    check_special_tokens,
)
from fastbpe.training.piece_counting import count_source
from fastbpe.training.piece_counts import PieceCounts, counts_of_table, table_of

if TYPE_CHECKING:
    from fastbpe.tokenizer.sequence_batches import SequenceSource
    from fastbpe.tokenizer.sequences import SequenceTokenizer

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

# Names of options in other libraries → their names here, for suggestions in errors.
_NAMES_ELSEWHERE = {
    "min_frequency": "min_count",
    "max_token_length": "max_token_bytes",
    "pat_str": "pattern",
    "split_pattern": "pattern",
    "show_progress": "progress",
}
_META = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}  # of code-point mode, by role
_MODES = ("byte", "codepoint", "ids")
_CALLER = 4  # stacklevel of warnings from a function that one of `train` calls: the line that calls `train`


@overload
def train(
    source: SequenceSource,
    *,
    vocab_size: int | str,
    mode: Literal["ids"],
    base: SequenceTokenizer | None = ...,
    **options: Unpack[SequenceRun],
) -> SequenceTokenizer: ...
@overload
def train(
    source: Source | PieceCounts,
    *,
    vocab_size: int | str,
    mode: Literal["codepoint"],
    base: Tokenizer | None = ...,
    **options: Unpack[CodePointRun],
) -> Tokenizer: ...
@overload
def train(
    source: SequenceSource, *, vocab_size: int | str, base: SequenceTokenizer, **options: Unpack[SequenceRun]
) -> SequenceTokenizer: ...
@overload
def train(
    source: Source | PieceCounts,
    *,
    vocab_size: int | str,
    base: Tokenizer,
    **options: Unpack[CodePointRun],
) -> Tokenizer: ...
@overload
def train(
    source: Source | PieceCounts,
    *,
    vocab_size: int | str,
    mode: Literal["byte"] | None = ...,
    base: Tokenizer | None = ...,
    **options: Unpack[ByteRun],
) -> Tokenizer: ...
def train(
    source: Source | PieceCounts | SequenceSource,
    *,
    vocab_size: int | str,
    mode: Mode | None = None,
    base: Tokenizer | SequenceTokenizer | None = None,
    base_special: BaseSpecial | None = None,
    progress: Progress = None,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    text_field: str = "text",
    separator: str | None = None,
    format: DocumentFormat | None = None,
    on_error: OnError = "raise",
    errors: ReadErrors = "strict",
    roles: Mapping[str, str] | None = None,
    **options: Unpack[TrainingKeywords],
) -> Tokenizer | SequenceTokenizer:
    """Learn a tokenizer from text, or from sequences of integers.

    The same text and options give the same tokenizer on any machine, with any number of threads, and for any order
    of the documents (except with ties="first", which uses the order).

    Args:
        source: path, texts or counts – the text to learn from.
            A path is a file, a folder, or a pattern like "data/*.txt". A file is text, JSON lines, parquet or
            Arrow with a field "text", also packed as .gz or .zst; its name decides, or else its first bytes.
            A folder stands for all such files below it that are not hidden, if their names end with .txt, .jsonl,
            .ndjson, .jsonlines, .jl, .parquet or .arrow, and for .json files of lines with the field. Files are
            read as a stream: memory does not grow with their size.
            A text is one document: str, or bytes of UTF-8.
            A pathlib.Path is a path anywhere, and so is a single str. In a list or tuple, str are paths if every
            str looks like a path: a single line of fewer than 1,024 characters that ends with a suffix of
            such files or a slash, or that has no spaces and is a pattern (`*`, `?`, `[`). A path that names
            nothing is then an error; `iter(list)` makes them texts. In all other iterables, str are texts.
            Counts are a mapping of pieces (str or bytes) to int, or `PieceCounts`, which also know their pattern
            and special tokens. Pieces are not split again by `pattern`. In code-point mode the mapping
            is of sentences, and `PieceCounts` hold words (`count_pieces(mode="codepoint")`) and know with which
            options they were counted.
            With mode="ids" the source is sequences: an iterable of lists, tuples, ranges or arrays of integers, an
            array of two dimensions (each row is a sequence) or of one (a single sequence), or a mapping of
            sequences to counts.
        vocab_size: int – number of ids of the tokenizer: 256 bytes, merges, special tokens, in that order. In
            code-point mode: control symbols, pieces, characters; "characters" there: all characters, no merges.
        mode: str or None – "byte", or "codepoint" to learn as sentencepiece 0.2.3 does: the lines of a document
            are sentences, options and their defaults are sentencepiece's, and the result is a CodePointTokenizer.
            None: the mode of the base or of the `PieceCounts`; without them "byte".
        base: Tokenizer – a tokenizer of the same mode to extend. All its ids stay, its rules (added
            tokens, normalizer, pre-tokenizers) cut the text, its merges are applied first, and new merges follow.
            vocab_size counts its tokens (not the gaps between ids) and the new ones; "+1000": 1,000 more tokens
            than it has. special_tokens are only the new ones. In code-point mode its pieces and scores stay, new
            scores are below the lowest one, and options that are not given are the base's. With mode="ids" a
            `SequenceTokenizer`, whose base_size the run has, too.
        base_special: str – ids of the base's special tokens. "keep" (the default): unchanged, new merges come
            after them; "end": merges come after the ordinary tokens, and special and added tokens get new ids
            behind.
        progress: bool, function or None – True: bars and a summary on stderr; False: nothing; None: bars if stderr
            is a terminal. A function is called as progress(phase, done, total): first phase "counting" (in bytes;
            total is None if the source does not tell its size), then "learning" (in merges).
        num_threads: int – threads that count text, as for `count_pieces`.
        max_memory_bytes: int – bytes for the counting tables, as for `count_pieces`.
        text_field: str – field of a line of JSON, or column of a table, that holds the text; "doc.text" is the
            field "text" of the field "doc", unless a field has that name. Default: "text". Refused if no file has
            fields.
        separator: str – text between the documents of a text file; None: each file is one document. Refused if no
            file is text.
        format: str – "text", "jsonl", "parquet" or "arrow": the format of all files, whatever their names say. A
            folder then stands for the files whose names say that format, or none. None: by name, or else by
            content.
        on_error: str – "raise" an error for a document that cannot be read (a line or row without text or not
            UTF-8, the rest of a damaged file), or "skip" it.
        errors: str – "strict": bytes that are not UTF-8 are an error; "replace": they become U+FFFD.
        roles: dict – "bos", "eos", "unk", "sep", "pad", "cls" or "mask" to its special token; see
            `Tokenizer.roles`.
        **options: options of the mode.
            In byte mode:
            pattern: str, list of str or None – the split pattern: a name in `PATTERNS`, a regex, several regexes
            that each split the pieces of the one before, or None for no splitting. Default: "cl100k".
            special_tokens: list of str – names that take no part in merges and get the last ids. Default: none.
            ties: str – which of two equally frequent pairs to merge first: "pair" (the default), the one of
            smaller ids, as rustbpe and bpeasy; "huggingface", as tokenizers; "first", the first in the text, as
            minbpe.
            min_count: int – least number of occurrences of a pair that is merged. Default: 1.
            max_token_bytes: int – greatest length of a token in bytes. Default: None, no limit.
            In code-point mode: options of sentencepiece's trainer and normalizer, by their names there, such as
            character_coverage, byte_fallback, user_defined_symbols and normalization_rule_name.
            With mode="ids":
            base_size: int – number of symbols, the integers from 0 to base_size - 1; at most 2**20. Required, but
            for a run with base=.
            ties, min_count: as in byte mode, without "huggingface".
            max_token_length: int – greatest length of a token in symbols. Default: None, no limit.
            special_tokens: names of tokens that stand for no symbols; part of vocab_size, with the last ids.

    Returns:
        The tokenizer; its `training_report` holds the options and numbers of the run. With mode="ids" it is a
        `SequenceTokenizer`, with mode="codepoint" a `CodePointTokenizer`.

    Raises:
        TrainingError: an option has an invalid value, or there is no text to learn from.
        OptionError: the mode has no option of this name (also a TypeError); the message suggests the nearest.
        FileNotFoundError: a path does not exist.
        FormatError: a file cannot be read.
        SpecialTokenError: a special token is empty, given twice, or a token already.
        PatternError: the split pattern cannot be used.

    Warns:
        TrainingWarning: no pair is left to merge before vocab_size is reached; or, in code-point mode, lines or
            characters were left out because of max_sentence_length or character_coverage.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["aaabdaaabac"], vocab_size=259, pattern=None)
    >>> tokenizer.encode("aaabdaaabac")
    [258, 100, 258, 97, 99]
    >>> extended = fastbpe.train(["acac"], vocab_size=260, base=tokenizer)
    >>> extended.encode("acac"), extended.vocab[:259] == tokenizer.vocab
    ([259, 259], True)
    >>> codes = fastbpe.train([[3, 1, 3, 1, 2]], mode="ids", base_size=4, vocab_size=5)
    >>> codes.encode([2, 3, 1])
    [2, 4]
    """
    mode = mode_of(mode, base, source)
    _check_names(mode, options)
    if base is None and base_special is not None:
        raise TrainingError(f"base_special={base_special!r} is about the special tokens of base=; give base=")
    reading = ReadingOptions(
        num_threads=num_threads,
        max_memory_bytes=max_memory_bytes,
        text_field=text_field,
        separator=separator,
        format=format,
        on_error=on_error,
        errors=errors,
    )
    reporter = Reporter(progress)
    if base is not None:
        check_mode(base, mode)
    if mode == "ids" and roles is not None:
        raise TrainingError('roles= names tokens of text, and mode="ids" learns from integers; leave it out')
    if roles is not None:  # before hours of training
        check_roles(roles, _names_of(mode, options, cast("Tokenizer | None", base), source).__contains__)
    if mode == "ids":
        if base_special is not None:
            raise TrainingError(
                f'base_special={base_special!r}: mode="ids" takes no base with special tokens; leave it out'
            )
        of_sequences = cast("SequenceTokenizer | None", base)
        return _train_sequences(source, of_sequences, vocab_size, options, reading, reporter)
    source, base = cast("Source | PieceCounts", source), cast("Tokenizer | None", base)
    if not isinstance(vocab_size, str):
        vocab_size = integer("vocab_size", vocab_size)
    elif vocab_size.startswith("+"):
        vocab_size = _total(vocab_size, base)
    if mode == "codepoint":
        made = _train_code_points(source, base, vocab_size, options, reading, reporter)
        return made if roles is None else with_roles(made, roles)
    if not isinstance(vocab_size, int):
        raise TypeError(f"vocab_size must be an integer, not {type(vocab_size).__name__}")
    keywords: dict[str, Any] = dict(options)
    if isinstance(source, PieceCounts):
        if source.mode != "byte":
            raise TrainingError(
                'these PieceCounts were counted with mode="codepoint"; give mode="codepoint", or leave mode= out'
            )
        known = () if base is None else base.special_tokens
        new = [name for name in source.special_tokens if name not in known]
        keywords = {"pattern": source.pattern, "special_tokens": new} | keywords
    if base is None:
        byte_options = ByteOptions(vocab_size=vocab_size, **keywords)
        start = byte_vocabulary(byte_options)
        trained = _train_bytes(source, start, byte_options, reading, reporter)
        return trained if roles is None else trained._with_roles(roles)
    byte_options = ByteOptions(vocab_size=vocab_size, **add_pattern_of_base(base, keywords))
    base_special = base_special or "keep"
    start = vocabulary_of_base(base, base_special, byte_options)
    facts = {"base": base.fingerprint, "base_special": base_special}
    trained = _train_bytes(source, start, byte_options, reading, reporter, facts)
    return trained if roles is None else trained._with_roles(roles)


def _names_of(mode: str, options: Mapping[str, Any], base: Tokenizer | None, source: object) -> set[str]:
    """Return the names of the special tokens that a tokenizer will have."""
    meta = _META if mode == "codepoint" and base is None else {}
    named = [options.get(f"{role}_piece") or name for role, name in meta.items()]
    listed = [options.get(key) or () for key in ("special_tokens", "control_symbols")]
    found = [",".join(names).split(",") if isinstance(names, str) else names for names in listed]
    counted = source.special_tokens if isinstance(source, PieceCounts) else ()
    return {*named, *chain.from_iterable(found), *counted, *(() if base is None else base.special_tokens)}


def _total(vocab_size: str, base: Tokenizer | SequenceTokenizer | None) -> int:
    """Return the vocab_size that "+N" means.

    Raises TrainingError: there is no base, or N is not a number.
    """
    if not vocab_size[1:].isdecimal() or not vocab_size.isascii():
        raise TrainingError(f"vocab_size={vocab_size!r}: give a number behind the '+'")
    if base is None:
        raise TrainingError(f"vocab_size={vocab_size!r} adds tokens to a base; give base=, or a number")
    return base.vocab_size + int(vocab_size)


def _check_names(mode: str, options: Iterable[str]) -> None:
    """Check the names of options.

    Raises:
        TrainingError: there is no such mode.
        OptionError: the mode has no such option; the message suggests the nearest.
    """
    if mode not in _MODES:
        raise TrainingError(choose_one_of("mode", mode, _MODES, '; "ids" is for integers'))
    of_bytes = {field.name for field in fields(ByteOptions)}
    if mode == "byte" and of_bytes.issuperset(options):
        return
    from difflib import get_close_matches  # this and the next imports are here since byte mode does not need them

    from fastbpe.formats.sentencepiece.specs import WITHOUT_EFFECT
    from fastbpe.training.codepoint_options import NAMES
    from fastbpe.training.sequence_training import SequenceOptions

    of_modes = {
        "byte": of_bytes,
        "codepoint": NAMES,
        "ids": {field.name for field in fields(SequenceOptions)},
    }
    of_mode = of_modes[mode]
    for name in options:
        if name in of_mode:
            continue
        if mode == "codepoint" and name in WITHOUT_EFFECT:
            raise OptionError(f"{name!r} is not an option of training here: {WITHOUT_EFFECT[name]}")
        if other := next((other for other in _MODES if name in of_modes[other]), None):
            near = f"it is one of mode={other!r}"
            if name == "special_tokens" and mode == "codepoint":
                near += " (here: control_symbols, user_defined_symbols)"
        else:
            alike = {*of_mode, *signature(train).parameters} - {"source", "options"}
            matches = (
                [_NAMES_ELSEWHERE[name]] if name in _NAMES_ELSEWHERE else get_close_matches(name, sorted(alike))
            )
            near = f"did you mean {' or '.join(matches)}?" if matches else f"it has {', '.join(sorted(of_mode))}"
        raise OptionError(f"{name!r} is not an option of training in {mode} mode: {near}")


def _train_code_points(
    source: Source | PieceCounts,
    base: Tokenizer | None,
    vocab_size: int | str,
    keywords: Mapping[str, Any],
    reading: ReadingOptions,
    reporter: Reporter,
) -> Tokenizer:
    # Imported here: byte mode does not need it.
    from fastbpe.training.codepoint_train import make_options, train_counted, train_model
    from fastbpe.training.word_counting import code_point_base

    start = None if base is None else code_point_base(base)
    if start is not None and not isinstance(vocab_size, int):
        raise TrainingError(
            f"vocab_size={vocab_size!r}: with base=, give a number of ids, or '+' and how many new"
        )
    if isinstance(source, PieceCounts):
        model, report = train_counted(source, vocab_size, keywords, reading, reporter, start)
    else:
        if start is None:
            options = make_options(source, vocab_size, keywords)
        else:
            tsv = {"input_format": "tsv"} if isinstance(source, Mapping) else {}
            options = start.options(cast("int", vocab_size), {**keywords, **tsv})
        model, report = train_model(source, options, reading, reporter, start)
    for note in report.notes(model.trainer):
        warnings.warn(note, TrainingWarning, stacklevel=_CALLER - 1)
    facts = {} if start is None else {"base": start.fingerprint}
    return Tokenizer(model._replace(training={"library": __version__, **asdict(report), **facts}))


def _train_sequences(
    source: Any,
    base: SequenceTokenizer | None,
    vocab_size: int | str,
    keywords: Mapping[str, Any],
    reading: ReadingOptions,
    reporter: Reporter,
) -> SequenceTokenizer:
    # Imported here: other modes do not need it.
    from fastbpe.training.sequence_training import SequenceOptions, add_base_size, train_sequences

    replace(reading, num_threads=None).check_unused("the source is sequences of integers")
    if not isinstance(vocab_size, str):
        vocab_size = integer("vocab_size", vocab_size)
    elif vocab_size.startswith("+"):
        vocab_size = _total(vocab_size, base)
    if base is not None:
        keywords = add_base_size(base, keywords)
    elif "base_size" not in keywords:
        raise OptionError(
            'mode="ids" needs base_size=: the number of symbols, one more than the greatest integer; or base='
        )
    options = SequenceOptions(vocab_size=vocab_size, **keywords)  # type: ignore[arg-type]  # checked there
    return train_sequences(source, options, reporter, base)


def _train_bytes(
    source: Source | PieceCounts,
    start: BaseVocabulary,
    options: ByteOptions,
    reading: ReadingOptions,
    reporter: Reporter,
    facts_of_base: Mapping[str, Any] | None = None,
) -> Tokenizer:
    """Count the pieces of a source and learn merges from them.

    Args:
        source: as for `train`.
        start: the tokens to start from.
        options, reading: what to learn, and how to read the source.
        reporter: gets the phases "counting" and "learning".
        facts_of_base: facts about the base for the training report.
    """
    resolved = source if isinstance(source, (PieceCounts, Mapping)) else reading.resolve(source)
    counts = _counted(resolved, start, options, reading, reporter)
    n_files_left_out = resolved.left_out.n if isinstance(resolved, ResolvedSource) else 0
    learner = _learn(counts, start, options, reporter)
    merges = learner.merges()
    report = asdict(options) | {
        "special_tokens": list(options.special_tokens),
        "library": __version__,
        "n_bytes": counts.n_bytes,
        "n_pieces": learner.n_pieces,
        "n_distinct_pieces": len(counts),
        "n_skipped": counts.n_skipped,
        "n_files_left_out": n_files_left_out,
        "n_pruned": counts.n_pruned,
        "n_merges": len(merges),
        **(facts_of_base or {}),
    }
    reporter.summarise(
        {
            "counting": f"{counts.n_bytes:,} bytes, {learner.n_pieces:,} pieces, {len(counts):,} distinct"
            + (f", {counts.n_skipped:,} documents skipped" if counts.n_skipped else "")
            + (f", {n_files_left_out:,} files of folders left out" if n_files_left_out else "")
            + (f", {counts.n_pruned:,} pieces pruned" if counts.n_pruned else ""),
            "learning": f"{len(merges):,} merges",
        }
    )
    return Tokenizer(start.extended(merges, options, report))


def _counted(
    source: Source | ResolvedSource | PieceCounts,
    start: BaseVocabulary,
    options: ByteOptions,
    reading: ReadingOptions,
    reporter: Reporter,
) -> PieceCounts:
    """Count the pieces of a source, or check that counts were made as the options say.

    Raises:
        TrainingError: there is nothing to learn from, or other options made the counts.
    """
    special_tokens: tuple[str, ...] = ()
    if start.texts is None:
        special_tokens = check_special_tokens((*start.kept_special_tokens, *start.special_tokens_at_end))
    if isinstance(source, PieceCounts):
        if start.texts is not None:
            raise TrainingError(
                "base= has added tokens, a normalizer or pre-tokenizers, which the counts were made without: give "
                "the texts themselves"
            )
        source.check_made_by(options.pattern, special_tokens)
        reading.check_unused()
        counts = source
        with reporter.phase("counting", 0):
            pass
    else:
        counts = count_source(source, options.pattern, special_tokens, reading, reporter, start.texts)
    if start.model is not None and start.model.drops_bytes:
        counts = _without_bytes(counts, {bytes([byte]) for byte in range(N_BYTES)}.difference(start.tokens))
    if not len(counts):
        raise TrainingError(
            "there is no text to learn from: the source holds "
            + ("nothing but special tokens" if counts.n_bytes else "no document, or only empty ones")
        )
    return counts


def _without_bytes(counts: PieceCounts, left_out: Collection[bytes]) -> PieceCounts:
    """Drop the bytes that have no token in the base from pieces, as the base does when it encodes."""
    none = b"".join(left_out)
    kept = [(piece.translate(None, none), n) for piece, n in counts.items()]
    made = PieceCounts([(piece, n) for piece, n in kept if piece])
    return counts_of_table(table_of(made), None, (), n_bytes=counts.n_bytes, n_skipped=counts.n_skipped)


def _learn(counts: PieceCounts, start: BaseVocabulary, options: ByteOptions, reporter: Reporter) -> Learner:
    """Learn the merges; warn if there are fewer than the options ask for."""
    n_merges = options.vocab_size - start.n_known
    n_base = len(start.tokens)
    with reporter.phase("learning", n_merges, unit=" merges") as phase:
        learner = Learner(
            table_of(counts),
            max_ids=n_base + n_merges,
            ties_first=options.ties == "first",
            min_count=options.min_count,
            max_token_length=options.max_token_bytes,
            base_ranks=_byte_level_ranks() if options.ties == "huggingface" else None,
            base=start.vocabulary,
            n_base=n_base,
            taken=[name.encode() for name in start.names],
        )
        learner.learn(lambda n_ids: phase.update(n_ids - n_base - phase.n))
    if phase.n < n_merges:
        limits = [
            f"{name}={getattr(options, name)}"
            for name, met in zip(("min_count", "max_token_bytes"), learner.limits_met(), strict=True)
            if met
        ]
        allowed = f" that {' and '.join(limits)} {'allow' if limits[1:] else 'allows'}" if limits else ""
        way_out = f"{'change that limit, ' if limits else ''}give more text, or ask for fewer"
        warnings.warn(
            f"no pair is left to merge{allowed}: the vocabulary has {start.n_known + phase.n} entries, not the "
            f"{options.vocab_size} asked for; {way_out}",
            TrainingWarning,
            stacklevel=_CALLER,
        )
    return learner


def _byte_level_ranks() -> list[int]:
    """Return the rank of each byte in tokenizers: the order of the characters for bytes in GPT-2's files."""
    order = list(bytes_to_unicode())
    return [order.index(byte) for byte in range(N_BYTES)]
