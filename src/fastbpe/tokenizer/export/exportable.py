"""Type of the tokenizers that `export` writes and `verify_export` compares.

Protocols, because the classes themselves import these modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from fastbpe._core.ids.id_lists import Array
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, Model
from fastbpe.patterns import Pattern

#: Bytes of a file, or of the files of a folder by their names.
Files = bytes | dict[str, bytes]


class Exported(Protocol):
    """The parts of a Family that writing needs."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def model(self) -> Model | CodePointModel: ...
    def dump(self, tokenizer: Exportable, format: str) -> Files: ...
    def control_tokens(self) -> dict[str, int]: ...


class Exportable(Protocol):
    """The parts of a Tokenizer that writing needs."""

    @property
    def mode(self) -> str: ...
    @property
    def model_type(self) -> str: ...
    @property
    def n_vocab(self) -> int: ...
    @property
    def pattern(self) -> Pattern: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def vocab(self) -> list[bytes]: ...
    @property
    def _roles(self) -> Mapping[str, int | None]: ...
    @property
    def _family(self) -> Exported: ...
    def encode(
        self, text: str, *, allowed_special: str | frozenset[str], disallowed_special: str | Sequence[str]
    ) -> list[int]: ...
    def encode_ordinary(self, text: str) -> list[int]: ...
    def id_to_token(self, token_id: int) -> bytes: ...
    def _encode_to_array(
        self,
        texts: Iterable[str],
        allowed_special: str | frozenset[str],
        disallowed_special: str | Sequence[str],
        num_threads: int | None,
    ) -> tuple[Array, Array]: ...

    def _remake(self, model: Model | CodePointModel | None = None) -> Exportable:
        """Make a tokenizer without piece caches. model: its model; None: the model of this tokenizer."""


def model_of(tokenizer: Exportable) -> Model:
    """Return the model of a byte-level or character-level tokenizer, with its tables."""
    model = tokenizer._family.model
    assert isinstance(model, Model)
    return model
