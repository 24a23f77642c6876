"""load(): a file or a folder in, a Tokenizer out."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from fastbpe import formats
from fastbpe.errors import FormatError, PatternError, SpecialTokenError, VocabularyError
from fastbpe.model import Buffer, Model
from fastbpe.patterns import PatternLike
from fastbpe.tokenizer import CACHE_BYTES, Tokenizer


def load(
    path_or_bytes: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Tokenizer:
    """A tokenizer from a file, a folder or a file's bytes. The contents say which format it is, not the name.

    Args:
        path_or_bytes: `.fbpe`, `.tiktoken`, one of GPT-2's two files (`vocab.json` and `merges.txt`, or
            `encoder.json` and `vocab.bpe`; the other is found beside it), or sentencepiece's (of type BPE) or
            minbpe's `.model`. Of a folder: the first that it has of tokenizer.json, tokenizer.model, GPT-2's two,
            *.tiktoken, *.fbpe, with the special tokens that tokenizer_config.json, added_tokens.json and
            special_tokens_map.json name.
        pattern: for files that do not hold their split pattern: a name in `PATTERNS`, any regex, or a list of
            regexes. "none" is no splitting.
        special_tokens: text to id, in place of those that the file holds or is known for.
        cache_bytes: what its piece caches may take, those of all threads together; without effect on ids.

    Raises:
        FormatError: not a file that fastbpe reads, or a damaged one; with its place and what to do.
        OSError: it cannot be opened.

    Warns:
        FormatWarning: a tokenizer.json asks for truncation or padding, which are not applied.
    """
    if isinstance(path_or_bytes, str) and path_or_bytes.isidentifier() and not os.path.exists(path_or_bytes):
        said = f"{os.strerror(errno.ENOENT)} (load takes a path; fastbpe.tiktoken.get_encoding takes names)"
        raise FileNotFoundError(errno.ENOENT, said, path_or_bytes)
    model = formats.read(path_or_bytes, pattern=pattern, special_tokens=special_tokens)
    where = "<bytes>" if isinstance(path_or_bytes, (bytes, bytearray, memoryview)) else os.fspath(path_or_bytes)
    try:
        if not isinstance(model, Model):
            from fastbpe.codepoint_tokenizer import CodePointTokenizer  # here: what byte level does not need

            return CodePointTokenizer(model, cache_bytes=cache_bytes)
        if model.merges_rule != "ranks":
            from fastbpe.ranking import by_ranks  # here: what files of ranks do not need

            model = by_ranks(model)
        return Tokenizer(model, cache_bytes=cache_bytes)
    except (VocabularyError, SpecialTokenError, PatternError) as error:
        # Whatever the file says is the file's fault; what the caller gave is the caller's.
        if isinstance(error, SpecialTokenError) and special_tokens is not None:
            raise
        if isinstance(error, PatternError) and pattern is not None:
            raise
        raise FormatError(f"{where}: {error}") from error
