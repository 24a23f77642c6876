"""Trainer: the base class of all trainers except ParityBpeTrainer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from fastbpe._utils.progress import Progress
from fastbpe.errors import FormatError
from fastbpe.huggingface.checked_arguments import character, number, number_or_none, of_type, sequence
from fastbpe.tokenizers.added_token import AddedToken, checked
from fastbpe.tokenizers.component_texts import REPR, STR, Limits, show_component
from fastbpe.tokenizers.components import Component

_Made = TypeVar("_Made", bound="Trainer")

#: Default of special_tokens; trainers copy it.
NO_TOKENS: list[str | AddedToken] = []


class Trainer(Component):
    """Base of all trainers except `ParityBpeTrainer`.

    Attributes:
        trains: type of the models that it trains: "BPE", for example.
        words: words of the last training, with the count of each.
    """

    trains = ""
    words: Mapping[str, int]
    show_progress: Any
    special_tokens: Any
    _options: dict[str, Any]

    def progress(self) -> Progress:
        """Return the argument for `Reporter`: None for bars on a terminal, False for nothing; or a function."""
        return None if self.show_progress else False

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

    def options(self) -> dict[str, Any]:
        """Return the options, and the words of the last training with their counts, for JSON."""
        described = {**self._options, "words": {**self.words}}
        described["special_tokens"] = [token.state() for token in self.special_tokens]
        return described

    @classmethod
    def of_options(cls: type[_Made], options: Mapping[str, Any]) -> _Made:
        """Create a trainer from the dict that `options` returns; the trainer gets no words.

        The caller must first replace the special tokens in the dict with `AddedToken` objects. Raises KeyError,
        TypeError, ValueError or OverflowError if the dict is invalid.
        """
        return cls(**{name: value for name, value in options.items() if name != "words"})

    def state(self) -> dict[str, Any]:
        return {type(self).__name__: self.options()}

    @classmethod
    def from_state(cls: type[_Made], described: Any) -> _Made:
        """Restore a trainer from its state. Raises FormatError if the state is invalid."""
        try:
            options = {**described[cls.__name__]}
            inner = options.get("bpe_trainer", options)  # a WordPieceTrainer has the options of a BpeTrainer
            words = {str(word): number(count) for word, count in inner["words"].items()}
            inner["special_tokens"] = [AddedToken(**token) for token in inner["special_tokens"]]
            made = cls.of_options(options)
            made.words = words
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise FormatError(f"the state of a {cls.__name__} is invalid: {error!r:.60}") from None
        return made

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(of_pickled(type(self), state).__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return of_pickled, (type(self), self.__getstate__())

    def show_within(self, limits: Limits) -> str:
        """Return "NAME(OPTIONS)". `repr` and `str` put the name around it again.

        A WordPieceTrainer shows the BpeTrainer that it wraps in this form.
        """
        tokens = [{"type": "AddedToken", **token.state()} for token in self.special_tokens]
        described = {"type": type(self).__name__, **self.options(), "special_tokens": tokens}
        return show_component(described, limits)

    # tokenizers shows the name twice, as in "BpeTrainer(BpeTrainer(min_frequency=0, …))".

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.show_within(REPR)})"

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.show_within(STR)})"


def of_pickled(kind: type[_Made], state: bytes) -> _Made:
    """Restore a trainer from its pickled state."""
    data = of_type(state, bytes)
    try:
        described = json.loads(data)
    except ValueError as error:
        raise FormatError(f"a {kind.__name__}'s state: {error}") from None
    return kind.from_state(described)


def option(name: str, doc: str, check: Callable[[Any], Any]) -> Any:
    """Return a property for an option: reading it copies the value; `check` checks and converts a new one."""

    def set(self: Trainer, value: Any) -> None:
        self._options[name] = check(value)

    return property(lambda self: deepcopy(self._options[name]), set, None, doc)


def text_or_none(value: Any) -> str | None:
    found: str | None = None if value is None else of_type(value, str)
    return found


def characters(values: Any) -> list[str]:
    """Check a list of characters, and return it without repetitions."""
    return [*dict.fromkeys(map(character, sequence(values)))]


def first_characters(texts: Sequence[str]) -> list[str]:
    """Return the first character of each text that is not empty, without repetitions."""
    return [*dict.fromkeys(text[0] for text in [of_type(text, str) for text in sequence(texts)] if text)]


# Options that several trainers have

VOCAB_SIZE = option("vocab_size", "Target vocabulary size, including special tokens.", number)
MIN_FREQUENCY = option("min_frequency", "Minimum number of occurrences of a pair that is merged.", number)
SHOW_PROGRESS = option("show_progress", "Show a bar on a terminal.", lambda value: of_type(value, bool))
SPECIAL_TOKENS = option(
    "special_tokens", "Special tokens, which get the first ids.", lambda value: checked(value, special=True)
)
LIMIT_ALPHABET = option(
    "limit_alphabet", "Maximum number of characters that become tokens, or None.", number_or_none
)
INITIAL_ALPHABET = option(
    "initial_alphabet", "Characters that become tokens even if no text has them.", characters
)
CONTINUING_SUBWORD_PREFIX = option(
    "continuing_subword_prefix", "Text before each character of a word but the first, or None.", text_or_none
)
END_OF_WORD_SUFFIX = option(
    "end_of_word_suffix", "Text after the last character of a word, or None.", text_or_none
)
MAX_TOKEN_LENGTH = option(
    "max_token_length", "Tokens of three characters or more have fewer than this; None: no limit.", number_or_none
)
