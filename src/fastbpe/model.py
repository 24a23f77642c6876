"""What a file of a byte-level tokenizer says, as plain data: the meeting point of `formats` and the facade.

Of code-point mode: `codepoint_model`.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from fastbpe.patterns import PatternLike
from fastbpe.templates import PAIR, TEXT

Buffer = bytes | bytearray | memoryview

_MERGE = struct.Struct("<III")
BYTES_PER_MERGE = _MERGE.size


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


def pack_merges(merges: Iterable[tuple[int, int, int]]) -> bytes:
    """The bytes of a merge list, as Model holds them."""
    return b"".join([_MERGE.pack(*merge) for merge in merges])


def pack_pieces(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Pieces or tokens end to end, and where each ends, as uint32."""
    listed = list(pieces)
    return b"".join(listed), array("I", accumulate(map(len, listed))).tobytes()
