"""The fast twin of `gpt2.read_slowly`."""

from collections.abc import Iterable

from fastbpe.model import Buffer

def read(vocab: Buffer, merges: Buffer) -> tuple[bytes, bytes, bytes, list[tuple[bytes, int]], list[int]] | None:
    """Read the tokens and merges of two plain files.

    Args:
        vocab: the bytes of vocab.json.
        merges: the bytes of merges.txt.

    Returns:
        (token_bytes, token_ends, merges, names, unmade), or None if the slow twin must read the files.
        token_bytes, token_ends, merges: as `Model` has them.
        names: (JSON string with its quotes, id) of each text that stands for no bytes.
        unmade: ids of the tokens of several bytes that no merge makes.
    """

def without(token_bytes: bytes, token_ends: bytes, ids: Iterable[int]) -> tuple[bytes, bytes]:
    """Return (token_bytes, token_ends) without the tokens of some ids.

    Args:
        token_bytes, token_ends: as `Model` has them.
        ids: ascending; each has a token.
    """
