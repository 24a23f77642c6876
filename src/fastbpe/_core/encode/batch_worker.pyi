from collections.abc import Collection, Iterable

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.text.separated_texts import SeparatedTexts
from fastbpe._core.text.text_batches import TextRows

def encode_texts(encoder: Encoder, texts: Iterable[str | bytes], num_threads: int) -> tuple[Array, Array]: ...
def encode_json_lines(encoder: Encoder, block: bytes, field: str) -> tuple[Array, Array, int] | None: ...
def encode_separated(encoder: Encoder, texts: SeparatedTexts) -> tuple[Array, Array, int]: ...
def encode_rows(
    encoder: Encoder,
    rows: TextRows,
    allowed_special: str | Collection[str],
    disallowed_special: str | Collection[str],
    num_threads: int | None,
) -> tuple[Array, Array]: ...
