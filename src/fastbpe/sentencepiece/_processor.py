"""SentencePieceProcessor: the interface of sentencepiece 0.2.3 over fastbpe's engine."""

from __future__ import annotations

from functools import partialmethod

from fastbpe.sentencepiece._arguments import items_of
from fastbpe.sentencepiece._decodes import Decodes
from fastbpe.sentencepiece._encodes import Encodes
from fastbpe.sentencepiece._errors import ArgumentTypeError
from fastbpe.sentencepiece._normalizer import normalize
from fastbpe.sentencepiece._processor_methods import Methods
from fastbpe.sentencepiece._threads import ThreadPool, pool_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    _Batch = Sequence[Any]

SETTINGS = (
    "_return_type",
    "_add_bos",
    "_add_eos",
    "_reverse",
    "_emit_unk_piece",
    "_enable_sampling",
    "_nbest_size",
    "_alpha",
    "_num_threads",
)


class SentencePieceProcessor(Encodes, Decodes):
    """Encode and decode with a sentencepiece model.

    Most methods also have a CamelCase name, as in sentencepiece.

    Args:
        model_file: path of a `.model` file.
        model_proto: bytes of such a file. Without either, call `load` first.
        out_type: result of `encode`: `int` (ids, the default), `str` (pieces), `bytes`, "numpy" (int32),
            "offset_mapping" (a dict of ids, pieces and offsets), "serialized_proto", "proto".
        add_bos, add_eos: put the ids of `<s>` and `</s>` around the ids of a text.
        reverse: return the ids or pieces of a text from last to first; `<s>` still comes first, `</s>` last.
        emit_unk_piece: return `<unk>` for pieces that the model does not know.
        enable_sampling: choose a random segmentation. nbest_size must then be below 0, or 2 to 512. With a word
            or char model, encoding then raises RuntimeError.
        nbest_size: a unigram model draws one of this many best segmentations; below 0: one of all.
        alpha: for a unigram model, weight of the score: a segmentation's probability is proportional to exp(alpha
            * score); for a BPE model, probability of skipping a merge (BPE dropout).
        num_threads: threads for a batch; -1: one per usable core.
        return_type: another name for out_type.

    Raises:
        RuntimeError: the model cannot be read.
        ValueError: model_file and model_proto, or out_type and return_type, are both given; or there is no such
            out_type.

    >>> processor = SentencePieceProcessor(model_file="m.model")  # doctest: +SKIP
    >>> processor.encode("Hello world")  # doctest: +SKIP
    [15043, 3186]
    """

    def _id_of(self, piece: Any) -> int:
        if not isinstance(piece, (str, bytes, bytearray)):
            raise ArgumentTypeError("Sequence elements must be str or bytes")
        try:
            data = piece.encode() if isinstance(piece, str) else bytes(piece)
        except UnicodeEncodeError:
            raise ArgumentTypeError("Sequence elements must be str or bytes, without surrogates") from None
        model = self._model  # read once, as in _loaded()
        return 0 if model is None else model.id_or_unknown(data)

    # Normalizing

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Normalize a text, or each text of a list, as `encode` does first.

        with_offsets: return (text, offsets). For each character of the result (for bytes: each byte), and for its
            end, offsets has the position in the given text from which it comes.
        """
        if self._model is None and not with_offsets and isinstance(input, (str, bytes)):
            return type(input)()
        return normalize(self._loaded().normalizer, input, with_offsets)

    @property
    def _processor(self) -> Binding:
        return Binding(self)

    # Container and pickle methods

    def __len__(self) -> int:
        return self.GetPieceSize()

    def __getitem__(self, piece: Any) -> Any:
        return self.PieceToId(piece)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in SETTINGS} | self.__dict__
        state["model_proto"] = self.serialized_model_proto()
        return state

    def __setstate__(self, state: dict[str, Any] | bytes) -> None:
        """Restore a state; bytes: the model alone, as older versions of sentencepiece stored it."""
        state = {"model_proto": state} if isinstance(state, bytes) else state.copy()
        data = state.pop("model_proto")
        SentencePieceProcessor.__init__(self)
        if data:
            self.LoadFromSerializedProto(data)
        for name in SETTINGS:
            if name in state:
                setattr(self, name, state.pop(name))
        self.__dict__.update(state)

    GetPieceSize = piece_size = vocab_size = Methods.get_piece_size
    PieceToId = Methods.piece_to_id
    IdToPiece = Methods.id_to_piece
    GetScore = Methods.get_score
    IsUnknown = Methods.is_unknown
    IsControl = Methods.is_control
    IsUnused = Methods.is_unused
    IsByte = Methods.is_byte
    Normalize = normalize


class Binding:
    """Batch decoding methods of a processor, with the names and arguments of sentencepiece's binding.

    Each method reads the length of the batch once and then its items by number, so a container that changes its
    length during the call leads to a result or to the container's own error.

    Args of each method:
        batch: sequences of ids, or of pieces (str or bytes).
        num_threads, thread_pool: have no effect; their types are checked.
    """

    def __init__(self, processor: Decodes) -> None:
        self._processor = processor

    def _decoded(
        self,
        are_pieces: bool | None,
        return_type: Any,
        return_bytes: bool,
        batch: _Batch,
        num_threads: int,
        thread_pool: ThreadPool | None,
    ) -> list[Any]:
        """Decode a batch. are_pieces: None: the first item that is not empty decides."""
        self._processor._threads(num_threads)
        if thread_pool is not None:
            pool_threads(thread_pool)
        sequences = items_of(batch)
        first = next((item[0] for item in sequences if isinstance(item, (list, tuple)) and item), None)
        if are_pieces is None:
            are_pieces = isinstance(first, (str, bytes))
        as_bytes = return_bytes or (are_pieces and isinstance(first, bytes))
        return [self._processor._decode_one(item, are_pieces, return_type, as_bytes) for item in sequences]

    _DecodeIdsBatch = partialmethod(_decoded, False, str, False)
    _DecodeIdsAsBytesBatch = partialmethod(_decoded, False, bytes, False)
    _DecodeIdsAsSerializedProtoBatch = partialmethod(_decoded, False, "serialized_proto", False)
    _DecodePiecesBatch = partialmethod(_decoded, True, str, False)  # bytes if the first piece is bytes
    _DecodePiecesAsBytesBatch = partialmethod(_decoded, True, bytes, False)
    _DecodePiecesAsSerializedProtoBatch = partialmethod(_decoded, True, "serialized_proto", False)

    def _DecodeAsOffsetMappingBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None, return_bytes: bool
    ) -> list[dict[str, Any]]:
        """Decode ids or pieces to offset mappings; return_bytes: with text and pieces as bytes."""
        return self._decoded(None, "offset_mapping", return_bytes, batch, num_threads, thread_pool)
