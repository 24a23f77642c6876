"""Encoding for threads of the caller, who has checked the text: without the GIL, however short the texts are."""

from collections.abc import Iterable

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array

def encode_texts(encoder: Encoder, texts: Iterable[str | bytes], num_threads: int) -> tuple[Array, Array]: ...
def encode_json_lines(
    encoder: Encoder, block: bytes, n_lines: int, field: str
) -> tuple[Array, Array, int] | None: ...
