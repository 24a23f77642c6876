"""Encoding to every form of ids and pieces."""

from __future__ import annotations

import struct
from operator import index

from fastbpe._utils import optional_imports
from fastbpe._utils.short_reprs import short_repr
from fastbpe.formats.sentencepiece.protobuf import bytes_field, fixed32_field
from fastbpe.sentencepiece import _texts
from fastbpe.sentencepiece._arguments import flag, int32
from fastbpe.sentencepiece._base import Base
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, ModelError
from fastbpe.sentencepiece._model import LoadedModel, Sampling, Text, is_sound
from fastbpe.sentencepiece._processor_methods import Methods, VectorBuffer
from fastbpe.sentencepiece._threads import ThreadPool, pool_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NBESTS, _SCORE = 1, 3  # fields of NBestSentencePieceText, and of SentencePieceText
#: Return types for which add_bos, add_eos, reverse and emit_unk_piece must be False.
_PLAIN = ("serialized_proto", "proto", "offset_mapping")


class Encodes(Base):
    """Encoding methods of a processor."""

    def _encode_any(
        self,
        input: Any,
        add_bos: bool | None,
        add_eos: bool | None,
        reverse: bool | None,
        emit_unk_piece: bool | None,
        enable_sampling: bool | None,
        nbest_size: int | None,
        alpha: float | None,
        num_threads: int | None,
        thread_pool: ThreadPool | None,
        return_type: Any,
        out_type: Any,
        return_bytes: bool | None,
    ) -> Any:
        """Handle a call of `encode` that the compiled code does not handle."""
        return_type = self._resolve_return_type(return_type, out_type)
        if return_bytes is not None and return_type != "offset_mapping":
            raise ArgumentError("return_bytes is only supported when return_type='offset_mapping'")
        sampling = self._sampling(enable_sampling, nbest_size, alpha)
        threads = self._threads(num_threads)
        frame = _Frame(self, add_bos, add_eos, reverse, emit_unk_piece, return_type)
        if return_bytes is None:
            return_bytes = isinstance(input[0] if isinstance(input, list) and input else input, bytes)
        if not isinstance(input, list):
            if not isinstance(input, (str, bytes)):
                raise ArgumentTypeError("Input must be str or bytes")
            return self._encode_one(input, return_type, frame, sampling, threads, return_bytes)
        texts = [_element(text) for text in input]
        if thread_pool is not None:
            threads = pool_threads(thread_pool)
        return self._encode_all(texts, return_type, frame, sampling, threads, return_bytes)

    def _encode_one(
        self,
        text: Text,
        return_type: Any,
        frame: _Frame,
        sampling: Sampling | None,
        threads: int | None,
        return_bytes: bool,
    ) -> Any:
        """Encode one text. threads: result of `_threads`; return_bytes: for an offset mapping, as in `encode`."""
        model = self._loaded()
        if return_type is int:
            ids = model.ids(text, threads) if sampling is None else model.tokens(text, sampling).ids()
            return frame.around(ids, model)
        if return_type == "numpy":
            sampled = None if sampling is None else model.tokens(text, sampling).to_array()
            view = model.array(text, threads) if sampled is None else memoryview(sampled).cast("B").cast("i")
            return frame.around_array(view, model)
        if return_type is str or return_type is bytes:
            as_bytes = return_type is bytes
            return frame.around_pieces(model.pieces(model.tokens(text, sampling), as_bytes), model, as_bytes)
        tokens = model.tokens(text, sampling, offsets=True)
        if return_type == "offset_mapping":
            return model.offset_mapping(tokens, return_bytes)
        serialized = model.serialized(text, tokens)
        return serialized if return_type == "serialized_proto" else _texts.parse(serialized)

    def _encode_all(
        self,
        texts: list[Text],
        return_type: Any,
        frame: _Frame,
        sampling: Sampling | None,
        threads: int | None,
        return_bytes: bool,
    ) -> list[Any]:
        if not texts:
            return []
        model = self._loaded()
        if sampling is None and return_type is int:
            return [frame.around(ids, model) for ids in model.ids_of_all(texts, threads)]
        if sampling is None and return_type == "numpy":
            return [frame.around_array(view, model) for view in model.arrays_of_all(texts, threads)]
        return [self._encode_one(text, return_type, frame, sampling, threads, return_bytes) for text in texts]

    def encode_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Encode as `encode` does, to a message of the protobuf package."""
        return self.Encode(input=input, return_type="proto", **kwargs)

    def encode_as_offset_mapping(self, input: Any, **kwargs: Any) -> Any:
        """Encode as `encode` does, to a dict of ids, pieces and offsets."""
        return self.Encode(input=input, return_type="offset_mapping", **kwargs)

    def sample_encode_as_pieces(
        self, input: Any, nbest_size: int | None = None, alpha: float | None = None, **kwargs: Any
    ) -> Any:
        """Encode with a random segmentation, and return its pieces."""
        return self.Encode(
            input=input, nbest_size=nbest_size, alpha=alpha, return_type=str, enable_sampling=True, **kwargs
        )

    def sample_encode_as_ids(
        self, input: Any, nbest_size: int | None = None, alpha: float | None = None, **kwargs: Any
    ) -> Any:
        """Encode with a random segmentation, and return its ids."""
        return self.Encode(
            input=input, nbest_size=nbest_size, alpha=alpha, return_type=int, enable_sampling=True, **kwargs
        )

    def sample_encode_as_numpy(
        self, input: Any, nbest_size: int | None = None, alpha: float | None = None, **kwargs: Any
    ) -> Any:
        """Encode with a random segmentation, and return its ids as an array."""
        return self.Encode(
            input=input, nbest_size=nbest_size, alpha=alpha, return_type="numpy", enable_sampling=True, **kwargs
        )

    def sample_encode_as_proto(
        self, input: Any, nbest_size: int | None = None, alpha: float | None = None, **kwargs: Any
    ) -> Any:
        """Encode with a random segmentation, and return it as a message of the protobuf package."""
        return self.Encode(
            input=input, nbest_size=nbest_size, alpha=alpha, return_type="proto", enable_sampling=True, **kwargs
        )

    def nbest_encode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        nbest_size: int | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Return the n best segmentations of a text, or of each text of a list, the best first.

        Only a unigram model has several; models of other types raise RuntimeError.
        """
        return_type = self._resolve_return_type(return_type, out_type)
        outs = []
        for text in input if isinstance(input, list) else [input]:
            # The checks are in the loop: an empty list raises nothing, as in sentencepiece.
            if return_type == "offset_mapping":
                raise ArgumentError(f"unknown return_type={return_type}")
            frame = _Frame(self, add_bos, add_eos, reverse, emit_unk_piece, return_type)
            if not isinstance(text, (str, bytes)):
                raise ArgumentTypeError("Input must be str or bytes")
            n = max(int32("nbest_size", self._nbest_size if nbest_size is None else nbest_size), 1)
            outs.append(self._best_of_one(text, n, return_type, frame))
        return outs if isinstance(input, list) else outs[0]

    def _best_of_one(self, text: Text, n: int, return_type: Any, frame: _Frame) -> Any:
        """Return the n best segmentations of a text: a list, or one message with all of them."""
        model = self._loaded()
        if return_type in ("serialized_proto", "proto"):
            found = model.best(text, n, offsets=True)
            texts = [model.serialized(text, tokens) + _score_field(score) for tokens, score in found]
            message = b"".join(bytes_field(_NBESTS, one) for one in texts)
            if return_type == "serialized_proto":
                return message
            return _texts.parse(message, "NBestSentencePieceText")
        ways = [tokens for tokens, _ in model.best(text, n)]
        if return_type is int:
            return [frame.around(tokens.ids(), model) for tokens in ways]
        if return_type == "numpy":
            views = [memoryview(tokens.to_array()).cast("B").cast("i") for tokens in ways]
            return [frame.around_array(view, model) for view in views]
        as_bytes = return_type is bytes
        return [frame.around_pieces(model.pieces(tokens, as_bytes), model, as_bytes) for tokens in ways]

    def nbest_encode_as_pieces(self, input: Any, nbest_size: int | None = None, **kwargs: Any) -> Any:
        """Call `nbest_encode` with pieces as the result."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type=str, **kwargs)

    def nbest_encode_as_ids(self, input: Any, nbest_size: int | None = None, **kwargs: Any) -> Any:
        """Call `nbest_encode` with ids as the result."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type=int, **kwargs)

    def nbest_encode_as_numpy(self, input: Any, nbest_size: int | None = None, **kwargs: Any) -> Any:
        """Call `nbest_encode` with arrays as the result."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type="numpy", **kwargs)

    def nbest_encode_as_proto(self, input: Any, nbest_size: int | None = None, **kwargs: Any) -> Any:
        """Call `nbest_encode` with messages of the protobuf package as the result."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type="proto", **kwargs)

    def parallel_encode(
        self,
        input: Any,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        chunk_len: int | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Encode texts as `encode` does, and use several threads for the ids of a long one.

        chunk_len: a positive number, as in sentencepiece; it has no effect, because fastbpe finds safe cuts
            itself.
        """
        return_type = self._resolve_return_type(return_type, out_type)
        threads = self._threads(num_threads)
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ArgumentError("chunk_len must be positive.")
        outs = []
        for text in input if isinstance(input, list) else [input]:
            if return_type == "offset_mapping":  # in the loop: as in nbest_encode
                raise ArgumentError(f"unknown return_type={return_type}")
            frame = _Frame(self, add_bos, add_eos, reverse, emit_unk_piece, return_type)
            if not isinstance(text, (str, bytes)):
                raise ArgumentTypeError("Input must be str or bytes")
            if thread_pool is not None:
                threads = pool_threads(thread_pool)
            outs.append(self._encode_one(text, return_type, frame, None, threads, False))
        return outs if isinstance(input, list) else outs[0]

    def parallel_encode_as_pieces(self, input: Any, **kwargs: Any) -> Any:
        """Call `parallel_encode` with pieces as the result."""
        return self.ParallelEncode(input=input, return_type=str, **kwargs)

    def parallel_encode_as_ids(self, input: Any, **kwargs: Any) -> Any:
        """Call `parallel_encode` with ids as the result."""
        return self.ParallelEncode(input=input, return_type=int, **kwargs)

    def parallel_encode_as_numpy(self, input: Any, **kwargs: Any) -> Any:
        """Call `parallel_encode` with an array as the result."""
        return self.ParallelEncode(input=input, return_type="numpy", **kwargs)

    def parallel_encode_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Call `parallel_encode` with a message of the protobuf package as the result."""
        return self.ParallelEncode(input=input, return_type="proto", **kwargs)

    def _sampling(
        self, enable_sampling: bool | None, nbest_size: int | None, alpha: float | None
    ) -> Sampling | None:
        """Return how a call samples; None: it does not. Arguments: None: the constructor's value."""
        if enable_sampling is None:
            enable_sampling = self._enable_sampling
        nbest_size = self._nbest_size if nbest_size is None else nbest_size
        alpha = self._alpha if alpha is None else alpha
        if not flag("enable_sampling", enable_sampling):
            _check_sampling(nbest_size, alpha)
            return None
        # `is True`, as in sentencepiece: with enable_sampling=1, nbest_size=0 gives the best segmentation.
        if enable_sampling is True and (nbest_size in (None, 0, 1) or alpha is None):
            raise ArgumentError(
                'When enable_sampling is True, We must specify "nbest_size > 1" or "nbest_size = -1", '
                'and "alpha"; for a BPE model, nbest_size has no effect, but must be set'
            )
        return Sampling(*_check_sampling(nbest_size, alpha))

    Encode = Tokenize = tokenize = Methods.encode
    EncodeAsPieces = Methods.encode_as_pieces
    EncodeAsIds = Methods.encode_as_ids
    EncodeAsNumpy = Methods.encode_as_numpy
    EncodeAsProto = encode_as_proto
    EncodeAsOffsetMapping = encode_as_offset_mapping
    SampleEncodeAsPieces = sample_encode_as_pieces
    SampleEncodeAsIds = sample_encode_as_ids
    SampleEncodeAsNumpy = sample_encode_as_numpy
    SampleEncodeAsProto = sample_encode_as_proto
    NBestEncode = nbest_encode
    NBestEncodeAsPieces = nbest_encode_as_pieces
    NBestEncodeAsIds = nbest_encode_as_ids
    NBestEncodeAsNumpy = nbest_encode_as_numpy
    NBestEncodeAsProto = nbest_encode_as_proto
    ParallelEncode = parallel_encode
    ParallelEncodeAsPieces = parallel_encode_as_pieces
    ParallelEncodeAsIds = parallel_encode_as_ids
    ParallelEncodeAsNumpy = parallel_encode_as_numpy
    ParallelEncodeAsProto = parallel_encode_as_proto


class _Frame:
    """Changes to the ids or pieces of a text: add_bos, add_eos, reverse and emit_unk_piece.

    The methods get the model that encoded the text, because another thread may have loaded another one.
    """

    def __init__(
        self,
        processor: Base,
        add_bos: bool | None,
        add_eos: bool | None,
        reverse: bool | None,
        emit_unk_piece: bool | None,
        return_type: Any,
    ) -> None:
        self._bos = flag("add_bos", processor._add_bos if add_bos is None else add_bos)
        self._eos = flag("add_eos", processor._add_eos if add_eos is None else add_eos)
        self._reverse = flag("reverse", processor._reverse if reverse is None else reverse)
        if return_type is int or return_type == "numpy":
            emit_unk_piece = False  # it changes pieces only
        self._emit_unk = flag(
            "emit_unk_piece", processor._emit_unk_piece if emit_unk_piece is None else emit_unk_piece
        )
        if return_type in _PLAIN and (self._bos or self._eos or self._reverse or self._emit_unk):
            raise ModelError(
                "UNIMPLEMENTED: add_bos, add_eos, reverse, and emit_unk_piece is not supported in proto API"
            )

    def _ends(self, model: LoadedModel) -> tuple[list[int], list[int]]:
        """Return (ids before the text, ids after it)."""
        _, bos, eos, _ = model.special_ids
        if self._bos and bos < 0:
            raise ArgumentError("INVALID_ARGUMENT: BOS token is not defined as a control symbol in this model.")
        if self._eos and eos < 0:
            raise ArgumentError("INVALID_ARGUMENT: EOS token is not defined as a control symbol in this model.")
        return [bos] if self._bos else [], [eos] if self._eos else []

    def around(self, ids: list[int], model: LoadedModel) -> list[int]:
        """Return ids, reversed if `reverse` is set, with the ids of `<s>` and `</s>` around them if requested.

        Requires: no one else has the list.
        """
        if not (self._bos or self._eos or self._reverse):
            return ids
        bos, eos = self._ends(model)
        if self._reverse:
            ids.reverse()
        return bos + ids + eos

    def around_array(self, ids: memoryview, model: LoadedModel) -> Any:
        """Return the ids that `around` returns, as a read-only numpy array."""
        numpy = optional_imports.require_numpy("return_type='numpy'")
        array = numpy.frombuffer(VectorBuffer(ids), dtype=numpy.int32)
        if not (self._bos or self._eos or self._reverse):
            return array
        bos, eos = self._ends(model)
        joined = numpy.concatenate([bos, array[::-1] if self._reverse else array, eos])
        joined = joined.astype(numpy.int32)  # floats, if bos or eos is empty
        return numpy.frombuffer(VectorBuffer(joined), dtype=numpy.int32)

    def around_pieces(self, pieces: list[Any], model: LoadedModel, as_bytes: bool) -> list[Any]:
        """Change pieces as `around` changes ids; emit_unk_piece also replaces each unknown piece by `<unk>`."""
        if not (self._bos or self._eos or self._reverse or self._emit_unk):
            return pieces
        bos, eos = self._ends(model)
        names: Sequence[Any] = model.model.pieces if as_bytes else model.names
        if self._emit_unk:
            pieces = self._with_unk(pieces, names, model)
        if self._reverse:
            pieces.reverse()
        return [names[i] for i in bos] + pieces + [names[i] for i in eos]

    def _with_unk(self, pieces: list[Any], names: Sequence[Any], model: LoadedModel) -> list[Any]:
        """Replace each piece that the model does not have by `<unk>`. names: the piece of each id."""
        if model.unknown_id < 0:
            raise ArgumentError("INVALID_ARGUMENT: UNK token is not defined in this model.")
        known = model.ids_by_piece
        unknown = names[model.unknown_id]
        return [
            piece if (piece if isinstance(piece, bytes) else piece.encode()) in known else unknown
            for piece in pieces
        ]


def _score_field(score: float) -> bytes:
    return fixed32_field(_SCORE, struct.pack("<f", score))


def _element(text: Any) -> Text:
    """Check an element of a batch; return it as str or bytes. Raises ArgumentTypeError if it is not a text.

    As in sentencepiece, an element may be a bytearray, but a single text may not.
    """
    if isinstance(text, bytearray):
        return bytes(text)
    if not isinstance(text, (str, bytes)):
        raise ArgumentTypeError("List elements must be str or bytes")
    try:
        is_sound(text)
    except ModelError as error:
        raise ArgumentTypeError(f"List elements must be str or bytes: {error}") from None
    return text


def _check_sampling(nbest_size: Any, alpha: Any) -> tuple[int, float]:
    """Return the arguments as numbers. Raises ArgumentTypeError if one is not a number."""
    n = int32("nbest_size", nbest_size)
    try:
        return n, float(alpha if hasattr(alpha, "__float__") else index(alpha))
    except (TypeError, OverflowError):
        raise ArgumentTypeError(f"alpha={short_repr(alpha)}: must be a number that fits in a float") from None
