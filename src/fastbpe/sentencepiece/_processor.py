"""SentencePieceProcessor: the interface of sentencepiece 0.2.3 over fastbpe's engine, for BPE models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastbpe.codepoint_model import PieceType
from fastbpe.sentencepiece._decodes import Decodes
from fastbpe.sentencepiece._encodes import Encodes
from fastbpe.sentencepiece._model import LoadedModel, checked_ids, id_error, not_integers
from fastbpe.sentencepiece._normalizing import normalize


class SentencePieceProcessor(Encodes, Decodes):
    """Encodes and decodes with a BPE model of sentencepiece. Every method has a CamelCase twin.

    Args:
        model_file: the path of a `.model` file.
        model_proto: what such a file holds, as bytes; without either, load one before anything else.
        out_type: what `encode` gives: `int` (ids, the default), `str` (pieces), `bytes`, "numpy" (int32),
            "offset_mapping" (a dict of ids, pieces and offsets), "serialized_proto", "proto".
        add_bos, add_eos: put the ids of `<s>` and `</s>` around what a text gives.
        reverse: give ids or pieces from the last to the first.
        emit_unk_piece: give `<unk>` for pieces that the model does not know.
        enable_sampling: leave out merges at random (BPE dropout); nbest_size must then be -1, or 2 to 512.
        alpha: the probability with which a merge is left out.
        num_threads: of a batch; -1: one for each core.
        return_type: another name of out_type.

    Raises:
        RuntimeError: the model cannot be read, or is not of type BPE.

    >>> processor = SentencePieceProcessor(model_file="m.model")  # doctest: +SKIP
    >>> processor.encode("Hello world")  # doctest: +SKIP
    [15043, 3186]
    """

    # Pieces

    def get_piece_size(self) -> int:
        """How many pieces there are; 0 without a model."""
        return 0 if self._model is None else self._model.model.n_pieces

    def piece_to_id(self, piece: Any) -> Any:
        """The id of a piece, str or bytes, or those of several; of none that is known, that of `<unk>`."""
        if isinstance(piece, (str, bytes, bytearray)):
            return self._id_of(piece)
        if not hasattr(piece, "__getitem__"):
            raise TypeError(f"a piece is str or bytes, not {type(piece).__name__}")
        return [self._id_of(item) for item in piece]

    def _id_of(self, piece: Any) -> int:
        if not isinstance(piece, (str, bytes, bytearray)):
            raise TypeError("Sequence elements must be str or bytes")
        try:
            data = piece.encode() if isinstance(piece, str) else bytes(piece)
        except UnicodeEncodeError:
            raise TypeError("Sequence elements must be str or bytes: no piece holds a surrogate") from None
        return 0 if self._model is None else self._model.id_or_unknown(data)

    def id_to_piece(self, id: Any) -> Any:
        """The piece of an id, or the pieces of several. IndexError for an id that none has."""
        return self._each(id, lambda model, i: model.names[i])

    def get_score(self, id: Any) -> Any:
        """The score of an id, or of several: a merge of a higher one is done first."""
        return self._each(id, lambda model, i: model.scores[i])

    def is_unknown(self, id: Any) -> Any:
        """Whether an id stands for what is unknown; or of several."""
        return self._each(id, lambda model, i: model.model.types[i] == PieceType.UNKNOWN)

    def is_control(self, id: Any) -> Any:
        """Whether an id is that of a control symbol; or of several."""
        return self._each(id, lambda model, i: model.model.types[i] == PieceType.CONTROL)

    def is_unused(self, id: Any) -> Any:
        """Whether an id's piece is not to be used; or of several."""
        return self._each(id, lambda model, i: model.model.types[i] == PieceType.UNUSED)

    def is_byte(self, id: Any) -> Any:
        """Whether an id stands for a byte; or of several."""
        return self._each(id, lambda model, i: model.model.types[i] == PieceType.BYTE)

    def _each(self, ids: Any, fact: Callable[[LoadedModel, int], Any]) -> Any:
        if isinstance(ids, bytes):
            raise not_integers()
        is_one = _is_one(ids)
        checked = [ids] if is_one else checked_ids(ids)
        listed = list(checked)
        n_pieces = self.get_piece_size()
        for i in listed:
            if not hasattr(i, "__index__") or not 0 <= i.__index__() < n_pieces:
                raise id_error(checked)
        if not listed:
            return []
        model = self._loaded()
        facts = [fact(model, i) for i in listed]
        return facts[0] if is_one else facts

    def unk_id(self) -> int:
        """The id of `<unk>`; -1 if there is none."""
        return self._special_id("unk_piece", PieceType.UNKNOWN)

    def bos_id(self) -> int:
        """The id of `<s>`; -1 if there is none."""
        return self._special_id("bos_piece", PieceType.CONTROL)

    def eos_id(self) -> int:
        """The id of `</s>`; -1 if there is none."""
        return self._special_id("eos_piece", PieceType.CONTROL)

    def pad_id(self) -> int:
        """The id of `<pad>`; -1 if there is none."""
        return self._special_id("pad_piece", PieceType.CONTROL)

    def _special_id(self, option: str, piece_type: PieceType) -> int:
        return -1 if self._model is None else self._model.special_id(option, piece_type)

    # Normalising

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """A text as it is before pieces are looked for, or each of a list.

        with_offsets: (text, places): where each character, or of bytes each byte, and the end come from.
        """
        if self._model is None and not with_offsets and isinstance(input, (str, bytes)):
            return type(input)()
        return normalize(self._loaded().normalizer, input, with_offsets)

    # Being a value

    def __len__(self) -> int:
        return self.get_piece_size()

    def __getitem__(self, piece: Any) -> Any:
        return self.piece_to_id(piece)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_model")
        state["model_proto"] = self.serialized_model_proto()
        return state

    def __setstate__(self, state: dict[str, Any] | bytes) -> None:
        state = {"model_proto": state} if isinstance(state, bytes) else state.copy()
        data = state.pop("model_proto")
        SentencePieceProcessor.__init__(self)
        if data:
            self.load_from_serialized_proto(data)
        self.__dict__.update(state)

    GetPieceSize = piece_size = vocab_size = get_piece_size
    PieceToId = piece_to_id
    IdToPiece = id_to_piece
    GetScore = get_score
    IsUnknown = is_unknown
    IsControl = is_control
    IsUnused = is_unused
    IsByte = is_byte
    Normalize = normalize


def _is_one(ids: Any) -> bool:
    """Whether it is an id and not several: numpy's arrays of no dimension are one, and have no length."""
    if not hasattr(ids, "__index__"):
        return False
    try:
        len(ids)
    except TypeError:
        return True
    return False
