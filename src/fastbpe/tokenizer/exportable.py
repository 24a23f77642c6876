"""Type of the tokenizers that `export` writes and `verify_export` compares.

A Protocol, because the classes themselves import these modules.
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


class Exportable(Protocol):
    """A Tokenizer or a CodePointTokenizer."""

    @property
    def mode(self) -> str: ...
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
    def _vocabulary(self) -> Vocabulary: ...
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

    def _full_model(self) -> Model:
        """Give the model with its tables; byte level only."""

    def _whole_model(self) -> Model | CodePointModel:
        """Give the model with all that decides ids."""

    def _dump(self, format: str) -> Files:
        """Make the contents of the files of a format. Raises FormatError if it cannot hold the tokenizer."""

    def _remake(self, model: Model | CodePointModel | None = None) -> Exportable:
        """Make a tokenizer without piece caches from a model, or from the tokenizer's own."""

    def _control_tokens(self) -> dict[str, int]:
        """Give the special tokens that every format must keep as such."""
