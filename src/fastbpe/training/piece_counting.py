"""Counting of the pieces of a source: `count_pieces`, the first half of `train`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._utils.choices import TextMode
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.corpora import Corpus, ReadingOptions, Source
from fastbpe.errors import OptionError, TrainingError
from fastbpe.patterns import PatternLike, resolve_pattern
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import add_pattern_of_base, is_plain, mode_of
from fastbpe.training.document_counting import BaseTexts, count_documents, texts_of_pattern
from fastbpe.training.options import CountingKeywords, check_special_tokens
from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.superword_options import Superwords

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_PATTERN = "cl100k"
_MODES = ("byte", "codepoint", "unigram")


def count_pieces(
    source: Source,
    *,
    mode: TextMode | None = None,
    pattern: PatternLike = DEFAULT_PATTERN,
    special_tokens: Iterable[str] = (),
    base: Tokenizer | None = None,
    superwords: Tokenizer | Superwords | None = None,
    neighbours: PieceCounts | Literal["count"] | None = None,
    progress: Progress = None,
    **options: Unpack[CountingKeywords],
) -> PieceCounts:
    """Count the pieces of a source: the first half of `train`.

    The result is exact and the same for any number of threads. Files are streamed.
    In all modes, the counts of parts can be added up to the counts of the whole.

    Args:
        source: path, texts or counts, as for `train`. A mapping of pieces (in code-point and unigram mode: of
            sentences) to counts becomes `PieceCounts`.
        mode: str or None – "byte"; "codepoint": normalize sentences and count their words, as `train` does in
            this mode; "unigram": the same for unigram models, whose words end only at white space. None: the mode
            of the base, or "byte" without a base.
        pattern: str, list of str or None – the split pattern, as for `train`.
            Byte mode only.
        special_tokens: list of str – names that separate stretches of text, as for `train`; they are not counted.
            Byte mode only.
        base: Tokenizer or None – count for `train(base=)`. In code-point mode, counting uses the base's
            normalizer, options and symbols; in byte mode, it uses the base's pattern and special tokens, as
            `train` does.
        superwords: Tokenizer – a tokenizer of words, which `train(superwords="words")` made. Count runs instead of
            pieces: two or more adjacent pieces that are each a single token with a letter.
            `train(runs, superwords="boundless", base=words)` learns superwords from them. The pattern and special
            tokens of this tokenizer cut the text. `Superwords` – count runs of the base's tokens: the base's ids
            for each piece that the pattern of `Superwords` cuts. `train(runs, base=…, superwords=…)` learns
            superwords from them on top of the base. None: count pieces. Byte mode only.
        neighbours: "count" – with superwords=Superwords(…): count pairs of neighbouring tokens, not runs.
            `PieceCounts`: the sum of such counts, without rare ones (`pruned`) – count runs, cut between
            neighbours that these counts lack. Cut runs need far less memory. `train` learns the same superwords
            from the sum of these runs as from whole ones, or raises an error if too many neighbours were left out.
            None: runs are whole.
        progress: bool, function or None – as for `train`; the one phase is "counting".
        **options: in all modes, the options of `train` for reading the source: num_threads, max_memory_bytes,
            text_field, separator, format, on_error ("skip" counts the documents in `PieceCounts.n_skipped`) and
            errors.
            In code-point and unigram mode, also the options of `train` that decide how text becomes words: options
            of the normalizer (`normalization_rule_name`, `add_dummy_prefix` …), `split_by_…`, `split_digits`,
            `treat_whitespace_as_suffix`, `allow_whitespace_only_pieces`, `pretokenization_delimiter`,
            `input_format`, `max_sentence_length`, and the names of symbols (`user_defined_symbols`,
            `byte_fallback` …). `train` later takes them from the counts. Pass the other options, such as
            `character_coverage`, to `train`. `input_sentence_size` is refused: a sample of the whole cannot be
            drawn from parts. In unigram mode `split_by_whitespace=False`, `treat_whitespace_as_suffix=True` and
            `add_dummy_prefix=False` are refused: the model then depends on the order of the sentences.

    Returns:
        The distinct pieces with their counts.

    Raises:
        FileNotFoundError: a path does not exist.
        FormatError: a file cannot be read; the message contains the line or offset.
        ValueError: a document contains bytes that are not UTF-8 (the message contains the document and offset), or
            an option has an invalid value.
        TypeError: an argument has the wrong type.
        TrainingError: the source or the mode cannot be counted, or arguments cannot be combined.
        OptionError: there is no such option in this mode.
        OSError: the temporary files cannot be written.

    >>> import fastbpe
    >>> fastbpe.count_pieces(["low lower low"], pattern=r" ?[a-z]+")[b" low"]
    1
    >>> texts = ["the end of a day", "the end of b"]
    >>> options = {"base": fastbpe.train(texts, vocab_size=262), "superwords": fastbpe.Superwords()}
    >>> neighbours = fastbpe.count_pieces(texts, neighbours="count", **options)
    >>> len(fastbpe.count_pieces(texts, **options))
    2
    >>> len(fastbpe.count_pieces(texts, neighbours=neighbours.pruned(2), **options))
    1
    """
    mode = mode_of(mode, base)
    if mode == "ids":
        raise TrainingError(
            "mode='ids': sequences of integers are not counted; train on them directly, with train"
        )
    if mode not in _MODES:
        raise TrainingError(choose_one_of("mode", mode, _MODES))
    reading = ReadingOptions.take_from(options)
    if not isinstance(superwords, (Tokenizer, Superwords, type(None))):
        raise TypeError(f"superwords must be a Superwords or a Tokenizer, not {type(superwords).__name__}")
    _check_neighbours(neighbours, superwords)
    has_pattern = pattern != DEFAULT_PATTERN
    if mode != "byte":
        from fastbpe.training.codepoint_counting import count_words_of  # imported here: byte mode does not need it

        if has_pattern or special_tokens:
            name = "special_tokens" if special_tokens else "pattern"
            others = "; use control_symbols= or user_defined_symbols= here" if special_tokens else ""
            raise OptionError(f"{name}= is available only with mode='byte'{others}")
        if superwords is not None:
            raise OptionError("superwords= is available only with mode='byte'")
        return count_words_of(source, mode, base, options, reading, Reporter(progress))[0]
    if options:
        raise OptionError(f"{next(iter(options))}= is not an option of count_pieces with mode='byte'")
    special = check_special_tokens(special_tokens)
    if superwords is not None:
        if isinstance(superwords, Superwords):
            from fastbpe.training.runs import count_token_runs  # imported here, as below

            if base is None or special or has_pattern:
                raise TrainingError(
                    "superwords=Superwords(…) counts runs of the tokens of base=, and has its own "
                    "split pattern: pass base=, and leave pattern= and special_tokens= out"
                )
            return count_token_runs(source, base, superwords, neighbours, reading, Reporter(progress))
        from fastbpe.training.runs import count_runs  # imported here: few programs need it

        if base is not None or special or has_pattern:
            argument = "base" if base is not None else "special_tokens" if special else "pattern"
            raise TrainingError(f"the tokenizer in superwords= decides how text is split: leave {argument}= out")
        return count_runs(source, superwords, reading, Reporter(progress))
    if base is not None:
        pattern = add_pattern_of_base(base, {"pattern": pattern} if has_pattern else {})["pattern"]
        if not is_plain(base):
            raise TrainingError(
                "base= has added tokens, a normalizer or pre-tokenizers that counts cannot store: pass the texts "
                "to train(base=) itself"
            )
        special = (*base.special_tokens, *(name for name in special if name not in base.special_tokens))
    return count_source(source, pattern, special, reading, Reporter(progress))


def _check_neighbours(neighbours: object, superwords: object) -> None:
    """Raise TypeError if `neighbours` has a wrong type, and TrainingError if it has no use."""
    if not isinstance(neighbours, PieceCounts) and neighbours not in (None, "count"):
        raise TypeError(
            f"neighbours must be 'count', the PieceCounts of neighbours, or None, not {neighbours!r:.60}"
        )
    if neighbours is not None and not isinstance(superwords, Superwords):
        raise TrainingError(
            "neighbours= needs superwords=Superwords(…) and base=, because neighbours are tokens of the base; "
            "pass both, or leave neighbours= out"
        )


def count_source(
    source: Source | Corpus,
    pattern: PatternLike,
    special_tokens: tuple[str, ...],
    reading: ReadingOptions,
    reporter: Reporter,
    of_base: BaseTexts | None = None,
) -> PieceCounts:
    """Count the pieces of a source. Requires: the options were checked.

    Args:
        source: as for `count_pieces`.
        pattern: the split pattern: a name, a regex or a list of regexes.
        special_tokens: names that separate stretches of text.
        reading: how to read and count.
        reporter: gets the phase "counting".
        of_base: functions with which the base turns documents into pieces; None: only pattern and special tokens.
            The pieces of a mapping are taken as they are.
    """
    if isinstance(source, PieceCounts):
        raise TrainingError("the source is counted already, so there is nothing to count; pass it to train")
    if isinstance(source, Mapping):
        reading.check_unused()
        with reporter.phase("counting", 0):  # every call reports the phase, even without work
            return PieceCounts(source, pattern=pattern, special_tokens=special_tokens)
    resolved = resolve_pattern(pattern)[1]
    if of_base is None:
        of_base = texts_of_pattern(resolved, special_tokens)
    corpus = source if isinstance(source, Corpus) else Corpus(source, reading)
    return count_documents(corpus, of_base, reporter, "counting", PieceCounter, resolved, special_tokens)
