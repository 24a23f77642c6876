"""The fast twin of `tiktoken.parse_ranks`."""

from fastbpe.model import Buffer

def parse(data: Buffer) -> tuple[bytes, bytes] | None:
    """Return (token_bytes, token_ends) as `Model` has them, by rank; None if a line is not plain."""
