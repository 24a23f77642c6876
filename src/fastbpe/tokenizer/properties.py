"""What a tokenizer tells of itself: its tokens, how it splits, where it comes from."""

from __future__ import annotations

from typing import Any

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.caching import cached_property
from fastbpe.errors import InvalidTokenError
from fastbpe.model import AddedToken, Model
from fastbpe.patterns import Pattern
from fastbpe.tokenizer import components
from fastbpe.tokenizer.special_tokens import SpecialTokens


class Described:
    """All that can be asked of a tokenizer besides ids and text. What it is made of, `Tokenizer` sets."""

    _model: Model
    _vocabulary: Vocabulary
    _decoder: Decoder
    _special: SpecialTokens
    _pattern: Pattern
    _pattern_name: str | None

    @property
    def vocab_size(self) -> int:
        """How many ids are tokens, special tokens included."""
        return self._vocabulary.n_tokens + len(self._special.encoded)

    @property
    def n_vocab(self) -> int:
        """One more than the greatest id: the rows that an embedding needs. Some ids below may be no tokens."""
        return self._decoder.n_ids

    @property
    def max_token_value(self) -> int:
        """The greatest id."""
        return self._decoder.n_ids - 1

    @property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens and their ids, in the order of the ids."""
        return dict(self._special.ids)

    @property
    def special_tokens_set(self) -> frozenset[str]:
        """The special tokens."""
        return self._special.set

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`. Raises InvalidTokenError (a KeyError) if there is no such token."""
        try:
            return self._special.ids["<|endoftext|>"]
        except KeyError:
            raise InvalidTokenError("this tokenizer has no special token '<|endoftext|>'") from None

    @property
    def name(self) -> str | None:
        """The name it was given or is published under."""
        return self._model.name

    @property
    def mode(self) -> str:
        """What the base symbols are: "byte"."""
        return "byte"

    @property
    def pattern(self) -> Pattern:
        """The regex that splits text into pieces, or a tuple of those that do in turn; None: no splitting.

        None too where `pre_tokenizers` says how text is split, which no regex can.
        """
        return self._pattern

    @property
    def pattern_name(self) -> str | None:
        """The name in `PATTERNS` of the split pattern, if it has one."""
        return self._pattern_name

    @property
    def pre_tokenizers(self) -> list[dict[str, Any]]:
        """The steps that split text where no `pattern` can say them, as a tokenizer.json describes them."""
        return [dict(step) for step in self._model.pre_tokenizers]

    @property
    def normalizers(self) -> list[dict[str, Any]]:
        """What becomes of text before it is split, as a tokenizer.json describes it; []: nothing."""
        return [dict(step) for step in self._model.normalizers]

    @property
    def added_tokens(self) -> list[AddedToken]:
        """The special tokens with rules of their own, and tokens found in any text though they are not special."""
        return list(self._special.added)

    @property
    def training_report(self) -> dict[str, Any]:
        """What `train` was asked for and found; empty for a tokenizer that was not trained here."""
        return dict(self._model.training)

    @property
    def merges(self) -> list[tuple[int, int]]:
        """Pairs of ids in the order they are merged, as given, or else recovered from the ranks: a new list.

        In a ranked vocabulary that was not made by merging alone, a token has no merge if merging its bytes
        leaves several tokens, and may be made of tokens with greater ids than its own.
        """
        listed = self._model.merge_list()
        if listed is not None:
            return [(left, right) for left, right, _ in listed]
        return list(recover_merges(self._vocabulary).values())

    @property
    def vocab(self) -> list[bytes]:
        """The bytes of every id below n_vocab, b"" where an id is no token: a new list, worth keeping."""
        tokens = self._vocabulary.tokens()
        tokens += [b""] * (self.n_vocab - len(tokens))
        for token_id, token in self._special.encoded:
            tokens[token_id] = token
        return tokens

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides ids: tokens, merges, pattern, special tokens, rules."""
        if self._model.fingerprint:
            return self._model.fingerprint
        rule = (self._model.merges_rule, self._vocabulary.whole_piece_first, self._pattern)
        import hashlib  # here: 2 ms that loading a native file does not need

        digest = hashlib.sha256(
            repr(("byte", *rule, list(self._special.ids.items()), *components.extras(self._model))).encode()
        )
        tables = self._vocabulary.sections()
        for part in (tables["token_ends"], tables["token_bytes"]):
            digest.update(part)
        if self._model.merges_rule == "merges":
            digest.update(self._model.merges)
        return digest.hexdigest()

    def is_special_token(self, token_id: int) -> bool:
        """Whether an id is a special token's."""
        return token_id in self._special.names
