"""Build the tables of a vocabulary: the piece table (tokens by their bytes), and the pair table."""

from collections.abc import Iterable

from fastbpe.model import Buffer

def build_tables(
    tokens: list[bytes], merges: Iterable[tuple[int, int, int]] | Buffer | None = None, *, affixed: bool = False
) -> dict[str, Buffer]: ...
def build_look_ups(
    token_bytes: Buffer,
    token_ends: Buffer,
    merges: Iterable[tuple[int, int, int]] | Buffer | None = None,
    *,
    affixed: bool = False,
) -> dict[str, Buffer]: ...
