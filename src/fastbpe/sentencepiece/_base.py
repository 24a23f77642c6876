"""Base of a processor: its model and its settings."""

from __future__ import annotations

import os

from fastbpe.errors import FastbpeError
from fastbpe.formats.sentencepiece import model_file as model_format
from fastbpe.sentencepiece._dropped import raise_missing
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, ModelError, not_loaded
from fastbpe.sentencepiece._files import proto_bytes, read_model
from fastbpe.sentencepiece._model import MODEL_TYPES, LoadedModel
from fastbpe.sentencepiece._processor_methods import Methods
from fastbpe.sentencepiece._threads import n_threads
from fastbpe.sentencepiece._words import WordModel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Self

_RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")


class Base(Methods):
    """Construction, loading and settings. SentencePieceProcessor documents the arguments.

    As in sentencepiece, methods call each other by the CamelCase names, which a subclass may override.
    """

    def __init__(
        self,
        model_file: str | bytes | os.PathLike[str] | None = None,
        model_proto: Any = None,
        out_type: Any = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: Any = None,
    ) -> None:
        self._use(None)
        self._return_type = int  # the default of the next line
        self._return_type = self._resolve_return_type(return_type, out_type)
        self._add_bos = add_bos
        self._add_eos = add_eos
        self._reverse = reverse
        self._emit_unk_piece = emit_unk_piece
        self._enable_sampling = enable_sampling
        self._nbest_size = nbest_size
        self._alpha = alpha
        self._num_threads = num_threads
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    # Loading

    @classmethod
    def from_file(cls, model_file: str | bytes | os.PathLike[str], **kwargs: Any) -> Self:
        """Return a processor for a model file. Accepts the keyword arguments of the constructor."""
        processor = cls._without_model(kwargs, "from_file")
        processor.LoadFromFile(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> Self:
        """Return a processor for the bytes of a model file. Accepts the keyword arguments of the constructor."""
        processor = cls._without_model(kwargs, "from_proto")
        processor.LoadFromSerializedProto(model_proto)
        return processor

    @classmethod
    def _without_model(cls, kwargs: Mapping[str, Any], name: str) -> Self:
        if "model_file" in kwargs or "model_proto" in kwargs:
            raise ArgumentError(
                f"model_file and model_proto cannot be passed to {name} by name: pass the model as its first "
                "argument"
            )
        return cls(**kwargs)

    def load(self, model_file: str | bytes | os.PathLike[str] | None = None, model_proto: Any = None) -> bool:
        """Load a model from a file or from bytes: pass one of the two. Returns True, or raises."""
        if model_file and model_proto:
            raise ArgumentError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise ArgumentError("Either model_file or model_proto must be specified.")

    def load_from_file(self, filename: str | bytes | os.PathLike[str]) -> bool:
        """Load the model of a file. Returns True, or raises."""
        self._load(*read_model(filename))
        return True

    def load_from_serialized_proto(self, serialized: Any) -> bool:
        """Load a model from the bytes of a file, or from a message of the protobuf package.

        Returns True, or raises.
        """
        self._load(proto_bytes(serialized), "<bytes>")
        return True

    def _load(self, data: bytes, where: str) -> None:
        self._use(None)  # after a failed load there is no model, as in sentencepiece
        self._use(_model_of(data, where))

    def _loaded(self) -> LoadedModel:
        model = self._model  # read once: another thread may call Load, which drops the model first
        if model is None:
            raise not_loaded()
        return model

    if not TYPE_CHECKING:  # type checkers report names that are not there

        def __getattr__(self, name):
            raise_missing(self, name)

    def serialized_model_proto(self) -> bytes:
        """Return the bytes of the model's file; b"" without a model."""
        model = self._model
        return b"" if model is None else model.model.serialized

    def _resolve_return_type(self, return_type: Any, out_type: Any, default: Any = None) -> Any:
        """Return the return type of a call. default: type if neither is given; None: the constructor's type."""
        if out_type is not None:
            if return_type is not None:
                raise ArgumentError("Cannot specify both out_type and return_type. Use return_type instead.")
            return_type = out_type
        if return_type is None:
            return_type = self._return_type if default is None else default
        if return_type == "immutable_proto":
            raise ArgumentError(
                "immutable_proto is deprecated and no longer supported. Use return_type='proto' instead."
            )
        if return_type not in _RETURN_TYPES:
            raise ArgumentError(f"Invalid return_type: {return_type}. Must be one of {_RETURN_TYPES}")
        return return_type

    def _threads(self, num_threads: int | None) -> int | None:
        """Return the number of threads that a call may use; None: one per usable core.

        num_threads: argument of the call, negative for one per usable core; None: the constructor's number.
        """
        if num_threads is None:
            num_threads = self._num_threads
        if not isinstance(num_threads, int):
            raise ArgumentTypeError("num_threads must be int")
        return n_threads(num_threads)

    Load = load
    LoadFromFile = load_from_file
    LoadFromSerializedProto = load_from_serialized_proto


def _model_of(data: bytes, where: str) -> LoadedModel:
    """Read a model from the bytes of its file; `where` names the file in errors."""
    try:
        model = model_format.parse(data, where, model_types=MODEL_TYPES)
        return WordModel(model) if model.trainer["model_type"] == "word" else LoadedModel(model)
    except FastbpeError as error:
        raise ModelError(f"INTERNAL: {error}") from error
