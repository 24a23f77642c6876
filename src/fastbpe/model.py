"""Contents of a tokenizer file as plain data: the meeting point of `formats` and `tokenizer`.

`Model` holds a byte-level vocabulary, `CodePointModel` one of code points.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate, chain
from typing import Any, NamedTuple

from fastbpe._utils.caching import cached_property
from fastbpe.patterns import PatternLike

Buffer = bytes | bytearray | memoryview

_MERGE = struct.Struct("<III")
BYTES_PER_MERGE = _MERGE.size


TEXT, PAIR = -1, -2  # in a template: where the text stands, and where the second one stands


class Templates(NamedTuple):
    """The ids around a text and around two texts, with TEXT and PAIR in the places of the texts."""

    single: Sequence[int]
    pair: Sequence[int]


def around(before: Sequence[int], behind: Sequence[int]) -> Templates:
    """Templates that put the same ids around each text.

    >>> around([1], [2])
    Templates(single=(1, -1, 2), pair=(1, -1, 2, 1, -2, 2))
    """
    return Templates((*before, TEXT, *behind), (*before, TEXT, *behind, *before, PAIR, *behind))


class AddedToken(NamedTuple):
    """A token that is found in text before anything else is, as tokenizers' files describe it.

    special: found only where the caller allows it; False: wherever it stands.
    normalized: looked for in normalized text, in what the others leave; False: in the text as it is.
    lstrip, rstrip: takes the white space before it, or behind it, along. single_word: no letter may touch it.
    """

    content: str
    id: int
    special: bool = False
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


@dataclass(frozen=True, kw_only=True)
class Model:
    """A byte-level vocabulary with all that decides ids.

    tokens: the bytes of each ordinary id, b"" where an id is none; None where `tables` holds them.
    merges_rule: what makes a pair: "ranks" (every split of a token, by the token's id) or "merges" (the list).
    merges: that list: uint32 triples (left id, right id, merged id), best first, little-endian.
    drops_bytes: bytes that are no tokens are left out of text; False: every byte is a token.
    tables: the core's ready-made buffers, by name: those of the tokens, or all; None where `tokens` is given.
    pattern: the split pattern, or several to apply one after another; None: no splitting.
    pre_tokenizers: what splits in place of a pattern: steps as a tokenizer.json describes them.
    normalizers: what becomes of text before it is split, likewise.
    prefix_space: a space is put before text that has none there.
    added_tokens: special tokens that are not plain, and tokens found in text though they are not special.
    template: the ids that go before a text and behind it where the caller asks for them.
    pair_template: those around two texts, with TEXT and PAIR in the places of the texts.
    roles: the tokens that a file names for "bos", "eos", "pad" and "unk"; they decide no ids.
    huggingface: parts of a tokenizer.json that decide no ids, kept for writing one.
    fingerprint: as the file gives it, "" where it gives none.
    """

    tokens: list[bytes] | None
    pattern: PatternLike
    special_tokens: Mapping[str, int]
    merges: Buffer = b""
    merges_rule: str = "ranks"
    whole_piece_first: bool = True
    drops_bytes: bool = False
    tables: Mapping[str, Buffer] | None = None
    name: str | None = None
    pre_tokenizers: Sequence[Mapping[str, Any]] = ()
    normalizers: Sequence[Mapping[str, Any]] = ()
    prefix_space: bool = False
    added_tokens: Sequence[AddedToken] = ()
    template: tuple[Sequence[int], Sequence[int]] = ((), ())
    pair_template: Sequence[int] = (TEXT, PAIR)
    roles: Mapping[str, str] = field(default_factory=dict)
    huggingface: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)

    def merge_list(self) -> list[tuple[int, int, int]] | None:
        """(left id, right id, merged id), best first; None where ranks decide."""
        if self.merges_rule == "ranks":
            return None
        return list(_MERGE.iter_unpack(self.merges))


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


def pack_merges(merges: Iterable[tuple[int, int, int]]) -> bytes:
    """The bytes of a merge list, as Model holds them."""
    return b"".join([_MERGE.pack(*merge) for merge in merges])


def pack_pieces(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Pieces or tokens end to end, and where each ends, as uint32."""
    listed = list(pieces)
    return b"".join(listed), array("I", accumulate(map(len, listed))).tobytes()
