"""Tables of a loaded sentencepiece model."""

from typing_extensions import disjoint_base

from fastbpe._core.encode.encoder import Encoder

@disjoint_base
class Facts:
    """Tables of a loaded model for look-ups, each created at its first use.

    A derived class has the attributes `tokenizer`, `names`, `piece_bytes`, `ids_by_piece`, `scores` and
    `special_ids`.

    encoder: encodes texts; None: the derived class encodes.
    types: a PieceType for each id.
    """

    def __init__(self, encoder: Encoder | None, types: bytes) -> None: ...
    def bytes_of_ids(self, ids: list[int]) -> list[bytes] | None:
        """Return the piece of each id as bytes; None if an id is not a plain int below the number of pieces."""
