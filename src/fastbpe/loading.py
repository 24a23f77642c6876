"""load(): a file in, a Tokenizer out."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fastbpe import formats
from fastbpe.errors import FormatError, PatternError, SpecialTokenError, VocabularyError
from fastbpe.model import Buffer, CodePointModel
from fastbpe.patterns import PatternLike
from fastbpe.tokenizer import CACHE_BYTES, Tokenizer


def load(
    path_or_bytes: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Tokenizer:
    """A tokenizer from a file, or from a file's bytes. The contents say which format it is, not the name.

    Args:
        path_or_bytes: `.fbpe`, `.tiktoken`, or sentencepiece's `.model` of type BPE.
        pattern: for files that do not hold their split pattern: a name in `PATTERNS`, any regex, or a list of
            regexes. "none" is no splitting.
        special_tokens: text to id, in place of those that the file holds or is known for.
        cache_bytes: what its piece caches may take, those of all threads together; without effect on ids.

    Raises:
        FormatError: not a file that fastbpe reads, or a damaged one; with its place and what to do.
        OSError: it cannot be opened.
    """
    model = formats.read(path_or_bytes, pattern=pattern, special_tokens=special_tokens)
    try:
        if isinstance(model, CodePointModel):
            from fastbpe.codepoint_tokenizer import CodePointTokenizer  # here: what byte level does not need

            return CodePointTokenizer(model, cache_bytes=cache_bytes)
        return Tokenizer(model, cache_bytes=cache_bytes)
    except (VocabularyError, SpecialTokenError, PatternError) as error:
        # Whatever the file says is the file's fault; what the caller gave is the caller's.
        if isinstance(error, SpecialTokenError) and special_tokens is not None:
            raise
        if isinstance(error, PatternError) and pattern is not None:
            raise
        where = (
            "<bytes>" if isinstance(path_or_bytes, (bytes, bytearray, memoryview)) else os.fspath(path_or_bytes)
        )
        raise FormatError(f"{where}: {error}") from error
