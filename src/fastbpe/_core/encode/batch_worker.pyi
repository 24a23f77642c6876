"""Encoding for threads of the caller, who has checked the text: without the GIL, however short the texts are."""

from collections.abc import Iterable

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.text.separated_texts import SeparatedTexts

def encode_texts(encoder: Encoder, texts: Iterable[str | bytes], num_threads: int) -> tuple[Array, Array]:
    """Encode texts; return (uint32 ids of all end to end, int64 offsets into them: one more than texts)."""

def encode_json_lines(encoder: Encoder, block: bytes, field: str) -> tuple[Array, Array, int] | None:
    """Encode the strings under a field of JSON lines; return (ids, offsets, bytes of text), or None."""

def encode_separated(encoder: Encoder, texts: SeparatedTexts) -> tuple[Array, Array, int]:
    """Encode the texts between separators; return (ids, offsets, bytes of text)."""
