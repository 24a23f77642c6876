"""Training with mode="ids": merges over sequences of integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import MAX_SEQUENCE_IDS
from fastbpe._core.train.byte_learner import Learner
from fastbpe._utils.arguments import integer
from fastbpe._utils.plurals import counted
from fastbpe._utils.suggestions import choose_one_of
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.errors import OptionError, TrainingError, TrainingWarning
from fastbpe.tokenizer.internals import vocabulary_of_sequences
from fastbpe.tokenizer.sequences.sequence_batches import dimensions, each_sequence
from fastbpe.tokenizer.sequences.sequence_models import MAX_BASE_SIZE, model_of_merges
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.training.options import Run, number_of_ids, too_few_merges

_TIES = ("pair", "first")
_SEQUENCES_PER_REPORT = 1024


@dataclass(frozen=True, kw_only=True)
class SequenceOptions:
    """Options of training over sequences, checked; the training report lists each.

    Attributes:
        vocab_size: int – target number of ids: base symbols, merges and special tokens.
        base_size: int – number of base symbols, which are the integers from 0 to base_size - 1.
        ties: str – which of two equally frequent pairs to merge first. "pair": the pair with smaller ids; "first":
            the pair that appears first in the sequences.
        min_count: int – minimum number of occurrences of a pair that is merged; 1 or more.
        max_token_length: int or None – maximum length of a token in symbols; None: no limit.
        special_tokens: names of special tokens, which count towards vocab_size and have the last ids. A name that
            is given twice counts once.

    Raises:
        TrainingError: a value is out of range.
        TypeError: a value has the wrong type.
    """

    vocab_size: int
    base_size: int
    ties: str = "pair"
    min_count: int = 1
    max_token_length: int | None = None
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        for name in ("vocab_size", "base_size", "min_count", "max_token_length"):
            if name != "max_token_length" or self.max_token_length is not None:
                put(name, integer(name, getattr(self, name)))
        if not 1 <= self.base_size <= MAX_BASE_SIZE:
            raise TrainingError(f"base_size={self.base_size}: must be the number of symbols, 1 to {MAX_BASE_SIZE}")
        names: object = self.special_tokens
        if isinstance(names, (str, Mapping)) or not isinstance(names, Iterable):
            raise TypeError(
                f"special_tokens must be a list of names, not {type(names).__name__}: their ids come after the "
                "merges"
            )
        put("special_tokens", tuple(dict.fromkeys(names)))
        if wrong := [name for name in self.special_tokens if not isinstance(name, str) or not name]:
            raise TrainingError(f"special_tokens={[wrong[0]]!r}: a name must be a str of one character or more")
        if self.vocab_size < self.base_size + len(self.special_tokens):
            n_special = len(self.special_tokens)
            special = f" and {counted(n_special, 'special token')}" if n_special else ""
            raise TrainingError(
                f"vocab_size={self.vocab_size} is too small: it must be at least "
                f"{self.base_size + n_special}, for {counted(self.base_size, 'symbol')}{special}"
            )
        if self.vocab_size > MAX_SEQUENCE_IDS:
            raise TrainingError(f"vocab_size={self.vocab_size} is too large: the limit is {MAX_SEQUENCE_IDS}")
        if self.min_count < 1:
            raise TrainingError(f"min_count={self.min_count} is too small: a pair must occur at least once")
        if self.ties == "huggingface":
            raise TrainingError(
                'ties="huggingface" orders bytes by the characters that stand for them, but integers have no '
                'characters; ties="pair" is the same rule over integers'
            )
        if self.ties not in _TIES:
            raise TrainingError(choose_one_of("ties", self.ties, _TIES))
        if self.max_token_length is not None and self.max_token_length < 1:
            raise TrainingError(f"max_token_length={self.max_token_length}: must be at least 1, or None")


def add_base_size(base: SequenceTokenizer, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Add the base's number of symbols to the keyword arguments for `SequenceOptions`.

    Raises:
        TrainingError: the arguments contain another number.
    """
    if "base_size" in keywords and integer("base_size", keywords["base_size"]) != base.base_size:
        raise TrainingError(
            f"base_size={keywords['base_size']} does not match the base, which has "
            f"{counted(base.base_size, 'symbol')} (the ids after them, of merges and special tokens, do not "
            "count); leave base_size= out"
        )
    return {**keywords, "base_size": base.base_size}


def train_ids(source: Any, base: SequenceTokenizer | None, run: Run) -> SequenceTokenizer:
    """Learn a tokenizer from sequences of integers. See `train`.

    With a base, the base first encodes the sequences, and the new merges come after its merges.

    Raises:
        ValueError, TypeError: an item of a sequence is not a symbol; the message has its position.
        TrainingError: there is no symbol to learn from, vocab_size is too small, or the base has special tokens.
        OptionError: neither base nor base_size= is given.
    """
    run.reading.check_unused("the source is sequences of integers")
    vocab_size = number_of_ids(run.vocab_size, None if base is None else base.vocab_size)
    keywords, reporter = run.options, run.reporter
    if base is not None:
        keywords = add_base_size(base, keywords)
    elif "base_size" not in keywords:
        raise OptionError(
            'mode="ids" needs base=, or base_size= (the number of symbols: the greatest integer plus one)'
        )
    options = SequenceOptions(vocab_size=vocab_size, **keywords)  # type: ignore[arg-type]  # checked there
    vocabulary = None if base is None else vocabulary_of_sequences(base)
    n_known = options.base_size if vocabulary is None else vocabulary.n_ids
    if base is not None and base.special_tokens:
        raise TrainingError(
            "the base has special tokens, whose ids new merges would take; pass a base without them "
            "(SequenceTokenizer.from_merges creates one), and their names as special_tokens="
        )
    n_special = len(options.special_tokens)
    if options.vocab_size - n_special < n_known:
        new = (
            f", and {counted(n_special, 'special token')} {'is' if n_special == 1 else 'are'} new"
            if n_special
            else ""
        )
        raise TrainingError(
            f"vocab_size={options.vocab_size} is too small: the base has {n_known} tokens{new}; pass "
            f"{n_known + n_special} or more"
        )
    with reporter.phase("counting", None, unit=" symbols", unit_scale=True) as phase:
        sequences = read_sequences(source, options.base_size, phase.reach)
    n_symbols, n_sequences = sequences.n_items, len(sequences)
    if not n_symbols:
        raise TrainingError("there is nothing to learn from: the source has no sequence, or only empty ones")
    n_merges = options.vocab_size - n_special - n_known
    with reporter.phase("learning", n_merges, unit=" merges") as phase:
        learner = Learner(
            sequences,
            max_ids=options.vocab_size - n_special,
            ties_first=options.ties == "first",
            min_count=options.min_count,
            max_token_length=options.max_token_length,
            base=vocabulary,
            n_base=n_known,
        )
        learner.learn(lambda n_ids: phase.reach(n_ids - n_known))
    merges = learner.merges()
    if len(merges) < n_merges:
        n_tokens = n_known + len(merges) + n_special
        text = too_few_merges(options, "max_token_length", learner.limits_met(), n_tokens, "sequences")
        warn(text, TrainingWarning)
    report = asdict(options) | {
        "special_tokens": [*options.special_tokens],
        "library": __version__,
        "n_symbols": n_symbols,
        "n_sequences": n_sequences,
        "n_merges": len(merges),
        **({} if base is None else {"base": base.fingerprint}),
    }
    reporter.summarise(
        {
            "counting": f"{n_symbols:,} symbols, {n_sequences:,} sequences",
            "learning": f"{len(merges):,} merges",
        }
    )
    before = b"" if vocabulary is None else vocabulary.packed_merges
    return SequenceTokenizer(model_of_merges(options.base_size, merges, report, before, options.special_tokens))


def read_sequences(source: Any, base_size: int, report: Any) -> Sequences:
    """Read all sequences of a source, and check them. report: function to call with the number of symbols read."""
    sequences = Sequences(base_size, is_one=dimensions(source) == 1)
    if isinstance(source, Mapping):
        for sequence, count in source.items():
            count = integer(f"the count of sequence {len(sequences)}", count)
            if count < 0:
                raise TrainingError(f"the count of sequence {len(sequences)} is {count}: it must be at least 0")
            if count >= 1 << 63:
                raise OverflowError(
                    f"the count of sequence {len(sequences)} is {count}: it must be less than 2**63"
                )
            sequences.add(sequence, count)
        return sequences
    each: Iterable[Any] = (source,) if dimensions(source) == 1 else each_sequence(source, "the source")
    for i, sequence in enumerate(each):
        sequences.add(sequence)
        if not i % _SEQUENCES_PER_REPORT:
            report(sequences.n_items)
    report(sequences.n_items)
    return sequences
