"""ParityBpeTrainer: the options of BPE training for several languages, and the training itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from fastbpe._utils.progress import Progress
from fastbpe.huggingface.checked_arguments import character, number, of_type, real, sequence
from fastbpe.tokenizers import trainer
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.component_texts import plain_digits
from fastbpe.tokenizers.trainer import option

#: Keys of a state that may be missing.
_OPTIONAL = (
    "ratio",
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_token_length",
)


def _variant(value: Any) -> str:
    found: str = of_type(value, str)
    if found not in ("base", "window"):
        raise ValueError(f"Unknown variant '{found:.60}'. Use 'base' or 'window'.")
    return found


def _reals(value: Any) -> list[float]:
    return [real(one) for one in sequence(value)]


class ParityBpeTrainer:
    """Options for training a BPE model on several languages, and the training itself.

    Each merge is chosen for one language. With dev texts, it is the language whose dev text has the most tokens.
    Without dev texts, it is the language whose training text has the most tokens, or, with ratio, has shrunk least
    (see `train_from_iterator`). See `fastbpe.Parity` for the method.

    Args:
        num_merges: number of merges to learn.
        variant: "base", or "window": a language that has learned more than alpha / (number of languages) of the
            last `window_size` merges must wait, as long as another language has pairs left.
        min_frequency: minimum number of occurrences of a pair that is merged.
        ratio: list with one number per language; see `train_from_iterator`.
        global_merges: number of first merges that are chosen by the counts of all languages together.
        window_size, alpha: see variant.
        total_symbols: `num_merges` is the vocabulary size, including special tokens and the alphabet.
        special_tokens, show_progress, limit_alphabet, initial_alphabet, continuing_subword_prefix,
            end_of_word_suffix, max_token_length: as in `BpeTrainer`. A dev word with a character that is not a
            token is ignored.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or a number is negative or too large.
        ValueError: there is no such variant.
    """

    __slots__ = ("_options",)

    def __init__(
        self,
        num_merges: int = 32000,
        variant: str = "base",
        min_frequency: int = 0,
        ratio: Sequence[float] | None = None,
        global_merges: int = 0,
        window_size: int = 100,
        alpha: float = 2.0,
        total_symbols: bool = False,
        special_tokens: list[str | AddedToken] | None = None,
        show_progress: bool = True,
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        self._options: dict[str, Any] = {}  # in the order of tokenizers' states
        self.num_merges = num_merges
        self._options["variant"] = _variant(variant)
        self.min_frequency = min_frequency
        self.global_merges = global_merges
        self.window_size = window_size
        self.alpha = alpha
        self.total_symbols = total_symbols
        self.show_progress = show_progress
        self._options["ratio"] = None if ratio is None else _reals(ratio)
        self.special_tokens = [] if special_tokens is None else special_tokens
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = [] if initial_alphabet is None else initial_alphabet
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    num_merges = option("num_merges", "Number of merges to learn.", number)
    min_frequency = trainer.MIN_FREQUENCY
    global_merges = option(
        "global_merges", "Number of first merges, chosen by the counts of all languages.", number
    )
    window_size = option("window_size", "Number of last merges that variant window looks at.", number)
    alpha = option(
        "alpha", "A language waits if its share of the window exceeds alpha / (number of languages).", real
    )
    total_symbols = option(
        "total_symbols", "Whether num_merges is the vocabulary size.", lambda value: of_type(value, bool)
    )
    special_tokens = trainer.SPECIAL_TOKENS
    show_progress = trainer.SHOW_PROGRESS
    limit_alphabet = trainer.LIMIT_ALPHABET
    initial_alphabet = option(
        "initial_alphabet",
        "Characters that become tokens even if no text has them.",
        lambda value: [character(one) for one in sequence(value)],
    )
    continuing_subword_prefix = trainer.CONTINUING_SUBWORD_PREFIX
    end_of_word_suffix = trainer.END_OF_WORD_SUFFIX
    max_token_length = trainer.MAX_TOKEN_LENGTH

    @property
    def variant(self) -> str:
        """Method of choosing a language: "base", or "window" with a limit for each language."""
        return str(self._options["variant"])

    def progress(self) -> Progress:
        """Return the argument for `Reporter`: None for bars on a terminal, False for nothing."""
        return None if self.show_progress else False

    def train_from_iterator(
        self,
        tokenizer: Any,
        train_iterators: Sequence[Iterable[Any]],
        dev_iterators: Sequence[Iterable[Any]] | None = None,
        ratio: Sequence[float] | None = None,
    ) -> None:
        """Learn a vocabulary from texts of several languages, and set the model of a tokenizer to a BPE with it.

        Args:
            tokenizer: a `Tokenizer`; its normalizer and pre-tokenizer cut the texts into words.
            train_iterators: for each language an iterable of str, or of lists of str.
            dev_iterators: the same for dev texts, ideally translations of one text: the language whose dev text
                has the most tokens gets the next merge. The characters of dev texts become tokens, too.
            ratio: a number above 0 for each language. The next merge goes to the language for which (tokens of its
                training text before the first merge) / (tokens now) / (its number) is smallest. None: the
                trainer's ratio. Has no effect with dev_iterators.

        Raises:
            ValueError: there is no language, or there are not as many dev_iterators as train_iterators.
            RuntimeError: a ratio is not positive and finite, or not given for each language; or the variant is
                "window", and window_size is 0 or alpha is not positive and finite.
            TypeError: an argument, or an item of an iterable, has the wrong type.
            ImportError: fastbpe cannot run the normalizer or pre-tokenizer.

        >>> from fastbpe.tokenizers import Tokenizer, models, pre_tokenizers, trainers
        >>> tokenizer = Tokenizer(models.BPE())
        >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        >>> trainer = trainers.ParityBpeTrainer(num_merges=2, show_progress=False)
        >>> trainer.train_from_iterator(tokenizer, [["the the then"], ["die"]], [["the"], ["die die"]])
        >>> tokenizer.encode("die the").tokens
        ['die', 't', 'h', 'e']
        """
        learn = getattr(tokenizer, "_train_languages", None)
        if learn is None:
            raise TypeError(f"{type(tokenizer).__name__!r} object is not an instance of 'Tokenizer'")
        languages = [*sequence(train_iterators)]
        dev = None if dev_iterators is None else [*sequence(dev_iterators)]
        ratios = None if ratio is None else _reals(ratio)
        if not languages:
            raise ValueError("train_iterators must not be empty")
        if dev is not None and len(dev) != len(languages):
            raise ValueError(
                f"dev_iterators length ({len(dev)}) must match train_iterators length ({len(languages)})"
            )
        if dev is not None:
            ratios = None
        elif ratios is None:
            ratios = self._options["ratio"]
        self._check(ratios, len(languages))
        learn(self, languages, dev, ratios)

    def _check(self, ratio: list[float] | None, n_languages: int) -> None:
        """Raise RuntimeError if an option has an invalid value, or ratio does not fit the number of languages."""
        if ratio is not None and len(ratio) != n_languages:
            said = f"ratio length ({len(ratio)}) does not match number of languages ({n_languages})"
            raise RuntimeError(f"Training error: {said}")
        if self.variant == "window":
            if not self.window_size:
                raise RuntimeError("Training error: window_size must be > 0 when variant is Window")
            if not _is_positive(self.alpha):
                said = f"a positive finite number when variant is Window (got {plain_digits(self.alpha)})"
                raise RuntimeError(f"Training error: alpha must be {said}")
        for i, one in enumerate(ratio or ()):
            if not _is_positive(one):
                raise RuntimeError(
                    f"Training error: ratio[{i}] must be a positive finite number (got {plain_digits(one)})"
                )

    def __repr__(self) -> str:
        total = "true" if self.total_symbols else "false"
        return (
            f'ParityBpeTrainer(num_merges={self.num_merges}, variant="{self.variant}", '
            f"min_frequency={self.min_frequency}, global_merges={self.global_merges}, "
            f"window_size={self.window_size}, alpha={plain_digits(self.alpha)}, total_symbols={total})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self._options, "special_tokens": [token.content for token in self.special_tokens]}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        of_type(state, dict)
        names = [name for name in ParityBpeTrainer().__getstate__() if name not in _OPTIONAL]
        required = {name: state[name] for name in names}
        others = {name: state[name] for name in _OPTIONAL if state.get(name) is not None}
        self.__init__(**required, **others)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), self.__getstate__()


def _is_positive(value: float) -> bool:
    return isfinite(value) and value > 0
