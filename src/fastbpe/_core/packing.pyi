from typing_extensions import Buffer

from fastbpe._core.output import Array

def pack_ids(ids: Array | Buffer, n_bytes: int) -> bytearray: ...
