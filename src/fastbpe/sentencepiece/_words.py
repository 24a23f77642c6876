"""Models of type word: a word begins at each U+2581, and is a piece or unknown. There are no merges."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._utils.caching import cached_property
from fastbpe.model import CodePointModel, PieceType
from fastbpe.sentencepiece._messages import serialize
from fastbpe.sentencepiece._model import LoadedModel, Text, to_bytes

_METASPACE = "\u2581".encode()


class WordTokens:
    """Tokens of one text, with the methods of `codepoint_pieces.Tokens` that `LoadedModel` calls."""

    def __init__(
        self, text: bytes, normalized: bytes, places: list[int], ids: list[int], ends: list[int], unknown_id: int
    ) -> None:
        """Create the tokens of a text (UTF-8).

        places: origin in the text of each byte of `normalized` and of its end; [] if no offsets are needed.
        ends: end of each token in `normalized`.
        unknown_id: id of the unknown token, whose piece is the part of `normalized` that it covers.
        """
        self._text = text
        self._normalized = normalized
        self._places = places
        self._ids = ids
        self._ends = ends
        self._unknown_id = unknown_id

    def ids(self) -> list[int]:
        return self._ids

    def to_array(self) -> array[int]:
        return array("i", self._ids)

    def byte_pieces(self, names: list[bytes]) -> list[bytes]:
        spans = zip(self._ids, pairwise([0, *self._ends]), strict=True)
        unknown = self._unknown_id
        return [self._normalized[start:end] if i == unknown else names[i] for i, (start, end) in spans]

    def pieces(self, names: list[str]) -> list[str]:
        spans = zip(self._ids, pairwise([0, *self._ends]), strict=True)
        unknown = self._unknown_id
        return [self._normalized[start:end].decode() if i == unknown else names[i] for i, (start, end) in spans]

    def offsets(self, *, in_characters: bool) -> list[tuple[int, int]]:
        if not self._ids:
            return []
        places = [self._places[at] for at in [0, *self._ends]]
        if in_characters and not self._text.isascii():
            ends = list(_character_ends(self._text))
            places = [bisect_right(ends, place) for place in places]
        return list(pairwise(places))

    def have_surface(self) -> list[bool]:
        """Tell for each token whether it has text; of the bytes of an unknown word, only the last one does."""
        return [start != end for start, end in pairwise([0, *self._ends])]


class WordEncoder:
    """Encoder that looks up each word. model: a model of type word."""

    def __init__(self, model: CodePointModel, normalizer: Normalizer) -> None:
        known = (PieceType.NORMAL, PieceType.USER_DEFINED)  # sentencepiece finds no other pieces in text
        pieces = zip(model.pieces, model.types, strict=True)
        self._ids = {piece: i for i, (piece, type_) in enumerate(pieces) if type_ in known}
        self._normalizer = normalizer
        self._unknown_id = model.types.find(PieceType.UNKNOWN)  # -1 only with byte fallback, where it is not used
        self._byte_ids: list[int] | None = None
        if model.trainer["byte_fallback"]:
            every = {piece: i for i, piece in enumerate(model.pieces) if model.types[i] == PieceType.BYTE}
            self._byte_ids = [every[b"<0x%02X>" % byte] for byte in range(256)]

    def encode(self, text: bytes, *, offsets: bool = False) -> WordTokens:
        """Encode UTF-8 text; each invalid byte counts as U+FFFD.

        Unknown words in a row become one id, or with byte fallback an id for each of their bytes.
        """
        places: list[int] = []
        if offsets:
            normalized, places = self._normalizer.normalize_with_offsets(text)
        else:
            normalized = self._normalizer.normalize(text)
        ids: list[int] = []
        ends: list[int] = []
        at = 0
        was_unknown = False
        for word in _words(normalized):
            found = self._ids.get(word)
            start, at = at, at + len(word)
            if found is None and self._byte_ids is not None:
                ids += [self._byte_ids[byte] for byte in word]
                ends += [start] * (len(word) - 1) + [at]
                continue
            if found is None and was_unknown:
                ends[-1] = at
                continue
            was_unknown = found is None
            ids.append(self._unknown_id if found is None else found)
            ends.append(at)
        return WordTokens(text, normalized, places, ids, ends, self._unknown_id)


class WordModel(LoadedModel):
    """Model of type word, with the methods of the other types."""

    @cached_property
    def _tokens(self) -> WordEncoder:  # type: ignore[override]  # as TokenEncoder, but without dropout
        return WordEncoder(self.model, self.normalizer)

    def ids(self, text: Text, num_threads: int | None) -> list[int]:
        return self._tokens.encode(to_bytes(text)).ids()

    def array(self, text: Text, num_threads: int | None) -> memoryview:
        return memoryview(self._tokens.encode(to_bytes(text)).to_array())

    def ids_of_all(self, texts: list[Text], num_threads: int | None) -> list[list[int]]:
        return [self.ids(text, num_threads) for text in texts]

    def arrays_of_all(self, texts: list[Text], num_threads: int | None) -> list[memoryview]:
        return [self.array(text, num_threads) for text in texts]

    def serialized(self, text: Text, tokens: WordTokens) -> bytes:  # type: ignore[override]  # WordTokens, not Tokens
        data = to_bytes(text)
        pieces, offsets = tokens.byte_pieces(self.model.pieces), tokens.offsets(in_characters=False)
        found = zip(pieces, tokens.ids(), offsets, tokens.have_surface(), strict=True)
        return serialize(
            data,
            [(piece, i, data[start:end] if has else None, start, end) for piece, i, (start, end), has in found],
        )


def _words(normalized: bytes) -> Iterator[bytes]:
    first, *others = normalized.split(_METASPACE)
    if first:
        yield first
    for rest in others:
        yield _METASPACE + rest


def _character_ends(text: bytes) -> Iterator[int]:
    """Yield the end of each character. Its first byte determines its length, as in `Tokens`."""
    at = 0
    while at < len(text):
        lead = text[at]
        at = min(at + (1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4), len(text))
        yield at
