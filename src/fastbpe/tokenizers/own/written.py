"""Engine of a tokenizer whose pre-tokenizer is an object written in Python.

tokenizers calls such an object once a text, with all that lies between the added tokens. A tokenizer of single
bytes with the same normalizer and the same added tokens, a carrier, finds these and normalizes the text between
them, with the place of each byte. The core merges each piece that the object leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Special
from fastbpe.tokenizer.words import find_words
from fastbpe.tokenizers.own import components, document
from fastbpe.tokenizers.own.encoding import Encoding
from fastbpe.tokenizers.own.models import BPE
from fastbpe.tokenizers.own.pieces import Piece, Span
from fastbpe.tokenizers.own.pre_tokenized_string import WRITTEN, of_sections
from fastbpe.tokenizers.own.token import Token

_CHARACTERS = sorted(BYTE_OF_CHARACTER)  # the carrier's token of each id
_BYTES = [BYTE_OF_CHARACTER[character] for character in _CHARACTERS]
_STEP = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def is_written(pre_tokenizer: Mapping[str, Any] | None) -> bool:
    """Return True if a step of a pre-tokenizer is written in Python."""
    return pre_tokenizer is not None and any(step["type"] == WRITTEN for step in components.flat(pre_tokenizer))


class WrittenEngine:
    """Encoder of single texts.

    Args:
        described: JSON of the whole tokenizer, without settings and post-processor.
        model: its model.

    Raises:
        FastbpeError: the core does not run the normalizer.
    """

    def __init__(self, described: Mapping[str, Any], model: BPE) -> None:
        carried = []
        following = len(_CHARACTERS)
        self._ids: dict[int, int] = {}
        for token in described["added_tokens"]:
            is_byte = token["content"] in BYTE_OF_CHARACTER
            i = _CHARACTERS.index(token["content"]) if is_byte else following
            following += not is_byte
            carried.append({**token, "id": i})
            self._ids[i] = token["id"]
        self._carrier = load(
            document.to_bytes(
                {
                    **described,
                    "added_tokens": carried,
                    "pre_tokenizer": _STEP,
                    "decoder": {**_STEP, "use_regex": True},
                    "model": {
                        "type": "BPE",
                        "vocab": {character: i for i, character in enumerate(_CHARACTERS)},
                        "merges": [],
                    },
                }
            )
        )
        self._steps = components.flat(described["pre_tokenizer"])
        self._model = model

    def encode(self, text: str, allowed: Special) -> Encoding:
        """Return the encoding of a text without post-processor."""
        made = of_sections(text, self._sections(text, allowed))
        made.apply(self._steps)
        made.tokenize(self._model.tokenize)
        return made.to_encoding()

    def _sections(self, text: str, allowed: Special) -> Iterator[tuple[Piece, list[Token] | None]]:
        """Yield the added tokens of a text, each with itself as its token, and normalized text between them."""
        ids, spans = self._carrier.encode_with_offsets(text, allowed_special=allowed, disallowed_special=())
        words = find_words(self._carrier, text, ids, [""] * len(ids), allowed_special=allowed)
        assert words is not None  # it is a byte-level one
        at = 0
        for _, group in groupby(words.numbers):  # an added token is a word of its own
            end = at + sum(1 for _ in group)
            if at in words.found:
                n_bytes = len(text[slice(*spans[at])].encode())
                token = Token(self._ids[ids[at]], words.found[at], (0, n_bytes))
                yield Piece("", [spans[at]]), [token]
            else:
                yield _piece(bytes(map(_BYTES.__getitem__, ids[at:end])), spans[at:end]), None
            at = end


def _piece(data: bytes, spans: Sequence[Span]) -> Piece:
    """Return the piece of some bytes of UTF-8 with the span of each."""
    text = data.decode()
    if len(text) == len(data):
        return Piece(text, [*spans])
    starts = accumulate((len(character.encode()) for character in text[:-1]), initial=0)
    return Piece(text, [spans[start] for start in starts])
