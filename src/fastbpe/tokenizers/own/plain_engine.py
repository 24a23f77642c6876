"""Engine of the tokenizers that fastbpe's core does not run: right, and slow.

A tokenizer of single bytes with the same normalizer and the same added tokens, a carrier, runs in the core. It
finds the added tokens and normalizes the text between them, with the place of each byte. The rest is Python: the
pre-tokenizer's steps (`pieces`), and the merges of each piece (`word_merging`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Special
from fastbpe.tokenizer.words import find_words
from fastbpe.tokenizers.own import components, document
from fastbpe.tokenizers.own.models import BPE
from fastbpe.tokenizers.own.pieces import Piece, Span, characters_of, places_of, split_piece
from fastbpe.tokenizers.own.pre_tokenized_string import WRITTEN, of_sections
from fastbpe.tokenizers.own.token import Token

_CHARACTERS = sorted(BYTE_OF_CHARACTER)  # the carrier's token of each id
_BYTES = [BYTE_OF_CHARACTER[character] for character in _CHARACTERS]
_STEP = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


class Columns(NamedTuple):
    """Columns of an encoding, of one item an id."""

    ids: list[int]
    tokens: list[str]
    words: list[int]
    spans: list[Span]


class _Found(NamedTuple):
    """Added token in a text."""

    id: int
    text: str
    span: Span


class PlainEngine:
    """Encoder of a tokenizer, with the methods of fastbpe's that encodings need.

    Args:
        described: JSON of the whole tokenizer, without settings and post-processor.
        model: its model.

    Raises:
        FastbpeError: the core does not run the normalizer or a pattern.
        ImportError: the model has dropout.
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
        vocab = {character: i for i, character in enumerate(_CHARACTERS)}
        self._carrier = load(
            document.to_bytes(
                {
                    **described,
                    "added_tokens": carried,
                    "pre_tokenizer": _STEP,
                    "decoder": {**_STEP, "use_regex": True},
                    "model": {"type": "BPE", "vocab": vocab, "merges": []},
                }
            )
        )
        pre_tokenizer = described["pre_tokenizer"]
        self._steps = [] if pre_tokenizer is None else components.flat(pre_tokenizer)
        known = [step for step in self._steps if step["type"] != WRITTEN]
        self._is_written = len(known) < len(self._steps)
        split_piece(Piece("a", [(0, 1)]), known)  # raises an error for what cannot be run
        self._merger = model.merger()
        self._names = {**model.names}  # an added token may have the id of another token, after training

    def encode(self, text: str, *, allowed_special: Special) -> list[int]:
        """Return the ids of a text."""
        if self._is_written:
            return self._by_written(text, allowed_special).ids
        ids: list[int] = []
        for section in self._sections(text, allowed_special):
            if isinstance(section, _Found):
                ids.append(section.id)
            else:
                for piece in split_piece(section, self._steps):
                    ids += self._merger.merge(piece.text).ids
        return ids

    def encode_batch(self, texts: Sequence[str], *, allowed_special: Special) -> list[list[int]]:
        """Return the ids of texts."""
        return [self.encode(text, allowed_special=allowed_special) for text in texts]

    def encode_ordinary_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts, in which special tokens are text."""
        return self.encode_batch(texts, allowed_special=frozenset())

    def columns(self, text: str, allowed_special: Special) -> Columns:
        """Return the ids of a text, the token and the word of each, and its start and end in characters."""
        if self._is_written:
            return self._by_written(text, allowed_special)
        made = Columns([], [], [], [])
        word = 0
        for section in self._sections(text, allowed_special):
            if isinstance(section, _Found):
                made.ids.append(section.id)
                made.tokens.append(section.text)
                made.words.append(word)
                made.spans.append(section.span)
                word += 1
                continue
            for piece in split_piece(section, self._steps):
                self._add(made, piece, word, text)
                word += 1
        return made

    def _by_written(self, text: str, allowed: Special) -> Columns:
        """Return the columns of a text by a pre-tokenizer written in Python, which gets all sections at once."""
        sections = [
            (Piece("", [section.span]), [Token(section.id, section.text, (0, _n_bytes(text, section.span)))])
            if isinstance(section, _Found)
            else (section, None)
            for section in self._sections(text, allowed)
        ]
        made = of_sections(text, sections)
        made.apply(self._steps)
        made.tokenize(self._tokens)
        columns = made.to_encoding().columns
        return Columns(columns["ids"], columns["tokens"], columns["words"], columns["offsets"])

    def _tokens(self, piece: str) -> list[Token]:
        """Return the tokens of a piece."""
        ids, ends = self._merger.merge(piece)
        return [Token(i, self._names[i], span) for i, span in zip(ids, pairwise([0, *ends]), strict=True)]

    def _add(self, made: Columns, piece: Piece, word: int, text: str) -> None:
        """Add the tokens of a piece of a text."""
        ids, ends = self._merger.merge(piece.text)
        made.ids.extend(ids)
        made.tokens.extend(map(self._names.__getitem__, ids))
        made.words.extend([word] * len(ids))
        places = places_of(piece.text)
        start = 0
        for end in ends:
            if end <= len(places):
                made.spans.append((piece.spans[places[start]][0], piece.spans[places[end - 1]][1]))
            else:  # bytes of a prefix or suffix: tokenizers takes the place in the piece for one in the text
                made.spans.append(characters_of(places_of(text), start, end))
            start = end

    def _sections(self, text: str, allowed: Special) -> Iterator[Piece | _Found]:
        """Yield the added tokens of a text and, normalized, the text between them."""
        ids, spans = self._carrier.encode_with_offsets(text, allowed_special=allowed, disallowed_special=())
        words = find_words(self._carrier, text, ids, [""] * len(ids), allowed_special=allowed)
        assert words is not None  # it is a byte-level one
        at = 0
        for _, group in groupby(words.numbers):  # an added token is a word of its own
            end = at + sum(1 for _ in group)
            if at in words.found:
                yield _Found(self._ids[ids[at]], words.found[at], spans[at])
            else:
                yield _piece(bytes(map(_BYTES.__getitem__, ids[at:end])), spans[at:end])
            at = end


def _n_bytes(text: str, span: Span) -> int:
    return len(text[slice(*span)].encode())


def _piece(data: bytes, spans: Sequence[Span]) -> Piece:
    """Return the piece of some bytes of UTF-8 with the span of each."""
    text = data.decode()
    if len(text) == len(data):
        return Piece(text, [*spans])
    starts = accumulate((len(character.encode()) for character in text[:-1]), initial=0)
    return Piece(text, [spans[start] for start in starts])
