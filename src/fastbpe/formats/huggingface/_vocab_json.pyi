"""The fast twin of `vocabulary`."""

from collections.abc import Iterable

from fastbpe.model import Buffer

def read(data: Buffer) -> Entries | None:
    """Read a tokenizer.json; None if the slow twin must read it."""

class Entries:
    """Vocabulary and merges of a tokenizer.json, and the rest of the file: JSON in which both are empty."""

    rest: bytes
    def __len__(self) -> int: ...
    def __contains__(self, token: str) -> bool: ...
    def get(self, token: str, default: int) -> int:
        """Return the id of a token, or the default."""
    def pieces(self) -> tuple[bytes, bytes, bytes] | None:
        """Return (piece_bytes, piece_ends, merges) as `CodePointModel` has them.

        None if an id is not taken or a piece is empty: the slow twin must read the file.
        """
    def lay_out(self, named: Iterable[str], strict: bool) -> tuple[bytes, bytes, bytes, bool] | None:
        """Lay out the tables of a byte-level `Model`.

        Args:
            named: tokens that text reaches by their names alone. They are left out unless a merge uses them.
            strict: give up if a byte is not a token, or a token holds a character that stands for no byte.

        Returns:
            (token_bytes, token_ends, merges, misses_bytes): the first three as `Model` has them, and whether a
            byte is not a token. None if the slow twin must read the file.
        """
