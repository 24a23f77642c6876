"""What a file of a code-point tokenizer says, as plain data; see `model`."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from typing import Any

from fastbpe._utils.caching import cached_property
from fastbpe.model import AddedToken, Buffer
from fastbpe.templates import Templates, around


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A group of options of a sentencepiece model, as the file gives them.

    values: what is set, by name. defaults: what holds where nothing is set. unknown: fields without a name
    here, as they stand in the file.
    """

    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    unknown: bytes = b""

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.defaults[name]


class PieceType(IntEnum):
    """What a piece of a code-point vocabulary is for; the numbers are those of the files."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """What tokenizers does with code points otherwise than sentencepiece, as a tokenizer.json says it.

    prefix: where a space is put before text that begins with none: "first", where a whole text begins; "always",
        behind an added token too; "", nowhere.
    escapes: spaces have become U+2581 by the time that normalized added tokens are looked for.
    splits: no piece goes on with a U+2581.
    fuses: unknown characters in a row are one id.
    decoder: "ByteFallback", which makes text of the ids of bytes, or "Metaspace", which leaves them their names.
    strips: decoded text has lost a first space.
    symbols: pieces of type USER_DEFINED that are no added tokens are found in normalized text.
    """

    prefix: str = ""
    escapes: bool = True
    splits: bool = False
    fuses: bool = True
    decoder: str = "ByteFallback"
    strips: bool = False
    symbols: bool = False


@dataclass(frozen=True, kw_only=True)
class CodePointModel:
    """A code-point vocabulary with all that decides ids: what a sentencepiece `.model` of type BPE holds.

    piece_bytes, piece_ends: the text of all ids end to end, as a rule UTF-8, and where each ends, as uint32; none
        is empty, no two are equal.
    scores: of each id, float32 little-endian; the pair that makes the piece of the highest is merged first.
    types: of each id, a byte: a PieceType.
    denormalizer: None where the file has none.
    self_test_data, unknown, piece_extras: what nothing here reads, kept for writing; the last by id.
    serialized: the file; b"" where the model comes from none.
    name, training: what a native file says besides.
    merges: what is merged where scores cannot say it: as in Model; b"": scores say it.
    conventions: those of a tokenizer.json; None: sentencepiece's. With them, pieces of type USER_DEFINED are found
        where they are added tokens, and not merged.
    added_tokens: of a tokenizer.json, as in Model. What is between added tokens is normalized by itself.
    template, pair_template: as in Model; None: nothing says them, as in a .model. See `templates`.
    roles: as in Model; those that the model's own options name are not among them.
    """

    piece_bytes: bytes
    piece_ends: bytes
    scores: bytes
    types: bytes
    trainer: Spec
    normalizer: Spec
    denormalizer: Spec | None = None
    self_test_data: bytes | None = None
    unknown: bytes = b""
    piece_extras: Mapping[int, bytes] = field(default_factory=dict)
    serialized: bytes = b""
    name: str | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    merges: Buffer = b""
    added_tokens: Sequence[AddedToken] = ()
    template: tuple[Sequence[int], Sequence[int]] | None = None
    pair_template: Sequence[int] | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    conventions: Conventions | None = None

    @property
    def finds_symbols(self) -> bool:
        """Tell whether pieces of type USER_DEFINED are found in normalized text."""
        return self.conventions is None or self.conventions.symbols

    @cached_property
    def templates(self) -> Templates:
        """The ids around texts. By default the bos control symbol before each, if there is one.

        That is what transformers' classes for such models add: add_bos_token=True, add_eos_token=False.
        """
        if self.template is None:
            bos = self.control_id("bos")
            return around(() if bos is None else (bos,), ())
        made = around(*self.template)
        return made if self.pair_template is None else made._replace(pair=self.pair_template)

    def control_id(self, role: str) -> int | None:
        """The id of the control symbol that the options name for "bos", "eos" or "pad"; None if it is none."""
        name = self.trainer[f"{role}_piece"].encode("utf-8", "surrogateescape")
        at = self.trainer[f"{role}_id"]
        guess = at if 0 <= at < self.n_pieces and self.piece(at) == name else None
        found = guess if guess is not None else next((i for i, p in enumerate(self.pieces) if p == name), None)
        return found if found is not None and self.types[found] == PieceType.CONTROL else None

    @property
    def n_pieces(self) -> int:
        """How many ids there are."""
        return len(self.types)

    def piece(self, i: int) -> bytes:
        """The text of one id, without making all of them."""
        ends = self._ends
        return self.piece_bytes[ends[i - 1] if i else 0 : ends[i]]

    @cached_property
    def _ends(self) -> array[int]:
        return array("I", self.piece_ends)

    @cached_property
    def pieces(self) -> list[bytes]:
        """The text of each id."""
        ends = self._ends
        return [self.piece_bytes[start:end] for start, end in zip(chain((0,), ends), ends, strict=False)]
