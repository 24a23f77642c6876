"""LoadedModel: a model with the methods that a processor calls."""

from __future__ import annotations

import math
import struct
from itertools import pairwise

from fastbpe._core.encode.codepoint_pieces import TokenEncoder, Tokens
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.utf8_text import has_surrogates, n_valid, plain
from fastbpe._utils.caching import cached_property
from fastbpe.errors import InvalidTokenError
from fastbpe.model import CodePointModel, PieceType
from fastbpe.sentencepiece._arguments import checked_ids, id_error, ids_of_pieces, whole_number
from fastbpe.sentencepiece._errors import ModelError
from fastbpe.sentencepiece._facts import Facts
from fastbpe.sentencepiece._messages import Surfaces, encoded, serialize
from fastbpe.sentencepiece._settings import draw_seed, nbest_milliseconds
from fastbpe.tokenizer.families.codepoint_tables import make_normalizer, token_encoder
from fastbpe.tokenizer.internals import denormalizer_of
from fastbpe.tokenizer.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

Text = str | bytes

MODEL_TYPES = ("unigram", "bpe", "word", "char")  # types that fastbpe.sentencepiece runs and trains

_MAX_NBEST = 512  # sentencepiece's limit


class Sampling:
    """Random choice of a segmentation.

    A BPE model skips each merge with probability alpha. A unigram model draws a segmentation with a probability
    proportional to exp(alpha * score): one of all segmentations if nbest_size < 0, else one of the nbest_size
    best.
    """

    def __init__(self, nbest_size: int, alpha: float) -> None:
        if not math.isfinite(alpha) or alpha < 0:
            raise ModelError(f"INTERNAL: alpha={alpha}: must be a finite number, at least 0")
        check_nbest(nbest_size)
        self.nbest_size = nbest_size
        self.alpha = float(alpha)


def check_nbest(nbest_size: int) -> None:
    """Raise ModelError if sentencepiece does not return this many segmentations."""
    if nbest_size > _MAX_NBEST:
        raise ModelError(f"INTERNAL: nbest_size must be nbest_size <= {_MAX_NBEST}")


class LoadedModel(Facts):
    """Model of type unigram, bpe or char. A char model has no merges.

    `WordModel` overrides the methods that read texts.

    Raises VocabularyError if the model contradicts itself.
    """

    def __init__(self, model: CodePointModel) -> None:
        self.model = model
        self.tokenizer = Tokenizer(model)
        is_word = model.trainer["model_type"] == "word"
        super().__init__(None if is_word else self.tokenizer, model.types)

    # Encoding

    @cached_property
    def _tokens(self) -> TokenEncoder:
        return token_encoder(self.model, self.tokenizer)

    def ids(self, text: Text, num_threads: int | None) -> list[int]:
        if is_sound(text):
            return self.tokenizer.encode_ordinary(text, num_threads=num_threads)
        return self._tokens.encode(to_bytes(text)).ids()

    def array(self, text: Text, num_threads: int | None) -> memoryview:
        """Return the ids of a text in a new array of int32."""
        if not is_sound(text):
            return memoryview(self._tokens.encode(to_bytes(text)).to_array()).cast("B").cast("i")
        ids, _ = self.tokenizer._encode_to_array([text], frozenset(), (), num_threads)
        return memoryview(ids).cast("B").cast("i")

    def ids_of_all(self, texts: list[Text], num_threads: int | None) -> list[list[int]]:
        if all(map(is_sound, texts)):
            return self.tokenizer.encode_ordinary_batch(texts, num_threads=num_threads)
        return [self.ids(text, num_threads) for text in texts]

    def arrays_of_all(self, texts: list[Text], num_threads: int | None) -> list[memoryview]:
        if not all(map(is_sound, texts)):
            return [self.array(text, num_threads) for text in texts]
        ids, offsets = self.tokenizer._encode_to_array(texts, frozenset(), (), num_threads)
        flat, places = memoryview(ids).cast("B").cast("i"), memoryview(offsets).tolist()
        return [flat[start:end] for start, end in pairwise(places)]

    def tokens(self, text: Text, sampling: Sampling | None, *, offsets: bool = False) -> Tokens:
        data = to_bytes(text)
        model_type = self.model.trainer["model_type"]
        if sampling is not None and model_type not in ("bpe", "unigram"):
            raise ModelError("INTERNAL: SampleEncode is not available for the current model.")
        if sampling is not None and model_type == "unigram":
            if sampling.nbest_size in (0, 1):
                return self._tokens.encode(data, offsets=offsets)
            n = max(sampling.nbest_size, 0)
            milliseconds = nbest_milliseconds()
            return self._tokens.sample(
                data, draw_seed(), alpha=sampling.alpha, n_best=n, offsets=offsets, milliseconds=milliseconds
            )
        if sampling is None:
            return self._tokens.encode(data, offsets=offsets)
        return self._tokens.encode(data, offsets=offsets, dropout=sampling.alpha, seed=draw_seed())

    def best(self, text: Text, n: int, *, offsets: bool = False) -> list[tuple[Tokens, float]]:
        """Return the n best segmentations with their scores.

        Raises ModelError if the model is not of type unigram, or n is above 512.
        """
        check_nbest(n)
        if self.model.trainer["model_type"] != "unigram":
            raise ModelError("INTERNAL: NBestEncode is not available for the current model.")
        return self._tokens.encode_best(to_bytes(text), n, offsets=offsets, milliseconds=nbest_milliseconds())

    def pieces(self, tokens: Tokens, as_bytes: bool) -> list[str] | list[bytes]:
        return tokens.byte_pieces(self.model.pieces) if as_bytes else tokens.pieces(self.names)

    def offset_mapping(self, tokens: Tokens, as_bytes: bool) -> dict[str, Any]:
        return {
            "ids": tokens.ids(),
            "pieces": self.pieces(tokens, as_bytes),
            "offsets": tokens.offsets(in_characters=not as_bytes),
        }

    def serialized(self, text: Text, tokens: Tokens) -> bytes:
        data = to_bytes(text)
        pieces = tokens.byte_pieces(self.model.pieces)
        offsets = tokens.offsets(in_characters=False)
        return serialize(data, encoded(data, self.model.types, pieces, tokens.ids(), offsets))

    # Decoding

    def text(self, ids: Any) -> str:
        ids = checked_ids(ids)
        try:
            return self.tokenizer.decode(ids)
        except InvalidTokenError:
            raise id_error(ids) from None
        except TypeError:  # an item such as numpy.float32, which whole_number converts
            pass
        try:
            return self.tokenizer.decode([*map(whole_number, ids)])
        except (InvalidTokenError, TypeError):
            raise id_error(ids) from None

    def texts(self, batch: list[Any]) -> list[str]:
        try:
            return self.tokenizer.decode_batch(batch)
        except (InvalidTokenError, TypeError):
            return [self.text(ids) for ids in batch]

    def pieces_of(self, ids: Any) -> list[bytes]:
        """Return the piece of each id.

        Raises the error of `id_error` if an id is not an integer or has no piece.
        """
        pieces = self.bytes_of_ids(ids) if type(ids) is list else None
        if pieces is None:
            every = self.model.pieces
            pieces = [every[i] for i in ids_of_pieces(ids, len(every))[1]]
        return pieces

    def text_of_pieces(self, pieces: Sequence[bytes]) -> bytes:
        find = self.ids_by_piece.get
        ids = [token_id for piece in pieces if (token_id := find(piece)) is not None]
        if len(ids) == len(pieces):
            return self.tokenizer.decode(ids).encode()
        return self.decoded(pieces)[0]

    def decoded(self, pieces: Sequence[bytes]) -> tuple[bytes, list[Any]]:
        """Return (the text of pieces as UTF-8, the tuples that `Surfaces.of` returns).

        Pieces may be unknown. Their offsets are in the text as it is before the model's rules for decoded text.
        """
        text, found = self._surfaces.of(pieces)
        denormalizer = denormalizer_of(self.tokenizer)
        return (text if denormalizer is None else denormalizer.normalize(text)), found

    @cached_property
    def _surfaces(self) -> Surfaces:
        model = self.model
        return Surfaces(
            model.types,
            self.ids_by_piece,
            self.unknown_id,
            model.trainer["unk_surface"].encode("utf-8", "surrogateescape"),
            trims=model.normalizer["remove_extra_whitespaces"],
            dummy_prefix=model.normalizer["add_dummy_prefix"],
        )

    # Pieces

    @property
    def piece_bytes(self) -> list[bytes]:
        """Return the bytes of each id's piece, as stored in the file."""
        return self.model.pieces

    @cached_property
    def names(self) -> list[str]:
        return [piece.decode() for piece in self.model.pieces]

    @property
    def ids_by_piece(self) -> dict[bytes, int]:
        return self.model.ids

    def id_or_unknown(self, piece: bytes) -> int:
        return self.ids_by_piece.get(piece, self.unknown_id)

    @cached_property
    def unknown_id(self) -> int:
        """Return the id for unknown text; -1 if the model lacks it."""
        return self.model.types.find(PieceType.UNKNOWN)

    @cached_property
    def special_ids(self) -> tuple[int, ...]:
        """Return the ids of `<unk>`, `<s>`, `</s>` and `<pad>`; -1 for each that is missing."""
        controls = ("bos_piece", "eos_piece", "pad_piece")
        unknown = self._special_id("unk_piece", PieceType.UNKNOWN)
        return (unknown, *(self._special_id(option, PieceType.CONTROL) for option in controls))

    def _special_id(self, option: str, piece_type: int) -> int:
        found = self.id_or_unknown(self.model.trainer[option].encode("utf-8", "surrogateescape"))
        return found if found >= 0 and self.model.types[found] == piece_type else -1

    @cached_property
    def scores(self) -> tuple[float, ...]:
        return struct.unpack(f"={self.model.n_pieces}f", self.model.scores)

    # Normalizing

    @cached_property
    def normalizer(self) -> Normalizer:
        return make_normalizer(self.model)


def is_sound(text: Text) -> bool:
    """Tell whether a text is valid UTF-8. Raises ModelError for surrogates."""
    if isinstance(text, str):
        if not text.isascii() and has_surrogates(text):
            raise ModelError(
                "the text contains surrogates, which UTF-8 cannot encode; replace them: text.encode('utf-8', "
                "'replace')"
            )
        return True
    return n_valid(text) == len(text)


def to_bytes(text: Text) -> bytes:
    """Return the UTF-8 of a str, or bytes, even invalid ones, unchanged. Raises ModelError for surrogates."""
    if isinstance(text, str):
        is_sound(text)
        return plain(text).encode()
    return plain(text)
