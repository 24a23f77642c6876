"""Tokenizers for constrained decoding (xgrammar, llguidance, outlines-core), which needs the bytes of tokens."""

from __future__ import annotations

from fastbpe._utils.arguments import integer
from fastbpe.errors import InvalidTokenError
from fastbpe.tokenizer.internals import surfaces_of
from fastbpe.tokenizer.tokenizer import Tokenizer


class GuidedTokenizer:
    r"""A tokenizer in the form that llguidance accepts, with the token table for xgrammar and outlines-core.

    The bytes of a token are the bytes that it adds to existing text. `decode_bytes([id])` differs: it decodes the
    id as a whole text, so that a code-point vocabulary drops the first space.

    Args:
        tokenizer: the tokenizer.
        eos_token_id: id that ends a text. None: the tokenizer's.

    Attributes:
        tokens: list of bytes – bytes of each id; for a special token, its name; b"" for an id without a token.
        special_token_ids: list of int – ids of special tokens, which are not text, and in code-point mode the
            id of the unknown token.
        eos_token_id: int – the id that ends a text.
        bos_token_id: int or None – the id that begins a text.

    Raises:
        ValueError: the tokenizer has no end-of-text token, and eos_token_id is not given.
        TypeError: eos_token_id is not an integer.
        InvalidTokenError: eos_token_id is not a token of the vocabulary.

    >>> made = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<end>": 257})
    >>> guided = GuidedTokenizer(made, eos_token_id=257)
    >>> guided.tokens[255:], guided.special_token_ids, guided("ab")
    ([b'\xff', b'ab', b'<end>'], [257], [256])
    >>> guided.text_tokens[255:]
    [b'\xff', b'ab', b'']
    """

    def __init__(self, tokenizer: Tokenizer, *, eos_token_id: int | None = None) -> None:
        eos = tokenizer.eos_token_id if eos_token_id is None else eos_token_id
        if eos is None:
            raise ValueError("the tokenizer has no end-of-text token (role eos): pass eos_token_id=")
        self.eos_token_id = integer("eos_token_id", eos)
        self.bos_token_id = tokenizer.bos_token_id
        special = {*tokenizer.special_tokens.values()}
        # In other modes, an unknown token that is not special is decoded as the text of its name.
        if tokenizer.mode == "codepoint" and tokenizer.unk_token_id is not None:
            special.add(tokenizer.unk_token_id)
        self.special_token_ids = sorted(special)
        self.tokens: list[bytes] = []
        surface = surfaces_of(tokenizer).token
        for token_id in range(tokenizer.n_vocab):
            try:
                name = tokenizer.id_to_token(token_id)
            except KeyError:
                name = b""
            is_text = name and token_id not in special
            self.tokens.append(surface(token_id) if is_text else name)
        if not 0 <= self.eos_token_id < len(self.tokens) or not self.tokens[self.eos_token_id]:
            raise InvalidTokenError(
                f"eos_token_id={eos} is not a token of this vocabulary (its ids are between 0 and "
                f"{tokenizer.n_vocab - 1}{', with gaps' if 0 <= self.eos_token_id < len(self.tokens) else ''})"
            )
        self._tokenizer = tokenizer

    @property
    def text_tokens(self) -> list[bytes]:
        """Bytes that each id adds to a text: `tokens`, but with b"" for special tokens."""
        found = [*self.tokens]
        for token_id in self.special_token_ids:
            found[token_id] = b""
        return found

    def __call__(self, text: str | bytes) -> list[int]:
        """Encode a text. Special tokens in it are ordinary text."""
        return self._tokenizer.encode_ordinary(text)
