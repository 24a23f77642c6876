from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fastbpe._core.encoder import Encoder
from fastbpe.sentencepiece._model import LoadedModel
from fastbpe.sentencepiece._threads import ThreadPool

_Text: TypeAlias = str | bytes
_ReturnType: TypeAlias = type[int] | type[str] | type[bytes] | str | None
_Array: TypeAlias = npt.NDArray[np.int32]

@disjoint_base
class Facts:
    def __init__(self, encoder: Encoder, types: bytes) -> None: ...
    def bytes_of_ids(self, ids: list[int]) -> list[bytes] | None: ...

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
    _model: LoadedModel | None

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
    ) -> Any: ...
    @overload
    def encode_as_ids(self, input: _Text, **kwargs: Any) -> list[int]: ...
    @overload
    def encode_as_ids(self, input: list[str] | list[bytes], **kwargs: Any) -> list[list[int]]: ...
    @overload
    def encode_as_pieces(self, input: _Text, **kwargs: Any) -> list[str]: ...
    @overload
    def encode_as_pieces(self, input: list[str] | list[bytes], **kwargs: Any) -> list[list[str]]: ...
    @overload
    def encode_as_numpy(self, input: _Text, **kwargs: Any) -> _Array: ...
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
    ) -> Any: ...
    def decode_ids(self, input: Any, return_type: _ReturnType = None, **kwargs: Any) -> Any: ...
    def decode_pieces(self, input: Any, return_type: _ReturnType = None, **kwargs: Any) -> Any: ...
    def get_piece_size(self) -> int: ...
    @overload
    def piece_to_id(self, piece: _Text | bytearray) -> int: ...
    @overload
    def piece_to_id(self, piece: list[str] | list[bytes]) -> list[int]: ...
    @overload
    def id_to_piece(self, id: int) -> str: ...
    @overload
    def id_to_piece(self, id: Sequence[int] | npt.NDArray[Any]) -> list[str]: ...
    @overload
    def get_score(self, id: int) -> float: ...
    @overload
    def get_score(self, id: Sequence[int] | npt.NDArray[Any]) -> list[float]: ...
    @overload
    def is_unknown(self, id: int) -> bool: ...
    @overload
    def is_unknown(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_control(self, id: int) -> bool: ...
    @overload
    def is_control(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_unused(self, id: int) -> bool: ...
    @overload
    def is_unused(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    @overload
    def is_byte(self, id: int) -> bool: ...
    @overload
    def is_byte(self, id: Sequence[int] | npt.NDArray[Any]) -> list[bool]: ...
    def unk_id(self) -> int: ...
    def bos_id(self) -> int: ...
    def eos_id(self) -> int: ...
    def pad_id(self) -> int: ...
