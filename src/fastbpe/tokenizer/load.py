"""load(): a name, a file or a folder in, a Tokenizer out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

from fastbpe.errors import FormatError, PatternError, SpecialTokenError, VocabularyError
from fastbpe.formats import detect, tiktoken
from fastbpe.known_vocabularies import KnownVocabulary
from fastbpe.model import Buffer, CodePointModel, Model
from fastbpe.patterns import PATTERNS, PatternLike
from fastbpe.tokenizer.tokenizer import CACHE_BYTES, Tokenizer


def load(
    path_or_bytes: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | Sequence[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Tokenizer:
    """Make a tokenizer from a file, a folder, a file's bytes, or the vocabulary of a name.

    The contents say which format a file has, not its ending. A name is looked up on this machine and never
    downloaded: in the folders that FASTBPE_VOCAB_DIR names (`o200k_base.tiktoken`, `NAME.fbpe`, a folder
    `NAME/`), in the cache that `fastbpe fetch NAME` fills, in tiktoken's cache and in Hugging Face's. A
    published vocabulary must have its published SHA-256 there.

    Args:
        path_or_bytes: `.fbpe`, `.tiktoken`, one of GPT-2's two files (`vocab.json` and `merges.txt`, or
            `encoder.json` and `vocab.bpe`; the other is found beside it), or sentencepiece's (of type BPE) or
            minbpe's `.model`. Of a folder: the first that it has of tokenizer.json, tokenizer.model, GPT-2's two,
            *.tiktoken, *.fbpe, with the special tokens that tokenizer_config.json, added_tokens.json and
            special_tokens_map.json name. A str that names no file or folder may be a name: "o200k_base",
            "llama3", ..., a model of OpenAI's ("gpt-4o"), or a repository of Hugging Face ("org/name").
        pattern: for files that do not hold their split pattern: a name in `PATTERNS`, any regex, or a list of
            regexes. "none" is no splitting.
        special_tokens: text to id, in place of those that the file holds or is known for; or a list of texts,
            added to them as `Tokenizer.with_special_tokens` does.
        cache_bytes: what its piece caches may take, those of all threads together; without effect on ids.

    Raises:
        FormatError: not a file that fastbpe reads, or a damaged one; with its place and what to do.
        FileNotFoundError: there is no such file, and no vocabulary of this name: where it was looked for, its
            SHA-256 and the way to get it.
        OSError: it cannot be opened.

    Warns:
        FormatWarning: a tokenizer.json asks for truncation or padding, which are not applied.
    """
    if special_tokens is not None and not isinstance(special_tokens, Mapping):
        base = load(path_or_bytes, pattern=pattern, cache_bytes=cache_bytes)
        return base.with_special_tokens(special_tokens)
    if isinstance(path_or_bytes, str) and not os.path.exists(path_or_bytes):
        from fastbpe.published import find  # here: paths do not need it

        if find.is_name(path_or_bytes):
            found = find.read(path_or_bytes, pattern=pattern, special_tokens=special_tokens)
            tokenizer = _make(found.model, found.path, pattern, special_tokens, cache_bytes)
            if found.unchecked is not None:
                check_published(tokenizer, found.unchecked, found.path, special_tokens_too=special_tokens is None)
            return tokenizer
    model = detect.read(path_or_bytes, pattern=pattern, special_tokens=special_tokens)
    where = "<bytes>" if isinstance(path_or_bytes, (bytes, bytearray, memoryview)) else os.fspath(path_or_bytes)
    return _make(model, where, pattern, special_tokens, cache_bytes)


def _make(
    model: Model | CodePointModel,
    where: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    cache_bytes: int,
) -> Tokenizer:
    try:
        if not isinstance(model, Model):
            from fastbpe.tokenizer.codepoint import CodePointTokenizer  # here: what byte level does not need

            return CodePointTokenizer(model, cache_bytes=cache_bytes)
        if model.merges_rule != "ranks":
            from fastbpe.tokenizer.merges_as_ranks import by_ranks  # here: what files of ranks do not need

            model = by_ranks(model)
        return Tokenizer(model, cache_bytes=cache_bytes)
    except (VocabularyError, SpecialTokenError, PatternError) as error:
        # Whatever the file says is the file's fault; what the caller gave is the caller's.
        if isinstance(error, SpecialTokenError) and special_tokens is not None:
            raise
        if isinstance(error, PatternError) and pattern is not None:
            raise
        raise FormatError(f"{where}: {error}") from error


def check_published(
    tokenizer: Tokenizer, vocabulary: KnownVocabulary, path: str, *, special_tokens_too: bool
) -> None:
    """Raise FormatError if a tokenizer is not the published vocabulary: ranks, pattern and special tokens."""
    named = vocabulary.special_tokens()
    tokens = tokenizer.vocab
    for token_id in tokenizer.special_tokens.values():
        if token_id >= vocabulary.n_leading:
            tokens[token_id] = b""
    has = hashlib.sha256(tiktoken.dump(tokens)).hexdigest()
    differs = ""
    if has != vocabulary.file.sha256:
        differs = f"its ranks have the SHA-256 {has}, those published {vocabulary.file.sha256}"
    elif tokenizer.pattern != PATTERNS[vocabulary.pattern]:
        differs = f"its split pattern is not {vocabulary.pattern}"
    elif special_tokens_too and _without_leading(tokenizer, vocabulary) != named:
        differs = "its special tokens are others"
    if differs:
        raise FormatError(f"{path}: not {vocabulary.name} as published: {differs}; load it by its path")


def _without_leading(tokenizer: Tokenizer, vocabulary: KnownVocabulary) -> dict[str, int]:
    return {name: i for name, i in tokenizer.special_tokens.items() if i >= vocabulary.n_leading}
