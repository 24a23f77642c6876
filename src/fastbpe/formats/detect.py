"""Recognise the format of a file, a folder or bytes by the content, and read it."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats import foreign, limits, native, sequence_tokenizer_file, tiktoken
from fastbpe.formats.atomic_files import map_file
from fastbpe.model import TABLE_DECODERS, Buffer, CodePointModel, Model
from fastbpe.patterns import PatternLike, as_regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fastbpe.formats.class_folders import Prepared
    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.formats.huggingface.class_settings import Settings
    from fastbpe.formats.huggingface.named_tokens import NamedTokens
    from fastbpe.formats.huggingface.scored_vocab import ScoredVocab

_BOUNDLESS = b"BoundlessBPE v2 "  # start of its .model files; `boundless_model` is imported only for them
_CONTENT = b'"content"'  # a key of each added token in a tokenizer.json
_READABLE = (
    ".fbpe, .tiktoken, tokenizer.json, tekken.json, js-tiktoken's JSON, vocab.json with merges.txt, .gguf, and "
    ".model of sentencepiece, minbpe and BoundlessBPE"
)


def read(
    source: str | os.PathLike[str] | Buffer,
    *,
    pattern: PatternLike = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str = "<bytes>",
) -> Model | CodePointModel:
    """Read the model in a file, in a file's bytes or in a folder.

    The content decides which format it has; the extension only if the content alone does not show it.

    Args:
        pattern: for formats that do not store one.
        special_tokens: name → id; they replace the special tokens of the file.
        name: the name of the file in errors, if source is bytes.

    Raises:
        FormatError: an unknown format, a damaged file, or an argument that contradicts the file.
        OSError: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parse(bytes(source), name, pattern, special_tokens)
    where = os.fspath(source)
    if os.path.isdir(where):
        return _read_folder(where, pattern, special_tokens)
    return _parse(map_file(where), where, pattern, special_tokens)


def _read_folder(
    where: str, pattern: PatternLike, special_tokens: Mapping[str, int] | None
) -> Model | CodePointModel:
    """Read the tokenizer's file in a folder by the rules of the class that the other files name."""
    from fastbpe.formats import json_object
    from fastbpe.formats.huggingface import class_settings, named_tokens, tokenizer_config

    config = json_object.read_object(os.path.join(where, named_tokens.CONFIG))
    model_config = json_object.read_object(os.path.join(where, "config.json"))
    name = class_settings.class_of(config, model_config)
    model = _read_files(where, config, model_config, name, pattern, special_tokens)
    return tokenizer_config.with_clean_up(model, config, name)


def _read_files(
    where: str,
    config: Mapping[str, Any],
    model_config: Mapping[str, Any],
    name: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
) -> Model | CodePointModel:
    """Read the model in a folder. model_config: content of its config.json; name: the class, as `class_name`."""
    from fastbpe.formats import folder
    from fastbpe.formats.huggingface import class_settings, named_tokens, piece_classes, tokenizer_config

    if name in TABLE_DECODERS:
        from fastbpe.formats import table_folders  # here: other folders do not need it

        if table_folders.finds(where, name):
            _check_no_pattern(pattern, where)
            return table_folders.read(where, config, name, special_tokens)
    if name in class_settings.OF_BYTES:
        from fastbpe.formats import byte_folders  # here: other folders do not need it

        _check_no_pattern(pattern, where)
        return byte_folders.read(where, config, name, special_tokens)
    if name in class_settings.OF_SUBWORDS:
        from fastbpe.formats import subword_folders  # here: other folders do not need it

        if subword_folders.finds(where, name):
            _check_no_pattern(pattern, where)
            return subword_folders.read(where, config, name, special_tokens)
    if name in ("BertGeneration", "GPTSw3") and os.path.isfile(os.path.join(where, folder.SPIECE)):
        from fastbpe.formats import backend_folders  # here: other folders do not need it

        _check_no_pattern(pattern, where)
        return backend_folders.read(where, config, name, special_tokens)
    try:
        paths = folder.find(where)
    except FormatError as error:
        if reason := class_settings.reason(name):
            raise FormatError(
                f"{error}; it is a folder for the class {name}Tokenizer{reason}: {class_settings.way_out(name)}"
            ) from None
        raise
    if os.path.basename(paths[0]) == folder.JSON:
        if name in class_settings.IN_PYTHON:
            paths = folder.find(where, beside_json=True) or paths
        elif pattern is None and (found := _read_by_class(where, paths[0], config, name, special_tokens)):
            return found
    if os.path.basename(paths[0]) == folder.BERT_VOCABULARY:
        from fastbpe.formats import bert_vocabulary  # here: other folders do not need it

        _check_no_pattern(pattern, paths[0])
        name = class_settings.class_of_parts(config, model_config)
        if name == "Esm":
            from fastbpe.formats import esm_vocabulary  # here: few vocabularies are of this kind

            return esm_vocabulary.read(where, paths[0], special_tokens)
        return bert_vocabulary.read(where, paths[0], config, name, special_tokens)
    if len(paths) == 2:
        name = class_settings.class_of_parts(config, model_config)
    is_json = os.path.basename(paths[0]) == folder.JSON  # such a file has its own steps
    settings = None if is_json else class_settings.CLASSES.get(name)
    is_sentencepiece = _is_sentencepiece(map_file(paths[0]))
    if is_sentencepiece and class_settings.takes_two_files(name) and (pair := folder.find_pair(where)):
        paths, is_sentencepiece = pair, False
    if is_sentencepiece and name in piece_classes.CLASSES:
        from fastbpe.formats import piece_folders  # here: few folders have no tokenizer.json

        _check_no_pattern(pattern, paths[0])
        return piece_folders.read(where, paths[0], config, name, special_tokens)
    if is_sentencepiece and class_settings.has_own_pieces(name):
        raise FormatError(
            f"{paths[0]}: the class {name}Tokenizer gives other ids than this model"
            f"{class_settings.reason(name)}: "
            f"{class_settings.way_out(name)}; for the model's own ids, pass the path of this file"
        )
    if len(paths) == 2:
        from fastbpe.formats.huggingface import class_steps

        if name in class_steps.PAIRS:
            from fastbpe.formats import class_folders  # here: few folders have no tokenizer.json

            prepared = class_folders.prepare_pair(
                where, (paths[0], paths[1]), config, name, names_count=special_tokens is None
            )
            made = _read_prepared(where, paths[0], prepared, special_tokens, is_bare=True)
            return made if pattern is None else _with_pattern(made, pattern, paths[0])
    named = named_tokens.read(where, settings, beside_pieces=is_sentencepiece)
    if pattern is None and paths[0].endswith("tiktoken.model"):
        pattern = class_settings.pattern_of_ranks(config)
    kept = named if special_tokens is None else None  # special_tokens= replaces the tokens that the files name
    model: Model | CodePointModel
    if len(paths) == 2:
        model = _read_pair((paths[0], paths[1]), pattern, special_tokens, kept, settings, name)
        if settings is not None and config.get("add_prefix_space", settings.prefix_space):
            # The step that puts the space runs after another one, such as Qwen's Split, so on each of its pieces.
            if settings.pre_tokenizers or settings.pattern not in ("", "gpt2"):
                raise FormatError(
                    f"{where}: with add_prefix_space, the class {name}Tokenizer would put a space before each "
                    f"piece, which fastbpe does not support: {class_settings.way_out(name)}"
                )
            model = model._replace(prefix_space=True)
    else:
        model = _read_beside(paths[0], pattern, special_tokens, kept, name)
    is_bare = len(paths) == 2 or not paths[0].endswith((".json", ".fbpe", ".gguf"))
    # Of the classes of transformers, only this one puts bos before texts if tokenizer_config.json does not say so.
    # Without that file, a sentencepiece model is used as its own library's users do.
    puts_bos = is_sentencepiece and (name == "CodeLlama" or not config)
    return tokenizer_config.with_own_tokens(model, where, named, is_bare=is_bare, puts_bos=puts_bos)


def _read_by_class(
    where: str, path: str, config: Mapping[str, Any], name: str, special_tokens: Mapping[str, int] | None
) -> Model | CodePointModel | None:
    """Read a tokenizer.json with the steps that the class of its folder builds; None if the file's steps apply."""
    from fastbpe.formats.huggingface import class_steps, piece_classes

    if not any(name in names for names in (class_steps.CLASSES, class_steps.UNKNOWN, piece_classes.WITH_JSON)):
        return None
    from fastbpe.formats import class_folders  # here: other folders do not need it

    prepared = class_folders.prepare(where, path, config, name, names_count=special_tokens is None)
    return None if prepared is None else _read_prepared(where, path, prepared, special_tokens)


def _read_prepared(
    where: str,
    path: str,
    prepared: Prepared,
    special_tokens: Mapping[str, int] | None,
    *,
    is_bare: bool = False,
) -> Model | CodePointModel:
    """Read a tokenizer.json that `class_folders` has made for a folder. is_bare: as for `with_own_tokens`."""
    from fastbpe.formats.huggingface import tokenizer_config
    from fastbpe.formats.huggingface.read import WholeFileNeeded

    try:
        model = _read_huggingface(prepared.data(), path, None, special_tokens, None, prepared.entries)
    except WholeFileNeeded:
        model = _read_huggingface(prepared.with_vocabulary(path), path, None, special_tokens, None)
    assert model is not None
    model = model._replace(roles={**model.roles, **prepared.named.roles})
    return tokenizer_config.with_own_tokens(model, where, prepared.named, is_bare=is_bare)


def _with_pattern(model: Model | CodePointModel, pattern: PatternLike, where: str) -> Model:
    """Set the split pattern of a model, and drop its pre-tokenizers; the model keeps its other steps.

    Raises FormatError for a model that is not byte-level.
    """
    if not isinstance(model, Model) or model.spelling is not None:
        raise _has_own(where, "split pattern", "pattern")
    kept = {name: value for name, value in model.huggingface.items() if name != "pre_tokenizer"}
    return model._replace(pattern=pattern, pre_tokenizers=(), huggingface=kept)


def _read_pair(
    paths: tuple[str, str],
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    named: NamedTokens | None = None,
    settings: Settings | None = None,
    class_name: str = "",
) -> Model:
    """Read two files, with the tokens and the class that the other files of the folder name.

    named, settings, class_name: None or "" for two files that are read without their folder.
    """
    from fastbpe.formats import gpt2

    vocab, merges = (map_file(path) for path in paths)
    for data, path in ((vocab, paths[0]), (merges, paths[1])):
        if len(data):  # an empty list of merges is valid
            foreign.check(data, path)
    if gpt2.marks_words(bytes(vocab), bytes(merges)):
        from fastbpe.formats import character_files  # here: few vocabularies are of this kind

        _check_no_pattern(pattern, paths[0])
        return character_files.parse(
            vocab, merges, paths, special_tokens=special_tokens, named=named, class_name=class_name
        )
    if class_name and pattern is None:
        _check_class(class_name, settings, paths[0])
    return gpt2.parse(
        vocab, merges, paths, pattern=pattern, special_tokens=special_tokens, named=named, settings=settings
    )


def _check_class(name: str, settings: Settings | None, where: str) -> None:
    """Raise FormatError if the class of two files splits texts by rules that fastbpe does not know."""
    from fastbpe.formats.huggingface import class_settings

    if name not in class_settings.ANY_CLASS and (settings is None or not settings.pattern):
        known = ", ".join(kind for kind, its in class_settings.CLASSES.items() if its.pattern)
        raise FormatError(
            f"{where}: a vocabulary for the class {name}Tokenizer, which has its own rules"
            f"{class_settings.reason(name)}; fastbpe knows the rules of {known}; "
            f"{class_settings.way_out(name)}, or pass the split pattern of this class as pattern=..."
        )


def _read_beside(
    path: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    named: NamedTokens | None,
    class_name: str,
) -> Model | CodePointModel:
    """Read the tokenizer's file in a folder, with the tokens that the other files name.

    named: these tokens; None: the caller replaces them by special_tokens.
    """
    data = map_file(path)
    if named is None:
        return _parse(data, path, pattern, special_tokens)
    if _is_sentencepiece(data) or (path.endswith(".model") and not tiktoken.recognise(data)):
        from fastbpe.formats.sentencepiece import beside

        model = _parse(data, path, pattern, None)
        if isinstance(model, Model):
            return model
        return beside.with_named(beside.without_rules(model) if class_name == "Gemma" else model, named, path)
    if tiktoken.recognise(data):
        return tiktoken.parse(data, path, pattern=pattern, special_tokens=None, named=named)
    return _parse(data, path, pattern, None, named)


def _parse(
    data: Buffer,
    where: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    named: NamedTokens | None = None,
) -> Model | CodePointModel:
    """Read the bytes of a file. named: tokens that the other files of its folder name."""
    if bytes(data[: len(native.MAGIC)]) == native.MAGIC:
        _check_no_pattern(pattern, where)
        model = native.parse(data, where)
        if special_tokens is None:
            return model
        if not isinstance(model, Model):
            raise _has_own(where, "special tokens", "special_tokens")
        from fastbpe.formats.huggingface.read import with_special  # here: it is slow to import

        return with_special(model, special_tokens)._replace(fingerprint="")
    if bytes(data[: len(sequence_tokenizer_file.MAGIC)]) == sequence_tokenizer_file.MAGIC:
        raise FormatError(
            f"{where}: a tokenizer of sequences of integers, not of text; pass its path to fastbpe.load"
        )
    if bytes(data[:4]) == b"GGUF":
        from fastbpe.formats import gguf  # here: other files do not need it

        if gguf.recognise(data):
            return gguf.parse(data, where, pattern=pattern, special_tokens=special_tokens)
    if bytes(data[: len(_BOUNDLESS)]) == _BOUNDLESS:
        from fastbpe.formats import boundless_model  # here: other files do not need it

        _check_no_pattern(pattern, where)
        return boundless_model.parse(data, where, special_tokens=special_tokens)
    foreign.check(data, where)
    if _is_object(data):
        from fastbpe.formats import js_tiktoken, tekken  # here: other files do not need them

        if js_tiktoken.recognise(data):
            _check_no_pattern(pattern, where)
            return js_tiktoken.parse(data, where, special_tokens=special_tokens)
        if tekken.recognise(data):
            _check_no_pattern(pattern, where)
            return tekken.parse(data, where, special_tokens=special_tokens)
        if found := _read_huggingface(data, where, pattern, special_tokens, named):
            return found
    if tiktoken.recognise(data) or where.endswith(".tiktoken"):
        return tiktoken.parse(data, where, pattern=pattern, special_tokens=special_tokens)
    # Imported here: loading the formats above does not need these.
    from fastbpe.formats import gpt2, minbpe
    from fastbpe.formats.sentencepiece import model_file

    if minbpe.recognise(data):
        _check_no_pattern(pattern, where)
        model = minbpe.parse(data, where, special_tokens=special_tokens)
        # The file has a regex, even if its text is also the name of a pattern.
        return model._replace(pattern=as_regex(model.pattern)) if isinstance(model.pattern, str) else model
    if _is_sentencepiece(data) or where.endswith(".model"):
        found = model_file.parse(data, where)  # first: the name alone does not prove the format
        _check_no_pattern(pattern, where)
        if special_tokens is not None:
            raise _has_own(where, "special tokens", "special_tokens")
        return found
    is_vocab = gpt2.recognise_vocab(data)
    if is_vocab or gpt2.recognise_merges(data):
        if where == "<bytes>":
            raise FormatError(
                "<bytes>: this is one of two files of a vocabulary; pass its path, or the folder with both files"
            )
        files = where, gpt2.sibling(where, data, is_vocab=is_vocab)
        return _read_pair(files if is_vocab else files[::-1], pattern, special_tokens)
    if os.path.basename(where) == "vocab.txt":
        raise FormatError(
            f"{where}: this file lacks the rules of its vocabulary, which are in other files; load the folder"
        )
    begin = bytes(data[:24])
    raise FormatError(f"{where}: not a format that fastbpe reads ({_READABLE}): it begins with {begin!r}")


def _is_object(data: Buffer) -> bool:
    """Tell whether the data may be a JSON object."""
    return bytes(data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"


def _read_huggingface(
    data: Buffer,
    where: str,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    named: NamedTokens | None,
    entries: Entries | ScoredVocab | None = None,
) -> Model | CodePointModel | None:
    """Read a tokenizer.json; None if the data is another JSON object.

    entries: its vocabulary and merges, which are empty in the data; None: the data has them.

    Raises:
        FormatError: a damaged file, or options that fastbpe does not support.
        WholeFileNeeded: as `read.parse`.
    """
    from fastbpe.formats.huggingface import read as tokenizer_json  # here: it is slow to import
    from fastbpe.formats.huggingface import read_llama
    from fastbpe.formats.huggingface._vocab_json import Entries

    data = bytes(data)  # searching a memory map is slow
    limits.check_entries(data, where, b":", b",")
    if len(data) > len(_CONTENT) * limits.MAX_ADDED_TOKENS:
        limits.check_added_tokens(data.count(_CONTENT), where)
    if not tokenizer_json.recognise(data):
        return None
    if pattern is not None:
        raise FormatError(f"{where}: the file contains its own rules for splitting text; leave pattern= out")
    from fastbpe.formats.huggingface import read_segmented

    if read_segmented.recognise(data):
        segmented = read_segmented.parse(data, where, special_tokens=special_tokens, named=named, entries=entries)
        if segmented is not None:
            return segmented
    assert entries is None or isinstance(entries, Entries)  # a model with scores does not merge
    with suppress(FormatError):  # first the two kinds that the core runs fastest
        if not _is_llama_kind(data):
            return tokenizer_json.parse(data, where, special_tokens=special_tokens, named=named, entries=entries)
        if special_tokens is None:  # in a code-point model, they cannot be replaced
            return read_llama.parse(data, where, named=named, entries=entries)
    from fastbpe.formats.huggingface import read_characters

    try:
        return read_characters.parse(data, where, special_tokens=special_tokens, named=named, entries=entries)
    except FormatError as error:
        with suppress(FormatError):
            words = read_segmented.parse(
                data, where, special_tokens=special_tokens, named=named, entries=entries, may_merge=False
            )
            if words is not None:
                assert words.spelling is not None
                reading = f"tokenizers reads such a model, which has no 'type', as {words.spelling.kind}"
                warn(f"{error}; {reading}, and so does fastbpe", FormatWarning)
                return words
        raise


def read_rest(data: bytes, entries: Entries) -> Model | CodePointModel | None:
    """Read a tokenizer.json whose vocabulary and merges are in `entries`, and empty in the data.

    Returns None if the file must be read as a whole, or is another JSON object. Raises FormatError for a damaged
    file.
    """
    from fastbpe.formats.huggingface.read import WholeFileNeeded

    try:
        return _read_huggingface(data, "<bytes>", None, None, None, entries)
    except WholeFileNeeded:
        return None


def _is_llama_kind(data: bytes) -> bool:
    """Tell whether a tokenizer.json seems to write spaces as U+2581, and not to spell bytes as GPT-2 does."""
    if _has_type(data, b"ByteLevel"):
        return False
    if _has_type(data, b"ByteFallback") or _has_type(data, b"Metaspace"):
        return True
    return re.search(rb'"byte_fallback"\s*:\s*true', data) is not None


def _has_type(data: bytes, name: bytes) -> bool:
    """Tell whether some part of a tokenizer.json has this type. No JSON string matches: strings escape quotes."""
    # The plain search first: a regex that finds nothing is slower.
    return name in data and re.search(rb'"type"\s*:\s*"%s"' % name, data) is not None


def _is_sentencepiece(data: Buffer) -> bool:
    """Tell whether the data begins like a sentencepiece model: with a piece that begins with its text."""
    start = bytes(data[:4])  # tag and length of the first piece, then tag and length of its text: both are field 1
    return len(start) == 4 and start[0] == start[2] == 0x0A


def _check_no_pattern(pattern: PatternLike, where: str) -> None:
    if pattern is not None:
        raise _has_own(where, "split pattern", "pattern")


def _has_own(where: str, what: str, argument: str) -> FormatError:
    """Return the error for an argument about something that the file contains."""
    return FormatError(f"{where}: the file contains its own {what}; leave {argument}= out")
