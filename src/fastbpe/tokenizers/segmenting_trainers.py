"""Trainers of WordPiece, WordLevel and Unigram models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe.huggingface.checked_arguments import ignore, number, real, token_id
from fastbpe.tokenizers import trainer
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.bpe_trainer import BpeTrainer
from fastbpe.tokenizers.component_texts import Limits
from fastbpe.tokenizers.trainer import NO_TOKENS, Trainer, first_characters, option, text_or_none


class WordPieceTrainer(Trainer):
    """Options for training a WordPiece model: it is trained like BPE, and the merges are dropped.

    Args:
        vocab_size, min_frequency, show_progress, special_tokens, limit_alphabet, initial_alphabet,
        end_of_word_suffix: as in `BpeTrainer`.
        continuing_subword_prefix: text before tokens that continue a word; None: training uses none, but the model
            gets "##".
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or a number is negative or too large.
    """

    trains = "WordPiece"

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] = NO_TOKENS,
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] = (),
        continuing_subword_prefix: str | None = "##",
        end_of_word_suffix: str | None = None,
        **ignored: Any,
    ) -> None:
        ignore(ignored)
        self.bpe = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            show_progress=show_progress,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
            continuing_subword_prefix=continuing_subword_prefix,
            end_of_word_suffix=end_of_word_suffix,
        )

    @property
    def words(self) -> Mapping[str, int]:
        """Words of the last training, with the count of each."""
        return self.bpe.words

    @words.setter
    def words(self, words: Mapping[str, int]) -> None:
        self.bpe.words = words

    def options(self) -> dict[str, Any]:
        return {"bpe_trainer": self.bpe.options()}

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> WordPieceTrainer:
        made = cls()
        made.bpe = BpeTrainer.of_options(options["bpe_trainer"])
        return made

    def show_within(self, limits: Limits) -> str:
        return f"{type(self).__name__}(bpe_trainer={self.bpe.show_within(limits)})"


def _of_bpe(name: str) -> Any:
    """Return a property for an option of the wrapped `BpeTrainer`."""

    def set(self: WordPieceTrainer, value: Any) -> None:
        setattr(self.bpe, name, value)

    return property(lambda self: getattr(self.bpe, name), set, None, getattr(BpeTrainer, name).__doc__)


for _name in WordPieceTrainer.__init__.__kwdefaults__ or ():
    setattr(WordPieceTrainer, _name, _of_bpe(_name))


class WordLevelTrainer(Trainer):
    """Options for training a WordLevel model: the most frequent words become tokens.

    Args:
        vocab_size: target vocabulary size, including special tokens.
        min_frequency: minimum number of occurrences of a word that becomes a token.
        show_progress: show a bar on a terminal.
        special_tokens: list of str or `AddedToken`, which get the first ids.
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or a number is negative or too large.
    """

    trains = "WordLevel"

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] = NO_TOKENS,
        **ignored: Any,
    ) -> None:
        ignore(ignored)
        self._options: dict[str, Any] = {}
        self.words: Mapping[str, int] = {}
        self.min_frequency = min_frequency
        self.vocab_size = vocab_size
        self.show_progress = show_progress
        self.special_tokens = special_tokens

    min_frequency = option(
        "min_frequency", "Minimum number of occurrences of a word that becomes a token.", number
    )
    vocab_size = trainer.VOCAB_SIZE
    show_progress = trainer.SHOW_PROGRESS
    special_tokens = trainer.SPECIAL_TOKENS


class UnigramTrainer(Trainer):
    """Options for training a Unigram model.

    The vocabulary is the one that tokenizers learns. Characters that training drops stay in it; their low scores
    rise in Unicode order, so the same texts always lead to the same model. In tokenizers the order of these
    characters changes from run to run.

    Args:
        vocab_size: target vocabulary size, including special tokens.
        show_progress: show a bar on a terminal.
        special_tokens: list of str or `AddedToken`, which get the first ids and the score 0.
        initial_alphabet: list of str; the first character of each is a token even if no text has it.
        shrinking_factor: share of the tokens that is kept in each round.
        unk_token: token for unknown characters; if it is not one of special_tokens, it gets the id 0, before them.
            None: the model gets no such token.
        max_piece_length: maximum number of characters of a token.
        n_sub_iterations: number of times that scores are computed per round.
        seed_size: maximum number of candidate tokens to begin with.
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or a number is negative or too large.
    """

    trains = "Unigram"

    def __init__(
        self,
        *,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] = NO_TOKENS,
        initial_alphabet: Sequence[str] = (),
        shrinking_factor: float = 0.75,
        unk_token: str | None = None,
        max_piece_length: int = 16,
        n_sub_iterations: int = 2,
        seed_size: int = 1_000_000,
        **ignored: Any,
    ) -> None:
        ignore(ignored)
        self._options: dict[str, Any] = {}
        self.words: Mapping[str, int] = {}
        self.show_progress = show_progress
        self.vocab_size = vocab_size
        self._options["n_sub_iterations"] = token_id(n_sub_iterations)  # tokenizers also stores 32 bits
        self._options["shrinking_factor"] = real(shrinking_factor)
        self.special_tokens = special_tokens
        self.initial_alphabet = first_characters(initial_alphabet)
        self._options["unk_token"] = text_or_none(unk_token)
        self._options["max_piece_length"] = number(max_piece_length)
        self._options["seed_size"] = number(seed_size)

    show_progress = trainer.SHOW_PROGRESS
    vocab_size = trainer.option("vocab_size", "Target vocabulary size, including special tokens.", token_id)
    special_tokens = trainer.SPECIAL_TOKENS
    initial_alphabet = trainer.INITIAL_ALPHABET
