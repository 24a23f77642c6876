from typing_extensions import Buffer

from fastbpe._core.encoder import IdBuffer

def pack_ids(ids: IdBuffer | Buffer, n_bytes: int) -> bytearray: ...
