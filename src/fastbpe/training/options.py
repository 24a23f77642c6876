"""What a training run is asked for, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from fastbpe._utils.arguments import integer
from fastbpe.errors import SpecialTokenError, TrainingError
from fastbpe.patterns import PatternLike, resolve_pattern
from fastbpe.tokenizer.special_tokens import check_names

N_BYTES = 256
MAX_VOCAB_SIZE = 1 << 24  # ids index flat arrays
TIES = ("pair", "huggingface", "first")


@dataclass(frozen=True, kw_only=True)
class ByteConfig:
    """Options of byte-mode training.

    Attributes:
        vocab_size: the ids to end with: 256 bytes, the merges, the special tokens.
        pattern: a name in `PATTERNS`, any regex, a list of regexes (each cuts the pieces of the one before), or
            None for no splitting.
        special_tokens: they cut the text before anything is counted, take part in no merge, and come last.
        ties: which of two pairs that occur equally often is merged first. "pair": the one of smaller ids, as
            rustbpe and bpeasy do; "huggingface": as tokenizers' BpeTrainer; "first": the one met first in
            the text, as minbpe.
        min_count: a pair that occurs less often is not merged.
        max_token_bytes: a pair that would make a longer token is not merged; None: no limit.
    """

    vocab_size: int
    pattern: PatternLike = "cl100k"
    special_tokens: tuple[str, ...] = ()
    ties: str = "pair"
    min_count: int = 1
    max_token_bytes: int | None = None

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("pattern", resolve_pattern(self.pattern)[1])
        put("special_tokens", check_special_tokens(self.special_tokens))
        for name in ("vocab_size", "min_count", "max_token_bytes"):
            if name != "max_token_bytes" or self.max_token_bytes is not None:
                put(name, integer(name, getattr(self, name)))
        n_special = len(self.special_tokens)
        if self.vocab_size < N_BYTES + n_special:
            raise TrainingError(
                f"vocab_size={self.vocab_size} is too small: 256 bytes and {n_special} special tokens need "
                f"{N_BYTES + n_special}"
            )
        if self.vocab_size > MAX_VOCAB_SIZE:
            raise TrainingError(f"vocab_size={self.vocab_size} is too large: the limit is {MAX_VOCAB_SIZE}")
        if self.min_count < 1:
            raise TrainingError(f"min_count={self.min_count} is too small: a pair must occur at least once")
        if self.ties not in TIES:
            raise TrainingError(f"ties={self.ties!r}: choose one of {', '.join(map(repr, TIES))}")
        if self.max_token_bytes is not None and self.max_token_bytes < 1:
            raise TrainingError(f"max_token_bytes={self.max_token_bytes}: give 1 or more, or None")


def check_special_tokens(names: object) -> tuple[str, ...]:
    """Names for training: as for any tokenizer, and none that is a byte, which is a token already."""
    if isinstance(names, str):
        raise TrainingError(f"special_tokens={names!r}: give a list of them")
    if isinstance(names, (bytes, Mapping)) or not isinstance(names, Iterable):
        raise TypeError(f"special_tokens must be a list of names, not {type(names).__name__}")
    checked = tuple(names)
    check_names(checked)
    for name in checked:
        if len(name.encode()) == 1:
            raise SpecialTokenError.is_ordinary(name, ord(name))
    return checked
