"""Options of one training run, checked when their object is created.

`train` creates a `Run`, and the mode's module passes two objects on: `ByteOptions` (or `CodePointOptions`) defines
what to learn, `ReadingOptions` how to read and count the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from fastbpe._utils.arguments import decimal, integer
from fastbpe._utils.choices import BaseSpecial, DocumentFormat, OnError, ReadErrors, Ties
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.errors import SpecialTokenError, TrainingError
from fastbpe.patterns import PatternLike, resolve_pattern
from fastbpe.tokenizer.special_token_rules import check_names
from fastbpe.training.superword_options import Superwords

if TYPE_CHECKING:
    from fastbpe.training.named_sources import Parity

MAX_VOCAB_SIZE = 1 << 24  # ids; the learner has arrays with an entry for each
TIES = ("pair", "huggingface", "first")
BASE_SPECIAL = ("keep", "end")


class ByteKeywords(TypedDict, total=False):
    """Keyword arguments of `train` for mode="byte", for type checkers; see `ByteOptions`."""

    pattern: PatternLike
    special_tokens: Iterable[str]
    ties: Ties
    min_count: int
    max_token_bytes: int | None
    superwords: Superwords | Literal["boundless", "words"] | None


class CodePointKeywords(TypedDict, total=False):
    """Keyword arguments of `train` for mode="codepoint" and mode="unigram", for type checkers.

    Names, defaults and meanings are those of sentencepiece's trainer and normalizer. Each value may also be text,
    as on sentencepiece's command line.
    """

    add_dummy_prefix: bool | str
    allow_whitespace_only_pieces: bool | str
    auto_character_coverage: bool | str
    bos_id: int | str
    bos_piece: str
    byte_fallback: bool | str
    character_coverage: float | str
    control_symbols: Sequence[str]
    denormalization_rule_tsv: str
    eos_id: int | str
    eos_piece: str
    escape_whitespaces: bool | str
    hard_vocab_limit: bool | str
    input_format: str
    input_sentence_size: int | str
    max_sentence_length: int | str
    max_sentencepiece_length: int | str
    model_type: str
    name: str
    normalization_rule_name: str
    normalization_rule_tsv: str
    pad_id: int | str
    pad_piece: str
    pretokenization_delimiter: str
    remove_extra_whitespaces: bool | str
    required_chars: str
    shuffle_input_sentence: bool | str
    split_by_number: bool | str
    split_by_unicode_script: bool | str
    split_by_whitespace: bool | str
    split_digits: bool | str
    treat_whitespace_as_suffix: bool | str
    unk_id: int | str
    unk_piece: str
    unk_surface: str
    use_all_vocab: bool | str
    user_defined_symbols: Sequence[str]


class UnigramKeywords(CodePointKeywords, total=False):
    """Keyword arguments of `train` for mode="unigram", for type checkers, with sentencepiece's names."""

    num_sub_iterations: int | str
    seed_sentencepiece_size: int | str
    seed_sentencepieces_file: str
    shrinking_factor: float | str


class SequenceKeywords(TypedDict, total=False):
    """Keyword arguments of `train` that only mode="ids" has, for type checkers; see `SequenceOptions`."""

    base_size: int
    max_token_length: int | None


class ReadingKeywords(TypedDict, total=False):
    """Keyword arguments of `train` and `count_pieces` for reading a source; see `ReadingOptions`."""

    num_threads: int | None
    max_memory_bytes: int | None
    text_field: str
    separator: str | None
    format: DocumentFormat | None
    on_error: OnError
    errors: ReadErrors


class CountingKeywords(CodePointKeywords, ReadingKeywords, total=False):
    """Keyword arguments of `count_pieces` beyond those in its signature, for type checkers."""


class TrainingKeywords(ByteKeywords, UnigramKeywords, SequenceKeywords, ReadingKeywords, total=False):
    """Keyword arguments of `train` beyond those in its signature, for type checkers.

    At run time `train` checks the names itself and raises OptionError.
    """


class RunKeywords(ReadingKeywords, total=False):
    """Keyword arguments of `train` for all modes but "ids", for type checkers."""

    progress: Progress


class ByteRun(ByteKeywords, RunKeywords, total=False):
    """Keyword arguments of `train` with mode="byte", for type checkers."""

    base_special: BaseSpecial | None
    roles: Mapping[str, str] | None
    parity: Parity | None
    weights: Mapping[str, int] | None


class CodePointRun(CodePointKeywords, RunKeywords, total=False):
    """Keyword arguments of `train` with mode="codepoint", for type checkers."""

    roles: Mapping[str, str] | None
    weights: Mapping[str, int] | None


class UnigramRun(UnigramKeywords, RunKeywords, total=False):
    """Keyword arguments of `train` with mode="unigram", for type checkers."""

    roles: Mapping[str, str] | None


class SequenceRun(SequenceKeywords, total=False):
    """Keyword arguments of `train` with mode="ids", for type checkers."""

    ties: Literal["pair", "first"]
    min_count: int
    special_tokens: Iterable[str]
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class ByteOptions:
    """Options of byte-mode training, checked; the training report lists each.

    Attributes:
        vocab_size: int – number of ids of the tokenizer: 256 bytes, merges, special tokens. At most
            `MAX_VOCAB_SIZE`.
        pattern: str, list of str or None – the split pattern: a name in `PATTERNS`, a regex, or several regexes
            (each splits the pieces of the previous one). None: do not split.
        special_tokens: tuple of str – names that separate stretches of text before it is counted. They are not
            part of merges, and get the last ids.
        ties: str – which of two equally frequent pairs to merge first. "pair": the pair with smaller ids, as in
            rustbpe and bpeasy; "huggingface": as in tokenizers' BpeTrainer; "first": the pair that appears first
            in the text, as in minbpe.
        min_count: int – minimum number of occurrences of a pair that is merged; 1 or more.
        max_token_bytes: int or None – maximum length of a token in bytes; None: no limit.

    Raises:
        TrainingError: a value is out of range.
        TypeError: a value has the wrong type.
        PatternError: the pattern is a misspelled name.
        SpecialTokenError: a special token is empty, given twice, or a single byte.
    """

    vocab_size: int
    pattern: PatternLike = "cl100k"
    special_tokens: tuple[str, ...] = ()
    ties: Ties = "pair"
    min_count: int = 1
    max_token_bytes: int | None = None

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("pattern", resolve_pattern(self.pattern)[1])
        put("special_tokens", check_special_tokens(self.special_tokens))
        for name in ("vocab_size", "min_count", "max_token_bytes"):
            if name != "max_token_bytes" or self.max_token_bytes is not None:
                put(name, integer(name, getattr(self, name)))
        if self.vocab_size > MAX_VOCAB_SIZE:
            raise TrainingError(f"vocab_size={self.vocab_size} is too large: the limit is {MAX_VOCAB_SIZE}")
        if self.min_count < 1:
            raise TrainingError(f"min_count={self.min_count} is too small: a pair must occur at least once")
        if self.ties not in TIES:
            raise TrainingError(choose_one_of("ties", self.ties, TIES))
        if self.max_token_bytes is not None and self.max_token_bytes < 1:
            raise TrainingError(f"max_token_bytes={self.max_token_bytes}: must be at least 1, or None")


def check_special_tokens(names: object) -> tuple[str, ...]:
    """Check the special tokens of a training run.

    Args:
        names: an iterable of str.

    Returns:
        The names as a tuple.

    Raises:
        TrainingError: names is one str.
        TypeError: names is bytes, a mapping, or not iterable.
        SpecialTokenError: a name is not a str, is empty, has a surrogate, is given twice, or is a single byte,
            which is an ordinary token.
    """
    if isinstance(names, str):
        raise TrainingError(f"special_tokens={short_repr(names)}: pass a list of names")
    if isinstance(names, (bytes, Mapping)) or not isinstance(names, Iterable):
        raise TypeError(f"special_tokens must be a list of names, not {type(names).__name__}")
    checked = tuple(names)
    check_names(checked)
    for name in checked:
        if len(name.encode()) == 1:
            raise SpecialTokenError.is_ordinary(name, ord(name))
    return checked


class Run(NamedTuple):
    """Arguments of one call of `train`, in any mode, without the source, the mode, the base and the roles.

    vocab_size: number of ids of the tokenizer, or a str that the mode accepts.
    options: keyword arguments of the mode.
    reading: how to read and count the source.
    reporter: gets the phases "counting" and "learning".
    base_special: "keep" or "end", as for `train`; None: not given.
    parity: rule for sharing the merges among named sources; None: no sharing.
    weights: factor of the counts of each named source; None: 1 for all.
    """

    vocab_size: int | str
    options: Mapping[str, Any]
    reading: ReadingOptions
    reporter: Reporter
    base_special: BaseSpecial | None = None
    parity: Parity | None = None
    weights: Mapping[str, int] | None = None

    @property
    def has_names(self) -> bool:
        """Tell whether the source is a mapping of names to sources."""
        return self.parity is not None or self.weights is not None

    def weight(self, name: Any) -> int:
        """Return the factor by which the counts of a source are multiplied. name: None without weights."""
        return 1 if self.weights is None else self.weights[name]


def whole_number_of_ids(vocab_size: int | str, n_of_base: int | None) -> int:
    """Return vocab_size as an integer, as `number_of_ids` does. Raises TypeError for any other str."""
    n_ids = number_of_ids(vocab_size, n_of_base)
    if not isinstance(n_ids, int):
        sums = "" if n_of_base is None else ", or '+N' for N more than base= has"
        raise TypeError(f"vocab_size={short_repr(n_ids)}: must be an integer{sums}")
    return n_ids


def number_of_ids(vocab_size: int | str, n_of_base: int | None) -> int | str:
    """Return vocab_size as an integer: "+N" means the base's size plus N. Any other str is returned unchanged.

    Raises:
        TrainingError: "+N" without a base, or N is not a number.
        TypeError: vocab_size is not an integer or a text.
    """
    if not isinstance(vocab_size, str):
        return integer("vocab_size", vocab_size)
    if not vocab_size.startswith("+"):
        return vocab_size
    if not vocab_size[1:].isdecimal() or not vocab_size.isascii():
        raise TrainingError(f"vocab_size={short_repr(vocab_size)}: put a number after the '+'")
    if n_of_base is None:
        raise TrainingError(
            f"vocab_size={short_repr(vocab_size)} needs a base to add to; pass base=, or a number without '+'"
        )
    return n_of_base + decimal(vocab_size[1:])


def too_few_merges(options: Any, length: str, met: Iterable[bool], n_ids: int, source: str) -> str:
    """Return the text of the warning that fewer merges were learned than requested.

    Args:
        options: the options, with vocab_size, min_count and a maximum length of tokens.
        length: name of the option for that length.
        met: whether min_count kept the learner from a merge, and whether the maximum length did.
        n_ids: number of entries of the vocabulary.
        source: word for the training data, such as "text".
    """
    values = {
        name: getattr(options, name) for name, is_met in zip(("min_count", length), met, strict=True) if is_met
    }
    return too_few_within(values, n_ids, options.vocab_size, source)


def limits_of(options: ByteOptions) -> dict[str, int]:
    """Return name → value of the limits that may keep a learner from a merge."""
    limits = {"min_count": options.min_count} if options.min_count > 1 else {}
    return limits if options.max_token_bytes is None else {**limits, "max_token_bytes": options.max_token_bytes}


def too_few_within(values: Mapping[str, object], n_ids: int, vocab_size: int, source: str) -> str:
    """Return the text of the warning that limits left fewer merges than requested.

    Args:
        values: name → value of the limits.
        n_ids: number of entries of the vocabulary.
        vocab_size: the number requested.
        source: word for the training data, such as "text".
    """
    limits = [f"{name}={value}" for name, value in values.items()]
    listed = " and ".join([*([", ".join(limits[:-1])] if limits[1:] else []), *limits[-1:]])
    cause = f"{listed} {'leave' if limits[1:] else 'leaves'} no pair to merge"
    change = f"change {'these limits' if limits[1:] else 'that limit'}, " if limits else ""
    way_out = f"{change}train on more {source}, or ask for fewer"
    return (
        f"{cause if limits else 'no pair is left to merge'}: the vocabulary has {n_ids} entries, not the "
        f"{vocab_size} asked for; {way_out}"
    )
