"""BpeTrainer: the options of BPE training."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe._utils.progress import Progress
from fastbpe.huggingface.checked_arguments import ignore, of_type
from fastbpe.tokenizers import trainer
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.trainer import NO_TOKENS, Trainer, first_characters, option


def _progress_format(value: Any) -> str:
    found: str = of_type(value, str)
    return found if found in ("json", "silent") else "indicatif"


#: Value of the argument progress_format → its name in a state.
_FORMATS = {"indicatif": "Indicatif", "json": "JsonLines", "silent": "Silent"}
_FORMAT_NAMES = {value: key for key, value in _FORMATS.items()}


def _print_json(stage: str, n_done: int, n_total: int | None) -> None:
    """Print the progress of a stage as a line of JSON on stderr."""
    print(json.dumps({"stage": stage, "current": n_done, "total": n_total}), file=sys.stderr)


class BpeTrainer(Trainer):
    """Options for training a BPE model.

    Args:
        vocab_size: target vocabulary size, including special tokens and the alphabet.
        min_frequency: minimum number of occurrences of a pair that is merged.
        show_progress: show a bar on a terminal.
        progress_format: "indicatif": a bar; "json": lines of JSON on stderr with stage, current and total, even
            without show_progress; "silent": nothing. Any other str means "indicatif".
        special_tokens: list of str or `AddedToken`, which get the first ids.
        limit_alphabet: maximum number of characters that become tokens, most frequent first; of equally frequent
            ones, the first in Unicode's order. (tokenizers picks any of them.)
        initial_alphabet: list of str; the first character of each is a token even if no text has it.
        continuing_subword_prefix: text put before each character of a word except the first.
        end_of_word_suffix: text put after the last character of a word.
        max_token_length: tokens of three characters or more have fewer characters than this.
        ignored: other arguments have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or a number is negative or too large.
    """

    trains = "BPE"

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        progress_format: str = "indicatif",
        special_tokens: list[str | AddedToken] = NO_TOKENS,
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
        self.min_frequency = min_frequency  # set first: its key comes first in tokenizers' states
        self.vocab_size = vocab_size
        self.show_progress = show_progress
        self.progress_format = progress_format
        self.special_tokens = special_tokens
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = first_characters(initial_alphabet)
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    vocab_size = trainer.VOCAB_SIZE
    min_frequency = trainer.MIN_FREQUENCY
    show_progress = trainer.SHOW_PROGRESS
    progress_format = option("progress_format", "Form of the progress.", _progress_format)
    special_tokens = trainer.SPECIAL_TOKENS
    limit_alphabet = trainer.LIMIT_ALPHABET
    initial_alphabet = trainer.INITIAL_ALPHABET
    continuing_subword_prefix = trainer.CONTINUING_SUBWORD_PREFIX
    end_of_word_suffix = trainer.END_OF_WORD_SUFFIX
    max_token_length = trainer.MAX_TOKEN_LENGTH

    def progress(self) -> Progress:
        if self.progress_format == "json":
            return _print_json
        return None if self.show_progress and self.progress_format == "indicatif" else False

    def options(self) -> dict[str, Any]:
        """Return the options in tokenizers' order, and the words of the last training with counts, for JSON."""
        return {**super().options(), "progress_format": _FORMATS[self.progress_format]}

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> BpeTrainer:
        return super().of_options({**options, "progress_format": _FORMAT_NAMES[options["progress_format"]]})
