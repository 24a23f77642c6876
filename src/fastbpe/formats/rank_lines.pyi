"""Fast twin of `tiktoken.parse_ranks`."""

from fastbpe.model import Buffer

def parse(data: Buffer) -> tuple[bytes, bytes] | None: ...
