"""What a tokenizer file says, as plain data: the meeting point of `formats` and the facade."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastbpe.patterns import PatternLike

Buffer = bytes | bytearray | memoryview

_MERGE = struct.Struct("<III")
BYTES_PER_MERGE = _MERGE.size


@dataclass(frozen=True, kw_only=True)
class Model:
    """A byte-level vocabulary with all that decides ids.

    tokens: the bytes of each ordinary id, b"" where an id is none; None where `tables` holds them.
    merges_rule: what makes a pair: "ranks" (every split of a token, by the token's id) or "merges" (the list).
    merges: that list: uint32 triples (left id, right id, merged id), best first, little-endian.
    tables: the core's ready-made buffers, by name: those of the tokens, or all; None where `tokens` is given.
    pattern: the split pattern, or several to apply one after another; None: no splitting.
    fingerprint: as the file gives it, "" where it gives none.
    """

    tokens: list[bytes] | None
    pattern: PatternLike
    special_tokens: Mapping[str, int]
    merges: Buffer = b""
    merges_rule: str = "ranks"
    whole_piece_first: bool = True
    tables: Mapping[str, Buffer] | None = None
    name: str | None = None
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
