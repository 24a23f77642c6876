"""Decoding of ids or pieces to text: one sequence or many."""

from __future__ import annotations

from fastbpe.sentencepiece import _texts
from fastbpe.sentencepiece._arguments import checked_ids, items_of, not_integers
from fastbpe.sentencepiece._base import Base
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, MissingItemError, out_of_range
from fastbpe.sentencepiece._messages import mapping, serialize
from fastbpe.sentencepiece._processor_methods import Methods
from fastbpe.sentencepiece._threads import ThreadPool, pool_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RETURN_TYPES = (str, bytes, "serialized_proto", "offset_mapping")  # "proto" is handled before


class Decodes(Base):
    """Decoding methods of a processor."""

    def _decode_any(
        self,
        input: Any,
        return_type: Any,
        out_type: Any,
        num_threads: int | None,
        thread_pool: ThreadPool | None,
        return_bytes: bool | None,
    ) -> Any:
        """Handle a call of `decode` that the compiled code does not handle."""
        return_type = self._resolve_return_type(return_type, out_type, default=str)
        if return_bytes is not None and return_type != "offset_mapping":
            raise ArgumentError("return_bytes is only supported when return_type='offset_mapping'")
        self._threads(num_threads)  # checks the type
        if return_type == "proto":
            serialized = self.Decode(input, return_type="serialized_proto", thread_pool=thread_pool)
            is_batch = isinstance(serialized, list)
            return list(map(_texts.parse, serialized)) if is_batch else _texts.parse(serialized)
        if input is None or (isinstance(input, (str, bytes)) and not input):
            input = []
        if not _is_sequence(input):
            input = [input]
        _check_items(input)
        _check_return_type(return_type)
        is_batch = input.ndim > 1 if hasattr(input, "ndim") else len(input) > 0 and _is_sequence(input[0])
        if not is_batch:
            are_pieces = _are_pieces(input, return_type)
            as_bytes = bool(return_bytes) or (are_pieces and isinstance(input[0], bytes))
            return self._decode_one(input, are_pieces, return_type, as_bytes)
        batch = items_of(input)
        first: Any = next((item for item in batch if _is_sequence(item) and len(item)), ())
        are_pieces = _are_pieces(first, return_type)
        if thread_pool is not None:
            pool_threads(thread_pool)  # checks the type
        model = self._model  # read once, as in _loaded()
        if not are_pieces and return_type is str and model is not None:
            return model.texts([checked_ids(ids) for ids in batch])
        as_bytes = bool(return_bytes) or (are_pieces and isinstance(first[0], bytes))
        return [self._decode_one(sequence, are_pieces, return_type, as_bytes) for sequence in batch]

    def _decode_one(self, input: Any, are_pieces: bool, return_type: Any, as_bytes: bool) -> Any:
        """Decode one sequence. as_bytes: return text and pieces as bytes, also if return_type is str."""
        if self._model is None and not are_pieces and len(input):
            raise out_of_range()
        model = self._loaded()
        if are_pieces:
            pieces = _pieces(input)
            if return_type is bytes or return_type is str:
                text = model.text_of_pieces(pieces)
                return text if as_bytes or return_type is bytes else text.decode()
        else:
            ids = checked_ids(input)
            if return_type is str:
                return model.text(ids)
            if return_type is bytes:
                return model.text(ids).encode()
            pieces = model.pieces_of(ids)
        text, found = model.decoded(pieces)
        if return_type == "offset_mapping":
            return mapping(text, found, as_bytes)
        return serialize(text, found)

    def decode_pieces_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Decode as `decode` does, to a message of the protobuf package."""
        return self.Decode(input=input, return_type="proto", **kwargs)

    Decode = Detokenize = detokenize = Methods.decode
    DecodePieces = Methods.decode_pieces
    DecodeIds = Methods.decode_ids
    DecodePiecesAsProto = DecodeIdsAsProto = decode_ids_as_proto = decode_pieces_as_proto


def _check_return_type(return_type: Any) -> None:
    if return_type not in _RETURN_TYPES:
        raise ArgumentError(f"unknown return_type={return_type} or input type")


def _check_items(input: Any) -> None:
    """Raise an error unless the input has a length and, if it is not empty, an item 0."""
    try:
        if len(input):
            input[0]
    except TypeError:  # an array without dimensions, or a set
        raise not_integers() from None
    except KeyError:
        raise MissingItemError(
            f"the input is a {type(input).__name__} without the key 0: pass a list of ids"
        ) from None


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def _are_pieces(sequence: Any, return_type: Any) -> bool:
    """Tell whether the first item is a piece. An array of str counts as ids, which sentencepiece refuses.

    For an offset mapping, so does everything except lists and tuples.
    """
    if hasattr(sequence, "dtype") or (return_type == "offset_mapping" and not isinstance(sequence, (list, tuple))):
        return False
    return len(sequence) > 0 and isinstance(sequence[0], (str, bytes))


def _pieces(sequence: Any) -> list[bytes]:
    out = []
    for piece in items_of(sequence):
        if not isinstance(piece, (str, bytes, bytearray)):
            raise ArgumentTypeError("List elements must be str or bytes")
        try:
            out.append(piece.encode() if isinstance(piece, str) else bytes(piece))
        except UnicodeEncodeError:
            raise ArgumentTypeError("List elements must be str or bytes") from None
    return out
