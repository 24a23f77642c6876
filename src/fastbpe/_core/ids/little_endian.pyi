"""Pack ids (2 or 4 bytes) and offsets (8 bytes) for files: little-endian on any machine."""

from typing_extensions import Buffer

from fastbpe._core.ids.id_lists import Array

def pack_ids(ids: Array | Buffer, n_bytes: int) -> bytearray: ...
def pack_offsets(offsets: Array | Buffer, more: int) -> bytearray: ...
