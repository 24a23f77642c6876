"""What learning begins with: the 256 bytes, or all that another tokenizer knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import FormatError, SpecialTokenError, TrainingError
from fastbpe.model import Model, pack_merges
from fastbpe.patterns import resolve_pattern, shown_pattern
from fastbpe.tokenizer.components import check_plain
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.options import N_BYTES, ByteConfig

BASE_SPECIAL = ("keep", "end")


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """The tokens that there are before any merge.

    tokens: the bytes of every id below the first that a merge gets, b"" where an id is no ordinary token.
    n_known: how many of those ids are tokens, special ones included, and special tokens that will come last.
    special_tokens: those that keep their ids.
    last: special tokens that come after the merges, in this order.
    vocabulary: makes pieces of a base's tokens; None: pieces are bytes.
    model: of the base.
    """

    tokens: list[bytes]
    n_known: int
    special_tokens: Mapping[str, int]
    last: Sequence[str]
    vocabulary: Vocabulary | None = None
    model: Model | None = None

    def extended(
        self, merges: Sequence[tuple[int, int, int]], config: ByteConfig, report: Mapping[str, Any]
    ) -> Model:
        """The model with merges, (left id, right id, count), after what was there."""
        tokens = list(self.tokens)
        for left, right, _ in merges:
            tokens.append(tokens[left] + tokens[right])
        special = {name: len(tokens) + i for i, name in enumerate(self.last)}
        ranked = self.model is None or self.model.merges_rule == "ranks"
        while not tokens[-1]:  # without a merge, ids of special tokens alone
            tokens.pop()
        triples = [(left, right, len(self.tokens) + i) for i, (left, right, _) in enumerate(merges)]
        return Model(
            tokens=tokens,
            pattern=config.pattern,
            special_tokens={**self.special_tokens, **special},
            merges=b"" if ranked or self.model is None else bytes(self.model.merges) + pack_merges(triples),
            merges_rule="ranks" if ranked else "merges",
            whole_piece_first=self.model is None or self.model.whole_piece_first,
            training=report,
        )


def from_bytes(config: ByteConfig) -> Beginning:
    """Nothing but the bytes."""
    return Beginning(
        tokens=[bytes([byte]) for byte in range(N_BYTES)],
        n_known=N_BYTES + len(config.special_tokens),
        special_tokens={},
        last=config.special_tokens,
    )


def from_base(base: Tokenizer, base_special: str, config: ByteConfig) -> Beginning:
    """All that a tokenizer knows; its special tokens keep their ids or come last.

    Raises:
        TrainingError: vocab_size leaves no room, or the rule for ties is not one for ids.
        SpecialTokenError: a new special token is a token of the base.
    """
    if base_special not in BASE_SPECIAL:
        raise TrainingError(f"base_special={base_special!r}: choose one of {', '.join(map(repr, BASE_SPECIAL))}")
    if config.ties == "huggingface":
        raise TrainingError(
            'ties="huggingface" ranks bytes where no base has; with base=, choose ties="pair" (by the ids of the '
            'base) or "first"'
        )
    try:
        check_plain(base._model, "training")
    except FormatError as error:
        raise TrainingError(f"{error}; such a base cannot be trained on") from None
    for name in config.special_tokens:
        if (token_id := base.token_to_id(name)) is not None:
            if base.is_special_token(token_id):
                raise SpecialTokenError(
                    f"special token {name!r} is one of the base already, with the id {token_id}"
                )
            raise SpecialTokenError.is_ordinary(name, token_id)
    n_known = base.vocab_size + len(config.special_tokens)
    if config.vocab_size < n_known:
        raise TrainingError(
            f"vocab_size={config.vocab_size} is too small: the base has {base.vocab_size} tokens, special ones "
            f"included, and {len(config.special_tokens)} special tokens are new"
        )
    tokens = base._vocabulary.tokens()
    keep = base_special == "keep"
    if keep:
        tokens += [b""] * (base.n_vocab - len(tokens))
    return Beginning(
        tokens=tokens,
        n_known=n_known,
        special_tokens=base.special_tokens if keep else {},
        last=config.special_tokens if keep else (*base.special_tokens, *config.special_tokens),
        vocabulary=base._vocabulary,
        model=base._model,
    )


def options_of_base(base: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `ByteConfig` with the base's split pattern, which no other may replace."""
    if not isinstance(base, Tokenizer):
        raise TypeError(f"base must be a Tokenizer, not {type(base).__name__}: fastbpe.load makes one of a file")
    if base.mode != "byte":
        raise TrainingError(
            f"base= is a {base.mode} tokenizer, and only byte-level ones can be extended; train a new one on the "
            'old texts and the new ones with mode="codepoint", or add tokens with with_special_tokens'
        )
    if "pattern" in options:
        pattern = resolve_pattern(options["pattern"])[1]
        if pattern != base.pattern:
            raise TrainingError(
                f"pattern={shown_pattern(pattern, 60)} is not the base's, {shown_pattern(base.pattern, 60)}: old "
                "ids would no longer come from the same pieces; leave pattern= out"
            )
    return {**options, "pattern": base.pattern}
