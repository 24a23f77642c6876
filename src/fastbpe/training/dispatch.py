"""`train`: text in, `Tokenizer` out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, overload

from fastbpe._utils.choices import BaseSpecial, Mode
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.corpora import ReadingOptions, Source
from fastbpe.errors import OptionError, TrainingError
from fastbpe.model import PieceType
from fastbpe.tokenizer.internals import with_roles
from fastbpe.tokenizer.own_tokens import check_roles
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import check_base_special, check_mode, mode_of
from fastbpe.training.named_sources import Parity, check_named, check_not_named, check_parity, weights_of
from fastbpe.training.options import (
    ByteKeywords,
    ByteRun,
    CodePointRun,
    Run,
    RunKeywords,
    SequenceRun,
    TrainingKeywords,
    UnigramRun,
    check_special_tokens,
)
from fastbpe.training.piece_counts import PieceCounts

if TYPE_CHECKING:
    from fastbpe.tokenizer.sequences.sequence_batches import SequenceSource
    from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

_MODES = ("byte", "codepoint", "unigram", "ids")
# Names of options in other libraries → their names here, for suggestions in errors.
_NAMES_ELSEWHERE = {
    "min_frequency": "min_count",
    "max_token_length": "max_token_bytes",
    "pat_str": "pattern",
    "split_pattern": "pattern",
    "show_progress": "progress",
}


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
    source: Source | PieceCounts,
    *,
    vocab_size: int,
    mode: Literal["unigram"],
    base: None = ...,
    **options: Unpack[UnigramRun],
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
    source: Any,
    *,
    vocab_size: int | str,
    mode: Mode | None = None,
    base: Any = None,
    base_special: BaseSpecial | None = None,
    progress: Progress = None,
    roles: Mapping[str, str] | None = None,
    parity: Parity | None = None,
    weights: Mapping[str, int] | None = None,
    **options: Unpack[TrainingKeywords],
) -> Tokenizer | SequenceTokenizer:
    """Learn a tokenizer from text, or from sequences of integers.

    The same text and options lead to the same tokenizer on any machine and with any number of threads. The order
    of the documents matters only for ties="first", for mode="unigram", and if sentences are sampled.

    Args:
        source: path, texts or counts – the text to learn from.
            A path is a file, a folder, or a pattern like "data/*.txt". A file is text, JSON lines, parquet or
            Arrow with a field "text", also compressed as .gz or .zst; its name decides, or else its first bytes.
            A folder means all such files below it that are not hidden, if they have the extension .txt, .jsonl,
            .ndjson, .jsonlines, .jl, .parquet or .arrow, and .json files of JSON lines with the field. Files are
            read as a stream.
            A text is one document: str, or bytes of UTF-8.
            A pathlib.Path is always a path, and so is a single str. In a list or tuple, strings are paths if
            every one looks like a path: a single line of fewer than 1,024 characters that ends with a slash or an
            extension of such files, or that has no spaces and is a pattern (`*`, `?`, `[`). A path that does not
            exist is then an error; pass `iter(list)` to have the strings treated as texts. In any other iterable,
            strings are texts.
            Counts are a mapping of pieces (str or bytes) to int, or `PieceCounts`, which also have a pattern and
            special tokens. Pieces are not split again by `pattern`, nor normalized by `base`. In code-point and
            unigram mode, the mapping is of sentences, and `PieceCounts` contain words (`count_pieces(mode=)`) and
            the options with which they were counted.
            With mode="ids" the source is sequences: an iterable of lists, tuples, ranges or arrays of integers, an
            array of two dimensions (each row is a sequence) or of one (a single sequence), or a mapping of
            sequences to counts.
            With parity= or weights= the source is a dict of names, such as languages, to sources of these kinds.
        vocab_size: int – number of ids of the tokenizer: 256 bytes, merges, special tokens, in that order. In
            code-point mode: special symbols, bytes (with byte_fallback=), pieces, characters. In this mode,
            vocab_size="characters" means all of these without merged pieces, but only the characters that
            character_coverage= keeps. With mode="ids": symbols, merges, special tokens.
        mode: str or None – "byte", or "codepoint" to learn as sentencepiece 0.2.3 does: the lines of a document
            are sentences, and options and their defaults are sentencepiece's. "unigram": the same for a
            unigram model, sentencepiece's default; the sentences stay in memory. None: the mode of the base or of
            the `PieceCounts`; without them "byte".
        base: Tokenizer – a tokenizer of the same mode to extend. All its ids stay, its rules (added
            tokens, normalizer, pre-tokenizers) change and cut the text, its merges are applied first, and new
            merges follow. vocab_size counts its tokens (not the gaps between ids) and the new ones; "+1000": 1,000
            more tokens than it has. special_tokens lists only the new ones. In code-point mode, its pieces and
            scores stay, and new scores are below all old ones that are above -2**24. In this mode, options
            that are not given come from the base, and options that would change its ids (control_symbols …) are
            errors.
            With mode="ids", the base is a `SequenceTokenizer`, and base_size is the same as in the base.
        base_special: str – in byte mode: ids of the base's special tokens. "keep" (the default): unchanged, new
            merges come after them; "end": merges come after the ordinary tokens, and special and added tokens get
            new ids after these. Ids of special tokens between ordinary ones (Falcon) are then gaps, which a
            tokenizer.json cannot store.
        progress: bool, function or None – True: bars and a summary on stderr; False: nothing; None: bars if stderr
            is a terminal. A function is called as progress(phase, done, total): first phase "counting" (in bytes,
            with mode="ids" in symbols; total is None if the size of the source is not known), then "learning" (in
            merges, or pieces of a unigram model). Each named source has its own phase "counting". With superwords=
            there are other phases.
        roles: dict – "bos", "eos", "unk", "sep", "pad", "cls" or "mask" to its special token; see
            `Tokenizer.roles`.
        parity: Parity – share the merges among languages: each merge is for the language whose text needs the most
            tokens. The source is a dict of languages to sources. Byte mode only, without base=, ties= and
            superwords=.
        weights: dict – name of a source → int, 1 or more, by which its counts are multiplied, as if the source
            occurred that often. Default: 1. Weights are integers: to halve a source, double the others. The source
            is a dict of names to sources. In byte and code-point mode.
        **options: options for reading the source, and options of the mode.
            For reading, in all modes but "ids":
            num_threads: int – number of threads that count, and with mode="unigram" also learn. Default:
            FASTBPE_NUM_THREADS, or one per usable core.
            max_memory_bytes: int – bytes for the counting tables of all threads together. When they are full,
            counts go to temporary files (in TMPDIR), which are added up at the end. The limit does not include the
            result, which takes 32 bytes plus the length for each distinct piece. Default: None, no limit.
            text_field: str – field of a JSON line, or column of a table, that contains the text; "doc.text" is the
            field "text" of the field "doc", unless a field has that name. Default: "text". Refused if no file has
            fields.
            separator: str – text between the documents of a text file; it is dropped. "\\n": each line is a
            document, and may end with "\\r\\n". Default: None, each file is one document. Refused if no file is
            text.
            format: str – "text", "jsonl", "parquet" or "arrow": the format of all files, whatever their names say.
            A folder then means the files below it with an extension of that format, with another extension that
            fastbpe does not know, or with none. Default: None, by name, or else by content.
            on_error: str – "raise" (the default) an error for a document of a file that cannot be read (a line or
            row without text or not UTF-8, the rest of a damaged file), or "skip" it.
            errors: str – "replace": bytes that are not UTF-8 become U+FFFD. "strict" (the default): on_error
            decides about files; in a text in memory they are an error.
            In byte mode:
            pattern: str, list of str or None – the split pattern: a name in `PATTERNS`, a regex, several regexes
            that each split the pieces of the one before, or None for no splitting. Default: "cl100k".
            special_tokens: list of str – names that are not part of merges and get the last ids. Default: none.
            ties: str – which of two equally frequent pairs to merge first: "pair" (the default), the one with
            smaller ids, as in rustbpe and bpeasy; "huggingface", as in tokenizers; "first", the first in the text,
            as in minbpe. "huggingface" cannot be combined with base=, nor "first" with superwords=. With
            superwords="boundless" or "words", ties= is an error.
            min_count: int – minimum number of occurrences of a pair that is merged. Default: 1.
            max_token_bytes: int – maximum length of a token in bytes. Default: None, no limit.
            superwords: `Superwords` – also learn tokens that span several words, after words, or on top of a base.
            "boundless": learn them together with words, as BoundlessBPE does; they are made of whole words, and
            only a .fbpe file or BoundlessBPE's .model can store them. "words": learn only the words, the first
            step of "boundless", for `count_pieces(superwords=)`. All but "words" read texts several times.
            Default: None.
            In code-point mode: options of sentencepiece's trainer and normalizer, with sentencepiece's names, such
            as character_coverage, byte_fallback, user_defined_symbols and normalization_rule_name.
            With mode="unigram" these, and seed_sentencepiece_size, seed_sentencepieces_file, shrinking_factor and
            num_sub_iterations. sentencepiece's sums depend on its option num_threads, which is 16 by default, and
            always 16 here; `fastbpe.sentencepiece` accepts other numbers.
            With mode="ids":
            base_size: int – number of symbols, the integers from 0 to base_size - 1; at most 2**20. Required
            unless base= is given.
            ties, min_count: as in byte mode, without "huggingface".
            max_token_length: int – maximum length of a token in symbols. Default: None, no limit.
            special_tokens: names of tokens that represent no symbols; they count towards vocab_size and get the
            last ids.

    Returns:
        The tokenizer; its `training_report` contains the options and statistics of the run. With mode="ids" it is
        a `SequenceTokenizer`.

    Raises:
        TrainingError (a ValueError): an option has an invalid value, or there is no text to learn from.
        OptionError (a TrainingError and a TypeError): the mode has no option with this name, and the message says
            what to pass instead; an option for reading has no effect on this source; or mode="ids" lacks
            base_size=.
        ValueError: an option for reading has an invalid value, a text in memory is not UTF-8, or with mode="ids"
            an integer is not a symbol.
        TypeError: an argument or a document has the wrong type.
        FileNotFoundError: a path does not exist.
        FormatError: a file cannot be read.
        SpecialTokenError: a special token is empty, given twice, or already a token.
        PatternError: the split pattern cannot be used.

    Warns:
        TrainingWarning: no pair is left to merge before vocab_size is reached; in code-point and unigram mode,
            lines or characters were left out because of max_sentence_length or character_coverage; superwords=
            changes how base= splits texts; or the first of several texts is the name of a file.
        FormatWarning: a file is listed twice, so it is read twice.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["aaabdaaabac"], vocab_size=259, pattern=None)
    >>> tokenizer.encode("aaabdaaabac")
    [258, 100, 258, 97, 99]
    >>> extended = fastbpe.train(["acac"], vocab_size=260, base=tokenizer)
    >>> extended.encode("acac"), extended.vocab[:259] == tokenizer.vocab
    ([259, 259], True)
    >>> fastbpe.train(["the cat", "that hat"], mode="unigram", vocab_size=10).model_type
    'Unigram'
    >>> codes = fastbpe.train([[3, 1, 3, 1, 2]], mode="ids", base_size=4, vocab_size=5)
    >>> codes.encode([2, 3, 1])
    [2, 4]
    """
    has_names = parity is not None or weights is not None
    sources = source.values() if has_names and isinstance(source, Mapping) else (source,)
    counted = [item for item in sources if isinstance(item, PieceCounts)]
    mode = mode_of(mode, base, counted[0] if counted else None)
    reading = ReadingOptions.take_from(options)
    if isinstance(names := options.get("special_tokens"), Iterator):
        options["special_tokens"] = [*names]  # several functions read them
    run = Run(vocab_size, options, reading, Reporter(progress), base_special, parity, weights)
    _check_arguments(source, base, mode, run, roles, counted)
    if options.get("superwords", ...) is None:  # the same as not given
        del options["superwords"]  # also from `run`, which has this dict
    if weights is not None:
        run = run._replace(weights=weights_of(weights, source))
    if mode == "byte" and not has_names:
        source = {None: source}
    tokenizer = _trainer(mode, options.get("superwords"))(source, base, run)
    return tokenizer if roles is None else with_roles(tokenizer, roles)


def _trainer(mode: str, superwords: object) -> Callable[[Any, Any, Run], Any]:
    """Return the function that learns; in byte mode, from a mapping of names to sources.

    It is imported here, because a program needs few of them.
    """
    if mode == "ids":
        from fastbpe.training.ids import train_ids

        return train_ids
    if mode == "unigram":
        from fastbpe.training.unigram import train_unigram

        return train_unigram
    if mode == "codepoint":
        from fastbpe.training.codepoints import train_code_points

        return train_code_points
    if superwords is None:
        from fastbpe.training.bytes import train_bytes

        return train_bytes
    if superwords in ("boundless", "words"):
        from fastbpe.training.boundless import train_boundless

        return train_boundless
    from fastbpe.training.superword_learning import train_superwords

    return train_superwords


# Checks that need more than one argument


def _check_arguments(
    source: Any,
    base: Any,
    mode: str,
    run: Run,
    roles: Mapping[str, str] | None,
    counted: Collection[PieceCounts],
) -> None:
    """Check the arguments of `train` against each other, before hours of training.

    Args:
        source, base, roles: arguments of `train`.
        mode: mode of the run, not checked yet.
        run: the other arguments of `train`.
        counted: the `PieceCounts` among the sources.

    Raises the errors of `train` that are about names of options, the mode, the base, named sources and roles.
    """
    _check_options(mode, run.options)
    superwords = run.options.get("superwords")
    if run.vocab_size == "characters" and mode != "codepoint":
        raise TrainingError(
            f'vocab_size="characters" works only with mode="codepoint", not "{mode}"; pass a number of ids'
        )
    if base is not None and mode != "unigram":
        check_mode(base, mode)
    if run.base_special is not None:
        check_base_special(run.base_special, base, mode, superwords)
    if run.has_names:
        _check_named(source, base, mode, run)
    elif mode != "ids" and not counted:  # to look at one count of PieceCounts would list all pieces
        check_not_named(source)
    if roles is None:
        return
    if mode == "ids":
        raise TrainingError(
            'roles= is for tokenizers of text, but mode="ids" learns from integers; leave roles= out'
        )
    argument = "special_tokens" if mode == "byte" else "control_symbols"
    check_roles(roles, _names_of(mode, base, run.options, counted).__contains__, f"add it with {argument}=")


def _check_named(source: Any, base: object, mode: str, run: Run) -> None:
    """Check a mapping of named sources, and that the run can share merges or weight counts."""
    parity = run.parity
    check_named(source, f"the source of a run with {'weights' if parity is None else 'parity'}=")
    if parity is not None:
        if not isinstance(parity, Parity):
            raise TypeError(f"parity must be a fastbpe.Parity, not {type(parity).__name__}")
        check_parity(parity, source, mode, base, run.options)
    if mode in ("unigram", "ids"):
        raise TrainingError(
            f"weights= cannot be used with mode={mode!r}; to weight a source, pass its items or files more "
            "than once"
        )


def _names_of(mode: str, base: Any, options: Mapping[str, Any], counted: Iterable[PieceCounts]) -> set[str]:
    """Return the names of the special tokens that the trained tokenizer will have."""
    given = {**next((counts.options for counts in counted if counts.mode == mode), {}), **options}
    names = set() if base is None else {*base.special_tokens}
    if mode == "byte":
        names.update(check_special_tokens(given.get("special_tokens", ())))
    elif base is None:
        from fastbpe.formats.sentencepiece.specs import MAX_INT32  # here, as in _check_options
        from fastbpe.training.codepoint_counts import counting_options

        metas = counting_options({**given, "vocab_size": MAX_INT32}, mode).metas.values()
        names.update(name for name, kind in metas if kind in (PieceType.UNKNOWN, PieceType.CONTROL))
    return names


def _check_options(mode: str, options: Iterable[str]) -> None:
    """Check the names of options.

    Raises:
        TrainingError: there is no such mode.
        OptionError: the mode has no such option; the message says what to pass instead.
    """
    if mode not in _MODES:
        raise TrainingError(choose_one_of("mode", mode, _MODES, '; "ids" is for integers'))
    of_bytes = {*ByteKeywords.__annotations__}
    if mode == "byte" and of_bytes.issuperset(options):
        return
    from difflib import get_close_matches  # this and the next imports are here since byte mode does not need them

    from fastbpe.formats.sentencepiece.specs import OF_UNIGRAM, WITHOUT_EFFECT
    from fastbpe.training.codepoint_options import NAMES
    from fastbpe.training.ids import SequenceOptions

    of_modes = {
        "byte": of_bytes,
        "codepoint": NAMES,
        "unigram": {*NAMES, *OF_UNIGRAM},
        "ids": {field.name for field in fields(SequenceOptions)},
    }
    of_mode = of_modes[mode]
    for name in options:
        if name in of_mode:
            continue
        if mode in ("codepoint", "unigram") and name in WITHOUT_EFFECT:
            raise OptionError(f"fastbpe's train has no option {name!r}: {WITHOUT_EFFECT[name]}")
        if others := [other for other in _MODES if name in of_modes[other]]:
            near = f"it is available only with {' or '.join(f'mode={other!r}' for other in others)}"
            if name == "special_tokens" and mode in ("codepoint", "unigram"):
                near += "; use control_symbols= or user_defined_symbols= here"
        else:
            alike = {*of_mode, *RunKeywords.__annotations__, "vocab_size", "mode", "base", "base_special", "roles"}
            matches = (
                [_NAMES_ELSEWHERE[name]] if name in _NAMES_ELSEWHERE else get_close_matches(name, sorted(alike))
            )
            listed = ", ".join(sorted(of_mode))
            near = f"did you mean {' or '.join(matches)}?" if matches else f"the options are {listed}"
        raise OptionError(f"{name}= is not an option of training in {mode} mode: {near}")
