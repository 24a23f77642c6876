"""Encoding of texts that lie end to end in one buffer, as Arrow has them."""

from collections.abc import Collection

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.text.text_rows import TextRows

def encode_rows(
    encoder: Encoder,
    rows: TextRows,
    allowed_special: str | Collection[str],
    disallowed_special: str | Collection[str],
    num_threads: int | None,
) -> tuple[Array, Array]: ...
