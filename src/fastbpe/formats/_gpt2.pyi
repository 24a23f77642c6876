"""Fast twin of `gpt2.read_slowly`."""

from collections.abc import Iterable

from fastbpe.model import Buffer

def read(
    vocab: Buffer, merges: Buffer
) -> tuple[bytes, bytes, bytes, list[tuple[bytes, int]], list[int]] | None: ...
def without(token_bytes: bytes, token_ends: bytes, ids: Iterable[int]) -> tuple[bytes, bytes]: ...
