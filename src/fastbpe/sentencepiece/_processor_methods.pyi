"""Methods of a SentencePieceProcessor that are called often."""

from collections.abc import Sequence
from typing import Any, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from fastbpe.model import Buffer
from fastbpe.sentencepiece._model import LoadedModel
from fastbpe.sentencepiece._threads import ThreadPool

_Text: TypeAlias = str | bytes
_ReturnType: TypeAlias = type[int] | type[str] | type[bytes] | str | None
_Array: TypeAlias = npt.NDArray[np.int32]

@final
class VectorBuffer:
    def __new__(cls, owner: Buffer) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def data_address(self) -> int:
        """Return the address of the first id."""

@disjoint_base
class Methods:
    _return_type: Any
    _add_bos: Any
    _add_eos: Any
    _reverse: Any
    _emit_unk_piece: Any
    _enable_sampling: Any
    _nbest_size: Any
    _alpha: Any
    _num_threads: Any
    @property
    def _model(self) -> LoadedModel | None: ...
    def _use(self, model: LoadedModel | None) -> None: ...
    def encode(
        self,
        input: _Text | Sequence[_Text],
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool | None = None,
        emit_unk_piece: bool | None = None,
        enable_sampling: bool | None = None,
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: _ReturnType = None,
        out_type: _ReturnType = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Encode a text, or a list of texts, to ids, pieces, or the type given by return_type or out_type.

        Args:
            input: str, bytes, or a list of them. Each invalid byte counts as U+FFFD.
            return_bytes: for an offset mapping: return pieces as bytes, and offsets in bytes; None: like the
                input.
            thread_pool: for a list, used instead of num_threads; for one text, without effect and unchecked.
            others: as in the constructor; None: the constructor's value.

        Raises:
            TypeError: the input has the wrong type, or a text in a list contains surrogates.
            RuntimeError: the text contains surrogates; no model is loaded; or add_bos, add_eos, reverse or
                emit_unk_piece is set for an offset mapping or a proto.
            ValueError: an argument contradicts another one, or is not possible with this model.

        >>> processor.encode("Hello world", add_bos=True)  # doctest: +SKIP
        [1, 15043, 3186]
        """
    @overload
    def encode_as_ids(self, input: _Text, **kwargs: Any) -> list[int]:
        """Encode like `encode`, to ids."""
    @overload
    def encode_as_ids(self, input: list[str] | list[bytes], **kwargs: Any) -> list[list[int]]: ...
    @overload
    def encode_as_pieces(self, input: _Text, **kwargs: Any) -> list[str]:
        """Encode like `encode`, to pieces."""
    @overload
    def encode_as_pieces(self, input: list[str] | list[bytes], **kwargs: Any) -> list[list[str]]: ...
    @overload
    def encode_as_numpy(self, input: _Text, **kwargs: Any) -> _Array:
        """Encode like `encode`, to a numpy array of int32."""
    @overload
    def encode_as_numpy(self, input: list[str] | list[bytes], **kwargs: Any) -> list[_Array]: ...
    def decode(
        self,
        input: Any,
        return_type: _ReturnType = None,
        out_type: _ReturnType = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_bytes: bool | None = None,
    ) -> Any:
        """Decode ids or pieces to a text, or a list of these to a list of texts.

        Args:
            input: ids (a list, a numpy array, one int) or pieces (a list, one str or bytes); or a list or an array
                of these. Pieces given as bytes decode to bytes. A piece that is not in the vocabulary is text.
            return_type, out_type: `str` (the default), `bytes`, "offset_mapping" (a dict of text, ids, pieces and
                offsets), "serialized_proto", "proto".
            num_threads: as for `encode`.
            thread_pool: has no effect; its type is checked for a batch.
            return_bytes: for an offset mapping: return text and pieces as bytes, and offsets in bytes.

        Raises:
            IndexError: no piece has this id.
            TypeError: the input is neither ids nor pieces.
            KeyError: the input is a dict without the key 0.
            RuntimeError: no model is loaded, and the input is pieces or empty.
            ValueError: an argument contradicts another one, or there is no such return_type.

        >>> processor.decode([15043, 3186])  # doctest: +SKIP
        'Hello world'
        """
    def decode_ids(self, input: Any, return_type: _ReturnType = None, **kwargs: Any) -> Any:
        """Decode like `decode`."""
    def decode_pieces(self, input: Any, return_type: _ReturnType = None, **kwargs: Any) -> Any:
        """Decode like `decode`."""
    def get_piece_size(self) -> int:
        """Return the number of pieces; 0 without a model."""
    @overload
    def piece_to_id(self, piece: _Text | bytearray) -> int:
        """Return the id of a piece (str or bytes), or a list for several; an unknown piece has `<unk>`'s id."""
    @overload
    def piece_to_id(self, piece: list[str] | list[bytes]) -> list[int]: ...
    @overload
    def id_to_piece(self, id: int) -> str:
        """Return the piece of an id, or of several. Raises IndexError for an id that no piece has."""
    @overload
    def id_to_piece(self, id: Sequence[int] | npt.NDArray[Any]) -> list[str]: ...
    @overload
    def get_score(self, id: int) -> float:
        """Return the score of an id, or of several. In a BPE model, the highest score merges first."""
    @overload
    def get_score(self, id: Sequence[int] | npt.NDArray[Any]) -> list[float]: ...
    @overload
    def is_unknown(self, id: int) -> bool:
        """Tell whether an id is the id of the unknown piece; a list for several ids."""
    @overload
    def is_unknown(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_control(self, id: int) -> bool:
        """Tell whether an id belongs to a control symbol; a list for several ids."""
    @overload
    def is_control(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_unused(self, id: int) -> bool:
        """Tell whether an id belongs to an unused piece; a list for several ids."""
    @overload
    def is_unused(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_byte(self, id: int) -> bool:
        """Tell whether an id belongs to a byte piece; a list for several ids."""
    @overload
    def is_byte(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    def unk_id(self) -> int:
        """Return the id of `<unk>`; -1 if the model lacks it."""
    def bos_id(self) -> int:
        """Return the id of `<s>`; -1 if the model lacks it."""
    def eos_id(self) -> int:
        """Return the id of `</s>`; -1 if the model lacks it."""
    def pad_id(self) -> int:
        """Return the id of `<pad>`; -1 if the model lacks it."""
