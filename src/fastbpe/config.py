"""What a training run is asked for, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from fastbpe.errors import TrainingError
from fastbpe.patterns import resolve_pattern
from fastbpe.special import check_names

N_BYTES = 256
MAX_VOCAB_SIZE = 1 << 24  # ids index flat arrays
TIES = ("pair", "huggingface", "first")


@dataclass(frozen=True, kw_only=True)
class ByteConfig:
    """Options of byte-mode training.

    Attributes:
        vocab_size: the ids to end with: 256 bytes, the merges, the special tokens.
        pattern: a name in `PATTERNS`, any regex, or None for no splitting.
        special_tokens: they cut the text before anything is counted, take part in no merge, and come last.
        ties: which of two pairs that occur equally often is merged first. "pair": the one of smaller ids, as
            rustbpe and bpeasy do; "huggingface": as tokenizers' BpeTrainer; "first": the one met first in
            the text, as minbpe.
        min_count: a pair that occurs less often is not merged.
        max_token_bytes: a pair that would make a longer token is not merged; None: no limit.
    """

    vocab_size: int
    pattern: str | None = "cl100k"
    special_tokens: tuple[str, ...] = ()
    ties: str = "pair"
    min_count: int = 1
    max_token_bytes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", resolve_pattern(self.pattern)[1])
        if isinstance(self.special_tokens, str):
            raise TrainingError(f"special_tokens={self.special_tokens!r}: give a list of them")
        object.__setattr__(self, "special_tokens", tuple(self.special_tokens))
        check_names(self.special_tokens)
        for name, least in (("vocab_size", N_BYTES + len(self.special_tokens)), ("min_count", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
            if value < least:
                raise TrainingError(f"{name}={value} is too small: {_why(name, len(self.special_tokens))}")
        if self.vocab_size > MAX_VOCAB_SIZE:
            raise TrainingError(f"vocab_size={self.vocab_size} is too large: the limit is {MAX_VOCAB_SIZE}")
        if self.ties not in TIES:
            raise TrainingError(f"ties={self.ties!r}: choose one of {', '.join(map(repr, TIES))}")
        if self.max_token_bytes is not None and self.max_token_bytes < 1:
            raise TrainingError(f"max_token_bytes={self.max_token_bytes}: give 1 or more, or None")


def _why(name: str, n_special: int) -> str:
    if name == "min_count":
        return "a pair must occur at least once"
    return f"256 bytes and {n_special} special tokens need {N_BYTES + n_special}"
