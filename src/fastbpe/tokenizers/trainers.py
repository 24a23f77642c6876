"""Trainer of BPE, as a plain object. Trainers of other models belong to the original."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastbpe._utils.progress import Progress
from fastbpe.errors import FormatError
from fastbpe.tokenizers.added_token import AddedToken, checked
from fastbpe.tokenizers.components import (
    REPR,
    STR,
    Component,
    Limits,
    character,
    compact,
    ignore,
    number,
    of_type,
    show_component,
)
from fastbpe.tokenizers.originals import handed_over

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]


class Trainer(Component):
    """Base of all trainers."""


def _option(name: str, doc: str, check: Callable[[Any], Any]) -> Any:
    """Return a property for an option. check: returns the value that is set, or raises an error."""

    def set(self: BpeTrainer, value: Any) -> None:
        self._options[name] = check(value)

    return property(lambda self: self._options[name], set, None, doc)


def _number_or_none(value: Any) -> int | None:
    return None if value is None else number(value)


def _text_or_none(value: Any) -> str | None:
    found: str | None = of_type(value, (str, type(None)))
    return found


def _characters(values: Any) -> list[str]:
    if isinstance(values, str):
        raise TypeError("Can't extract `str` to `Vec`")
    return [*dict.fromkeys(map(character, of_type(values, (list, tuple))))]


def _progress_format(value: Any) -> str:
    return value if of_type(value, str) in ("json", "silent") else "indicatif"


#: Forms of progress by the names of arguments, as a state has them.
_FORMATS = {"indicatif": "Indicatif", "json": "JsonLines", "silent": "Silent"}
_FORMAT_NAMES = {value: key for key, value in _FORMATS.items()}


def _print_json(stage: str, n_done: int, n_total: int | None) -> None:
    """Print the progress of a stage as a line of JSON on stderr."""
    print(json.dumps({"stage": stage, "current": n_done, "total": n_total}), file=sys.stderr)


class BpeTrainer(Trainer):
    """Options of training.

    Args:
        vocab_size: tokens to end with, with the special tokens and the alphabet.
        min_frequency: occurrences below which a pair is not merged.
        show_progress: show a bar on a terminal.
        progress_format: "indicatif": a bar; "json": lines of JSON on stderr with stage, current and total, also
            without show_progress; "silent": nothing. Another str means "indicatif".
        special_tokens: list of str or `AddedToken`, which get the first ids.
        limit_alphabet: most characters that are tokens, the frequent ones; of equally frequent ones, the first in
            Unicode's order. (tokenizers picks any of them.)
        initial_alphabet: list of str, whose first characters are tokens even if no text has them.
        continuing_subword_prefix: text before each character of a word but the first.
        end_of_word_suffix: text after the last character of a word.
        max_token_length: length from which no token is made.
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument is of another type, or a number has a sign.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        progress_format: str = "indicatif",
        special_tokens: Sequence[str | AddedToken] = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] = (),
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
        **ignored: Any,
    ) -> None:
        ignore(ignored)
        self._options: dict[str, Any] = {}
        #: Words of the last training, with the count of each.
        self.words: Mapping[str, int] = {}
        self.vocab_size = vocab_size
        self.min_frequency = min_frequency
        self.show_progress = show_progress
        self.progress_format = progress_format
        self.special_tokens = [] if special_tokens == () else special_tokens
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = self._first_characters(initial_alphabet)
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    vocab_size = _option("vocab_size", "Tokens to end with.", number)
    min_frequency = _option("min_frequency", "Occurrences below which a pair is not merged.", number)
    show_progress = _option("show_progress", "Show a bar on a terminal.", lambda value: of_type(value, bool))
    progress_format = _option("progress_format", "Form of the progress.", _progress_format)
    special_tokens = _option(
        "special_tokens", "`AddedToken`s with the first ids.", lambda value: checked(value, special=True)
    )
    limit_alphabet = _option("limit_alphabet", "Most characters that are tokens, or None.", _number_or_none)
    initial_alphabet = _option("initial_alphabet", "Characters that are tokens in any case.", _characters)
    continuing_subword_prefix = _option(
        "continuing_subword_prefix", "Text before each character of a word but the first, or None.", _text_or_none
    )
    end_of_word_suffix = _option(
        "end_of_word_suffix", "Text behind the last character of a word, or None.", _text_or_none
    )
    max_token_length = _option("max_token_length", "Length from which no token is made, or None.", _number_or_none)

    @staticmethod
    def _first_characters(texts: Any) -> list[str]:
        if isinstance(texts, str):
            raise TypeError("Can't extract `str` to `Vec`")
        return [*dict.fromkeys(of_type(text, str)[0] for text in texts if text)]

    def get_word_count(self) -> int:
        """Return the number of different words of the last training.

        >>> from fastbpe.tokenizers import Tokenizer, models, pre_tokenizers, trainers
        >>> tokenizer, trainer = Tokenizer(models.BPE()), trainers.BpeTrainer(show_progress=False)
        >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> tokenizer.train_from_iterator(["a b", "b c"], trainer)
        >>> trainer.get_word_count()
        3
        """
        return len(self.words)

    def state(self) -> dict[str, Any]:
        """Return the options, and the words of the last training."""
        return {
            "min_frequency": self.min_frequency,
            "vocab_size": self.vocab_size,
            "show_progress": self.show_progress,
            "progress_format": _FORMATS[self.progress_format],
            "special_tokens": [token.state() for token in self.special_tokens],
            "limit_alphabet": self.limit_alphabet,
            "initial_alphabet": self.initial_alphabet,
            "continuing_subword_prefix": self.continuing_subword_prefix,
            "end_of_word_suffix": self.end_of_word_suffix,
            "max_token_length": self.max_token_length,
            "words": {**self.words},
        }

    @classmethod
    def from_state(cls, described: Any) -> BpeTrainer:
        """Make the trainer of a state. Raises FormatError if the dict is not the state of a trainer."""
        try:
            options = {**described}
            words = options.pop("words")
            options["progress_format"] = _FORMAT_NAMES[options["progress_format"]]
            options["special_tokens"] = [AddedToken(**token) for token in options["special_tokens"]]
            made = cls(**options)
            made.words = {str(word): number(count) for word, count in words.items()}
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise FormatError(f"a BpeTrainer's state: {error!r:.60} is missing or not known") from None
        return made

    def __getstate__(self) -> bytes:
        return compact({"BpeTrainer": self.state()})

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(of_pickled(state).__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return of_pickled, (self.__getstate__(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> BpeTrainer:
        return self.from_state(self.state())

    def _shown(self, limits: Limits) -> str:
        tokens = [{"type": "AddedToken", **token.state()} for token in self.special_tokens]
        shown = show_component({"type": "BpeTrainer", **self.state(), "special_tokens": tokens}, limits)
        return f"BpeTrainer({shown})"

    def __repr__(self) -> str:
        return self._shown(REPR)

    def __str__(self) -> str:
        return self._shown(STR)


def of_pickled(state: bytes) -> BpeTrainer:
    try:
        described = json.loads(of_type(state, bytes))
        return BpeTrainer.from_state(described["BpeTrainer"])
    except (KeyError, TypeError, ValueError) as error:
        if not isinstance(state, bytes) or isinstance(error, FormatError):
            raise
        raise FormatError(f"a BpeTrainer's state: {error}") from None


ParityBpeTrainer = handed_over(Trainer, "trainers.ParityBpeTrainer")
UnigramTrainer = handed_over(Trainer, "trainers.UnigramTrainer")
WordLevelTrainer = handed_over(Trainer, "trainers.WordLevelTrainer")
WordPieceTrainer = handed_over(Trainer, "trainers.WordPieceTrainer")


def progress_of(trainer: BpeTrainer) -> Progress:
    """Return the progress that a trainer shows, as `fastbpe.train` takes it."""
    if trainer.progress_format == "json":
        return _print_json
    return None if trainer.show_progress and trainer.progress_format == "indicatif" else False
