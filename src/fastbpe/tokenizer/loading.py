"""load(): create a Tokenizer from a file, a folder or a name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fastbpe.errors import FormatError, PatternError, SpecialTokenError, VocabularyError
from fastbpe.model import Buffer, CodePointModel, Model
from fastbpe.patterns import PATTERNS, PatternLike
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.tokenizer.tokenizer_base import CACHE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.known_vocabularies import KnownVocabulary


def load(
    path_or_bytes: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | Sequence[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> Tokenizer | Any:
    """Load a tokenizer from a file, a folder or a file's bytes, or find a published vocabulary by its name.

    The contents decide the format of a file, not its extension. A name is searched for on this machine, never
    downloaded. The places are the folders of FASTBPE_VOCAB_DIR (`o200k_base.tiktoken`, `NAME.fbpe`, a folder
    `NAME/`), the cache that `fastbpe fetch NAME` fills, tiktoken's cache and Hugging Face's. If the vocabulary has
    a published SHA-256, as o200k_base does, the file found must have it; in `NAME.fbpe` or `NAME/`, the ranks must
    have it.

    Args:
        path_or_bytes: one of these, or a file's contents as bytes:

            - a `.fbpe` or `.tiktoken` file, a tokenizer.json, Mistral's tekken.json, js-tiktoken's JSON;
            - one of GPT-2's two files (`vocab.json` and `merges.txt`, or `encoder.json` and `vocab.bpe`), with the
              other in the same folder;
            - a `.model` of sentencepiece (type BPE, unigram or char), of minbpe or of BoundlessBPE (v2); a `.gguf`
              file of llama.cpp, with or without the tensors;
            - a folder: the first of these files in it is loaded: tokenizer.json, tokenizer.model, tekken.json,
              tiktoken.model, spiece.model, sentencepiece.bpe.model, sentencepiece.model, spm.model, GPT-2's two,
              BERT's vocab.txt, tokenizer.model.v*, *.tiktoken, *.fbpe, *.gguf; with the tokens from
              tokenizer_config.json, special_tokens_map.json and added_tokens.json, read as in AutoTokenizer of
              transformers;
            - a name, if no file or folder has it: "o200k_base", "llama3", ..., an OpenAI model ("gpt-4o", or
              "GPT-4o"), or a Hugging Face repository ("org/name").
        pattern: split pattern for files that do not store one: a name in `PATTERNS`, any regex, or a list of
            regexes. "none" means no splitting.
        special_tokens: text to id, instead of the special tokens of the file or of its published vocabulary; the
            `template` has their new ids, and lacks tokens that are gone. Or a list of texts, which become
            additional special tokens as in `Tokenizer.with_special_tokens`.
        cache_bytes: maximum memory in bytes of the piece caches of all threads together. It does not change ids.

    Returns:
        A Tokenizer, or a SequenceTokenizer if the file contains one.
        Type checkers see `Tokenizer | Any`, because the file decides; `SequenceTokenizer.load` loads only its own
        kind.

    Raises:
        FormatError: the file is damaged, in no format that fastbpe reads, or excludes an argument that is given
            (it stores a split pattern, or contains a SequenceTokenizer); the message says how to fix it.
        FileNotFoundError: no file and no vocabulary has this name. For a name that is not a path, the error is a
            VocabularyNotFoundError: its message suggests known names, or says how to get the vocabulary, and its
            `looked_at` lists the places searched.
        SpecialTokenError, PatternError: special_tokens or pattern is invalid.
        OSError: the file cannot be opened.
        ValueError: cache_bytes is negative.
        TypeError: path_or_bytes has another type.

    Warns:
        FormatWarning: fastbpe does not apply a part of the files, such as truncation, padding or dropout; an added
            token gets another id than in the file; a .gguf file does not name its split pattern.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Tokenizer.from_merges([(97, 98)], pattern="gpt2").save(f"{folder}/ab.fbpe")
    ...     load(f"{folder}/ab.fbpe").encode("ab")
    [256]
    """
    if not isinstance(path_or_bytes, (str, os.PathLike, bytes, bytearray, memoryview)):
        raise TypeError(f"path_or_bytes must be a path, a name or bytes, not {type(path_or_bytes).__name__}")
    if special_tokens is not None and _holds_sequences(path_or_bytes):
        raise FormatError(
            "special_tokens= is for text, but this is a tokenizer of sequences of integers; leave special_tokens= "
            "out, and add special tokens to the result with with_special_tokens"
        )
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
        if "://" in path_or_bytes:
            raise find.missing(path_or_bytes, "load reads no addresses: download the file, or pass its bytes")
        if near := find.suggestion(path_or_bytes):  # "gpt 4o" is not a file name that anyone meant
            raise find.missing(path_or_bytes, f"no such file or folder; {near}")
    if _holds_sequences(path_or_bytes):
        return _load_sequences(path_or_bytes, pattern)
    from fastbpe.formats import detect  # here: programs that only import `load` do not wait for it

    model = detect.read(path_or_bytes, pattern=pattern, special_tokens=special_tokens)
    where = "<bytes>" if isinstance(path_or_bytes, (bytes, bytearray, memoryview)) else os.fspath(path_or_bytes)
    return _make(model, where, pattern, special_tokens, cache_bytes)


def load_rest(data: bytes, entries: Entries) -> Tokenizer | None:
    """Load a tokenizer.json whose vocabulary and merges are in `entries`, and empty in the data.

    Returns None if the file must be loaded as a whole, or is another JSON object.
    """
    from fastbpe.formats import detect  # here: few programs need it

    model = detect.read_rest(data, entries)
    return None if model is None else _make(model, "<bytes>", None, None, CACHE_BYTES)


def _holds_sequences(source: str | os.PathLike[str] | Buffer) -> bool:
    """Tell whether a file, or its bytes, begins like the file of a SequenceTokenizer."""
    from fastbpe.formats import sequence_tokenizer_file  # here: few programs load one

    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source[: len(sequence_tokenizer_file.MAGIC)]) == sequence_tokenizer_file.MAGIC
    if not os.path.isfile(source):
        return False
    try:
        with open(source, "rb") as file:
            return file.read(len(sequence_tokenizer_file.MAGIC)) == sequence_tokenizer_file.MAGIC
    except OSError:  # the code that reads the whole file raises the error, with the file's name
        return False


def _load_sequences(source: Any, pattern: PatternLike) -> Tokenizer:
    from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer  # here: few programs need it

    if pattern is not None:
        raise FormatError(
            "pattern= is for text, but this is a tokenizer of sequences of integers; leave pattern= out"
        )
    tokenizer: Any = SequenceTokenizer.load(source)
    return tokenizer  # type: ignore[no-any-return]


def _make(
    model: Model | CodePointModel,
    where: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    cache_bytes: int,
) -> Tokenizer:
    try:
        if isinstance(model, Model) and model.huggingface:
            from fastbpe.tokenizer.families.step_objects import check_regexes  # here, as below

            check_regexes(model)
        if isinstance(model, Model) and model.spelling is None and model.merges_rule != "ranks":
            from fastbpe.tokenizer.families.ranked_merges import by_ranks  # here: files of ranks do not need it

            model = by_ranks(model)
        return Tokenizer(model, cache_bytes=cache_bytes)
    except (FormatError, VocabularyError, SpecialTokenError, PatternError) as error:
        # An error in the caller's own arguments keeps its type. Any other is an error of the file.
        if isinstance(error, SpecialTokenError) and special_tokens is not None:
            raise
        if isinstance(error, PatternError) and pattern is not None:
            raise
        raise FormatError(f"{where}: {error}") from error


def check_published(
    tokenizer: Tokenizer, vocabulary: KnownVocabulary, path: str, *, special_tokens_too: bool
) -> None:
    """Raise FormatError if a file's tokenizer lacks the published ranks, pattern or (if asked) special tokens."""
    import hashlib  # here: importing it is slow, and few files are checked

    from fastbpe.formats import tiktoken

    # The published file contains the first n_leading special tokens as ranks, but not the others.
    special = {name: i for name, i in tokenizer.special_tokens.items() if i >= vocabulary.n_leading}
    tokens = tokenizer.vocab
    for token_id in special.values():
        tokens[token_id] = b""
    has = hashlib.sha256(tiktoken.dump(tokens)).hexdigest()
    differs = ""
    if has != vocabulary.file.sha256:
        differs = f"its ranks have the SHA-256 {has}, but the published ranks have {vocabulary.file.sha256}"
    elif tokenizer.pattern != PATTERNS[vocabulary.pattern]:
        differs = f"its split pattern is not {vocabulary.pattern}"
    elif special_tokens_too and special != vocabulary.special_tokens():
        differs = "its special tokens differ from the published ones"
    if differs:
        raise FormatError(f"{path}: not {vocabulary.name} as published: {differs}; load this file by its path")
