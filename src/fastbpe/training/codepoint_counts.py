"""Counted words, and facts about them: options with which sentences were cut into words, numbers of sentences.

Counting uses some options of code-point training: the normalizer's, those about the limits of sentences and words,
and those that name symbols (unknown, control, user-defined, bytes), which words do not cross. The caller passes
them to `count_pieces`, and `PieceCounts` stores them. All others (coverage, required characters, the size of the
vocabulary) are passed to `train`. The learner reads only the words of a text and their counts, so the added-up
words of many shards lead to the same model as the whole.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.sentence_store import characters
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import FormatError, OptionError, SpecError, TrainingError
from fastbpe.formats.piece_counts_file import SENTENCE_NUMBERS, Words
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import Spec
from fastbpe.training.codepoint_options import NAMES, CodePointOptions, parsed

BOUNDARY = 0x1F  # code point by which the counter replaces symbols; no piece contains it
#: Options of the trainer that counting takes over unchanged.
_READ = (
    "input_format", "max_sentence_length", "pretokenization_delimiter", "split_by_whitespace", "split_by_number",
    "split_by_unicode_script", "split_digits", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces",
)  # fmt: skip
#: Options that name the symbols, which no word crosses.
_NAMING = (
    "byte_fallback", "control_symbols", "user_defined_symbols",
    *(f"{kind}_{part}" for kind in ("unk", "bos", "eos", "pad") for part in ("id", "piece")),
)  # fmt: skip
_NORMALIZING = ({*specs.NORMALIZER} - {"precompiled_charsmap"}) | {"normalization_rule_name"}
#: Options that `count_pieces(mode="codepoint")` accepts.
COUNTING_NAMES = {*_READ, *_NAMING, *_NORMALIZING}
_SAMPLING = "input_sentence_size"
_N_SYMBOLS_SHOWN = 5  # symbols that an error lists


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
        last_word: bytes or None – the word that ends the last sentence, without the byte 0xFF after it, even if it
            was pruned; b"": no word. None: words that end a sentence have no such byte, as for a BPE model.
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


@dataclass(frozen=True, kw_only=True)
class WordFacts:
    """Facts about counted words.

    Attributes:
        options: name → value – options of the trainer from the caller of `count_pieces`.
        normalizer: Spec – options and rules of the normalizer.
        symbols: sorted names of the symbols (unknown, control, user-defined, bytes); no word crosses one.
        numbers: name in SENTENCE_NUMBERS → number; see CountedWords.
        characters: code point → count – characters of words that were pruned.
        last_word: bytes or None – for a unigram model, the word that ends the last sentence; None: for a BPE
            model.
    """

    options: Mapping[str, Any]
    normalizer: Spec
    symbols: tuple[str, ...]
    numbers: Mapping[str, int]
    characters: Mapping[int, int] = field(default_factory=dict, repr=False)
    last_word: bytes | None = None

    @property
    def mode(self) -> str:
        """The mode of training that learns from the words."""
        return "codepoint" if self.last_word is None else "unigram"

    @classmethod
    def of(cls, counted: CountedWords, options: CodePointOptions, given: Iterable[str]) -> WordFacts:
        """Return the facts about words that were just counted.

        Args:
            counted: the words.
            options: the options with which they were counted.
            given: names of the caller's options.
        """
        return cls(
            options={name: options.trainer[name] for name in given},
            normalizer=options.normalizer,
            symbols=symbols_of(options),
            numbers={name: getattr(counted, name) for name in SENTENCE_NUMBERS},
            last_word=counted.last_word,
        )

    @classmethod
    def of_plain(cls, words: Words, where: str) -> WordFacts:
        """Return the facts stored in a file.

        Raises:
            FormatError: an option is unknown or has an invalid value, or a stored character or count is invalid.
        """
        if unknown := next((name for name in words.normalizer if name not in specs.NORMALIZER), None):
            raise FormatError(f"{where}: its normalizer has the unknown option {unknown!r}")
        try:
            CodePointOptions.of({**words.options, "vocab_size": specs.MAX_INT32})
            rules = {name: parsed(name, specs.NORMALIZER[name], value) for name, value in words.normalizer.items()}
        except SpecError as error:
            raise FormatError(f"{where}: its header has no valid 'options' or 'normalizer': {error}") from None
        codes, counts = array("I", bytes(words.characters)), array("q", bytes(words.character_counts))
        if any(code > 0x10FFFF for code in codes) or any(count < 1 for count in counts):
            raise FormatError(f"{where}: its section 'characters' has an invalid character, or a count below 1")
        return cls(
            options=words.options,
            normalizer=specs.make(specs.NORMALIZER, {**rules, "precompiled_charsmap": bytes(words.charsmap)}),
            symbols=tuple(words.symbols),
            numbers=words.numbers,
            characters=dict(zip(codes, counts, strict=True)),
            last_word=None if words.last_word is None else words.last_word.encode(),
        )

    def plain(self) -> Words:
        """Return the facts in the form stored in a file."""
        codes = sorted(self.characters)
        values = dict(self.normalizer.values)
        charsmap = values.pop("precompiled_charsmap", b"")
        counts = [self.characters[code] for code in codes]
        tables = array("I", codes).tobytes(), array("q", counts).tobytes()
        last_word = None if self.last_word is None else self.last_word.decode()
        return Words(self.options, values, charsmap, self.symbols, self.numbers, *tables, last_word)

    def check_addable(self, other: WordFacts) -> None:
        """Raise TrainingError unless the words of both were counted in the same way."""
        if self.mode != other.mode:
            raise TrainingError(f"cannot combine counts of mode={self.mode!r} with counts of mode={other.mode!r}")
        _check_same_specs(self.normalizer, other.normalizer)
        _check_same({"symbols": self.symbols}, {"symbols": other.symbols})
        # A sentence has the same words in text and in tsv.
        mine, theirs = ({**facts.options, "input_format": ""} for facts in (self, other))
        _check_same_specs(specs.make(specs.TRAINER, mine), specs.make(specs.TRAINER, theirs))

    def is_addable(self, other: WordFacts) -> bool:
        """Tell whether the words of both were counted in the same way, so that they can be added and compared."""
        try:
            self.check_addable(other)
        except TrainingError:
            return False
        return True

    def plus(self, other: WordFacts) -> WordFacts:
        """Return the combined facts of both texts; the other text comes after this one."""
        numbers = {name: self.numbers[name] + other.numbers[name] for name in SENTENCE_NUMBERS}
        characters, last_word = _sum(self.characters, other.characters), other.last_word or self.last_word
        return replace(self, numbers=numbers, characters=characters, last_word=last_word)

    def without(self, dropped: PieceTable) -> WordFacts:
        """Return the facts after words were pruned. Their characters still count for the alphabet.

        Args:
            dropped: the words that were pruned.
        """
        return replace(self, characters=_sum(self.characters, characters(dropped)))

    def with_again(self, kept: PieceTable) -> WordFacts:
        """Return the facts after words that `without` removed are put back.

        Args:
            kept: some of those words.
        """
        left = dict(self.characters)
        for code_point, number in characters(kept).items():
            left[code_point] -= number
        return replace(self, characters={code_point: number for code_point, number in left.items() if number})

    def check_read(self, options: CodePointOptions) -> None:
        """Raise TrainingError unless a training run would count words in the same way.

        Args:
            options: options of the run.
        """
        trainer = specs.make(specs.TRAINER, self.options)  # with the defaults of the other options
        _check_same({name: trainer[name] for name in _READ}, {name: options.trainer[name] for name in _READ})
        names = [name for name in specs.NORMALIZER if name != "name"]  # rules may have any name
        _check_same(
            {name: self.normalizer[name] for name in names}, {name: options.normalizer[name] for name in names}
        )
        _check_same({"symbols": self.symbols}, {"symbols": symbols_of(options)})
        if options.trainer[_SAMPLING]:
            raise TrainingError(
                f"{_SAMPLING}={options.trainer[_SAMPLING]}: the sentences have already been counted; leave this "
                "option out"
            )

    def options_for(self, vocab_size: int | str, keywords: Mapping[str, Any]) -> CodePointOptions:
        """Return the options of a run that learns from these words.

        Args:
            vocab_size: int – number of ids.
            keywords: options from the caller of `train`.

        Raises:
            SpecError: an option has an invalid value.
            TrainingError: with one of the options, the words would have been counted differently.
        """
        options = counting_options({**self.options, **keywords, "vocab_size": vocab_size}, self.mode)
        if not _NORMALIZING.intersection(keywords):
            options = replace(options, normalizer=self.normalizer)
        self.check_read(options)
        return replace(options, normalizer=self.normalizer)


def counting_options(values: Mapping[str, Any], mode: str) -> CodePointOptions:
    """Return the options of a mode, checked. Raises SpecError if one has an invalid value."""
    kind = "unigram" if mode == "unigram" else "bpe"
    return CodePointOptions.of(values, model_types=(kind,), default_type=kind)


def symbols_of(options: CodePointOptions) -> tuple[str, ...]:
    """Return the names of the symbols (unknown, control, user-defined, bytes), sorted; no word crosses one."""
    return tuple(sorted({name for name, _ in options.metas.values()}))


def check_counting_names(names: Collection[str], mode: str = "codepoint") -> None:
    """Check the names of the options passed to `count_pieces` in a mode that counts words.

    Raises:
        OptionError: counting does not use the option; the message says why, or lists the options.

    >>> check_counting_names(["byte_fallback"])
    """
    for name in names:
        if name in COUNTING_NAMES:
            continue
        if name == _SAMPLING or name == "shuffle_input_sentence":
            reason = "a sample needs the whole text, but counts may be of a part: sample the text first"
        elif name == "model_type":
            reason = "mode= decides it; fastbpe.sentencepiece trains word and char models from text"
        elif name in NAMES:
            reason = "it decides what is learned from counts, not how text is counted: pass it to train"
        elif name in specs.WITHOUT_EFFECT:
            reason = specs.WITHOUT_EFFECT[name]
        else:
            reason = f"the options are {', '.join(sorted(COUNTING_NAMES))}"
        raise OptionError(f"{name}= is not an option of counting in {mode} mode: {reason}")


def _check_same_specs(mine: Spec, other: Spec) -> None:
    """Raise TrainingError unless all options are equal; an option that is not set has its default."""
    names = {**mine.values, **other.values}
    _check_same({name: mine[name] for name in names}, {name: other[name] for name in names})


def _check_same(mine: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    for name in {**mine, **other}:
        a, b = mine.get(name), other.get(name)
        if a == b or (name == "input_format" and {a or "text", b or "text"} == {"text"}):  # "" means "text"
            continue
        if name == "precompiled_charsmap" or (name == "name" and "user_defined" in (a, b)):  # the rules of a file
            raise TrainingError(
                "the words were counted with other normalization rules: pass the same normalization_rule_name= or "
                "normalization_rule_tsv= (in train, you may leave both out), or count the words again"
            )
        if name == "symbols":
            names = sorted({*(a or ())} ^ {*(b or ())})
            raise TrainingError(
                "symbols differ between the words and the options or counts used with them: "
                f"{', '.join(map(repr, names[:_N_SYMBOLS_SHOWN]))}{', …' if names[_N_SYMBOLS_SHOWN:] else ''}; "
                "use the same control_symbols=, user_defined_symbols=, byte_fallback= and names such as "
                "unk_piece=, or count the words again"
            )
        shown = "normalization_rule_name" if name == "name" else name
        raise TrainingError(
            f"the words were counted with {shown}={short_repr(a)}, not {short_repr(b)}: count them again, or use "
            "the same value"
        )


def _sum(a: Mapping[int, int], b: Mapping[int, int]) -> dict[int, int]:
    return {code: a.get(code, 0) + b.get(code, 0) for code in {**a, **b}}
