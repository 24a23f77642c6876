"""train(): a source of text in, a Tokenizer out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from inspect import signature
from typing import Any

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._utils.progress import Phase, Progress, Reporter
from fastbpe._version import __version__
from fastbpe.corpus.sources import Source
from fastbpe.errors import OptionError, TrainingError, TrainingWarning
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import Beginning, from_base, from_bytes, options_of_base
from fastbpe.training.options import N_BYTES, ByteConfig
from fastbpe.training.piece_counts import PieceCounts, Reading, counted

# Options that others call otherwise.
_NAMES_ELSEWHERE = {
    "min_frequency": "min_count",
    "max_token_length": "max_token_bytes",
    "pat_str": "pattern",
    "split_pattern": "pattern",
    "show_progress": "progress",
}


def train(
    source: Source | PieceCounts,
    *,
    vocab_size: int | str,
    mode: str = "byte",
    base: Tokenizer | None = None,
    base_special: str | None = None,
    progress: Progress = None,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    text_field: str = "text",
    separator: str | None = None,
    on_error: str = "raise",
    errors: str = "strict",
    **options: Any,
) -> Tokenizer:
    """Learn a tokenizer from text.

    Deterministic: the same text and options give the same tokenizer on any machine and in any order of the
    documents (but with ties="first", which asks for the order).

    Args:
        source: paths, texts, or counts.
            A path is a file (.txt, .jsonl or .parquet with a field "text"; also .gz or .zst), a folder, or a
            pattern like "data/*.txt". Files are read as a stream: memory does not grow with them. A text is a
            document: str, or bytes of UTF-8.
            A pathlib.Path is a path wherever it stands; a str alone is a path. In a list or tuple, str are paths
            if every one of them looks like one: a single line of fewer than 1,024 characters that ends with a
            suffix of such files or a slash, or that has no spaces and is a pattern (`*`, `?`, `[`). One that names
            nothing is then an error; `iter(list)` says that they are texts. In all other lists, and in any other
            iterable, a str is a text.
            A mapping of pieces (str or bytes) to how often they occur is learned from as it is, whatever `pattern`
            would make of the pieces; in code-point mode, of sentences. `PieceCounts` also say by themselves which
            pattern and special tokens made them.
        vocab_size: the ids to end with: 256 bytes, merges, special tokens, in that order. In code-point mode:
            control symbols, pieces, characters; "characters" there asks for the characters and no merge.
        mode: "byte"; or "codepoint", to learn what sentencepiece 0.2.3 learns: the lines of a document are the
            sentences, options and their defaults are sentencepiece's, and the result is a CodePointTokenizer.
        base: a tokenizer to extend. Every id that it has stays what it is, text is cut into pieces by its pattern
            and into tokens by its merges, and more merges are learned after them. vocab_size counts its tokens
            too; special_tokens are those to add.
        base_special: where the special tokens of the base go. "keep" (the default): they keep their ids, and
            merges follow; "end": merges follow the ordinary tokens, and the special tokens get new ids behind.
        progress: bars and a summary on stderr: True, False, or None for only where stderr is a terminal. Or a
            function that is called as progress(phase, done, total): "counting" (done: bytes; total: None where
            the source does not say), then "learning" (merges).
        num_threads, max_memory_bytes, text_field, separator, on_error, errors: how the source is read and counted;
            see `count_pieces`.
        **options: see `ByteConfig`: pattern, special_tokens, ties, min_count, max_token_bytes. In code-point
            mode those of sentencepiece's trainer and normalizer by their names: character_coverage,
            byte_fallback, user_defined_symbols, normalization_rule_name, ...

    Raises:
        TrainingError: an option that cannot be met, or no text to learn from.
        OptionError: an option that there is not (also a TypeError); the message names the nearest.
        FileNotFoundError: a path that names nothing.
        SpecialTokenError: a special token that no text could hold, or that is a token already.

    Warns:
        TrainingWarning: no pair is left before vocab_size is reached; or, in code-point mode, lines or characters
            are left out, by max_sentence_length or character_coverage.

    >>> tokenizer = train(["aaabdaaabac"], vocab_size=259, pattern=None)
    >>> tokenizer.encode("aaabdaaabac")
    [258, 100, 258, 97, 99]
    >>> extended = train(["acac"], vocab_size=260, base=tokenizer)
    >>> extended.encode("acac"), extended.vocab[:259] == tokenizer.vocab
    ([259, 259], True)
    """
    _check_options(mode, options)
    if base is None and base_special is not None:
        raise TrainingError(
            f"base_special={base_special!r} says what becomes of the special tokens of base=; give one"
        )
    if mode == "codepoint":
        return _train_code_points(
            source,
            base,
            vocab_size=vocab_size,
            progress=progress,
            num_threads=num_threads,
            max_memory_bytes=max_memory_bytes,
            text_field=text_field,
            separator=separator,
            on_error=on_error,
            errors=errors,
            **options,
        )
    if not isinstance(vocab_size, int):
        raise TypeError(f"vocab_size must be an integer, not {type(vocab_size).__name__}")
    if isinstance(source, PieceCounts):
        known = () if base is None else base.special_tokens
        told = {"pattern": source.pattern, "special_tokens": [t for t in source.special_tokens if t not in known]}
        options = told | options
    if base is None:
        config = ByteConfig(vocab_size=vocab_size, **options)
        beginning = from_bytes(config)
    else:
        config = ByteConfig(vocab_size=vocab_size, **options_of_base(base, options))
        base_special = base_special or "keep"
        beginning = from_base(base, base_special, config)
    reading = Reading(
        num_threads=num_threads,
        max_memory_bytes=max_memory_bytes,
        text_field=text_field,
        separator=separator,
        on_error=on_error,
        errors=errors,
    )
    reporter = Reporter(progress)
    cutting = replace(config, special_tokens=(*beginning.special_tokens, *beginning.last))
    counts = _counted(source, cutting, reporter, reading)
    learner = _learn(counts._table, beginning, config, reporter)
    merges = learner.merges()
    report = asdict(config) | {
        "special_tokens": list(config.special_tokens),
        "library": __version__,
        "n_bytes": counts.n_bytes,
        "n_pieces": learner.n_pieces,
        "n_distinct_pieces": len(counts),
        "n_skipped": counts.n_skipped,
        "n_pruned": counts.n_pruned,
        "n_merges": len(merges),
    }
    if base is not None:
        report |= {"base": base.fingerprint, "base_special": base_special}
    reporter.summarise(
        {
            "counting": f"{counts.n_bytes:,} bytes, {learner.n_pieces:,} pieces, {len(counts):,} distinct"
            + (f", {counts.n_skipped:,} documents skipped" if counts.n_skipped else "")
            + (f", {counts.n_pruned:,} pieces pruned" if counts.n_pruned else ""),
            "learning": f"{len(merges):,} merges",
        }
    )
    return Tokenizer(beginning.extended(merges, config, report))


def _check_options(mode: str, options: Iterable[str]) -> None:
    """Raise OptionError for an option that this mode of training does not have, with the nearest that it has."""
    if mode not in ("byte", "codepoint"):
        raise TrainingError(f'mode={mode!r}: choose "byte" or "codepoint"')
    of_bytes = {field.name for field in fields(ByteConfig)}
    if mode == "byte" and of_bytes.issuperset(options):
        return
    from difflib import get_close_matches  # here, with the next: what byte mode does not need

    from fastbpe.training.codepoint_options import NAMES, WITHOUT_EFFECT

    of_mode, of_other = (of_bytes, NAMES) if mode == "byte" else (NAMES, of_bytes)
    for name in options:
        if name in of_mode:
            continue
        if mode == "codepoint" and name in WITHOUT_EFFECT:
            raise OptionError(f"{name!r} is no option of training here: {WITHOUT_EFFECT[name]}")
        if name in of_other:
            near = f"it is one of mode={'codepoint' if mode == 'byte' else 'byte'!r}"
            near += " (here: control_symbols, user_defined_symbols)" if name == "special_tokens" else ""
        else:
            alike = {*of_mode, *signature(train).parameters} - {"source", "options"}
            matches = (
                [_NAMES_ELSEWHERE[name]] if name in _NAMES_ELSEWHERE else get_close_matches(name, sorted(alike))
            )
            near = f"did you mean {' or '.join(matches)}?" if matches else f"it has {', '.join(sorted(of_mode))}"
        raise OptionError(f"{name!r} is no option of training in {mode} mode: {near}")


def _train_code_points(source: Source | PieceCounts, base: Tokenizer | None, **options: Any) -> Tokenizer:
    # here: what byte mode does not need
    from fastbpe.tokenizer.codepoint import CodePointTokenizer
    from fastbpe.training.codepoint_train import train_model

    if base is not None:
        raise TrainingError(
            'base= with mode="codepoint": only mode="byte" learns on after a tokenizer; leave base= out and '
            "train on the old texts and the new ones, or add tokens to the old tokenizer with with_special_tokens"
        )
    if isinstance(source, PieceCounts):
        raise TrainingError('PieceCounts hold what mode="byte" learns from; give the text')
    model, report = train_model(source, **options)
    for note in report.notes(model.trainer):
        warnings.warn(note, TrainingWarning, stacklevel=3)
    return CodePointTokenizer(replace(model, training={"library": __version__, **asdict(report)}))


def _counted(
    source: Source | PieceCounts, config: ByteConfig, reporter: Reporter, reading: Reading
) -> PieceCounts:
    """The pieces of a source, or those that were counted before, if that was done as config says."""
    if isinstance(source, PieceCounts):
        source.check_made_by(config.pattern, config.special_tokens)
        reading.check_unused()
        counts = source
        with reporter.phase("counting", 0):
            pass
    else:
        counts = counted(source, config.pattern, config.special_tokens, reading, reporter)
    if not len(counts):
        raise TrainingError(
            "there is no text to learn from: the source holds "
            + ("nothing but special tokens" if counts.n_bytes else "no document, or only empty ones")
        )
    return counts


def _learn(counter: PieceCounter, beginning: Beginning, config: ByteConfig, reporter: Reporter) -> Learner:
    """What has learned the merges."""
    n_merges = config.vocab_size - beginning.n_known
    n_base = len(beginning.tokens)
    with _bar("learning", n_merges, reporter, unit=" merges") as bar:
        learner = Learner(
            counter,
            max_ids=n_base + n_merges,
            ties_first=config.ties == "first",
            min_count=config.min_count,
            max_token_bytes=config.max_token_bytes,
            base_ranks=_byte_level_ranks() if config.ties == "huggingface" else None,
            base=beginning.vocabulary,
            n_base=n_base,
        )
        learner.learn(lambda n_ids: bar.update(n_ids - n_base - bar.n))
    if bar.n < n_merges:
        limits = [
            f"{name}={getattr(config, name)}"
            for name, met in zip(("min_count", "max_token_bytes"), learner.limits_met(), strict=True)
            if met
        ]
        allowed = f" that {' and '.join(limits)} {'allow' if limits[1:] else 'allows'}" if limits else ""
        way_out = f"{'change that limit, ' if limits else ''}give more text, or ask for fewer"
        warnings.warn(
            f"no pair is left to merge{allowed}: the vocabulary has {beginning.n_known + bar.n} entries, not the "
            f"{config.vocab_size} asked for; {way_out}",
            TrainingWarning,
            stacklevel=3,
        )
    return learner


def _bar(what: str, total: int | None, reporter: Reporter, **options: Any) -> Phase:
    return reporter.phase(what, total, **options)


def _byte_level_ranks() -> list[int]:
    """The rank of each byte as tokenizers orders them: by the characters that stand for them in GPT-2's files."""
    order = list(bytes_to_unicode())
    return [order.index(byte) for byte in range(N_BYTES)]
