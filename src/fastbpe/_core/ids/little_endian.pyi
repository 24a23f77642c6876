"""Packing ids (2 or 4 bytes) and offsets (8 bytes) as files hold them: little-endian on any machine."""

from typing_extensions import Buffer

from fastbpe._core.ids.id_lists import Array

def pack_ids(ids: Array | Buffer, n_bytes: int) -> bytearray:
    """Pack the low n_bytes bytes of each id (2 or 4) into a new bytearray, little-endian."""

def pack_offsets(offsets: Array | Buffer, more: int) -> bytearray:
    """Pack each offset plus `more` into a new bytearray, 8 bytes each, little-endian."""
