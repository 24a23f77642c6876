"""A tokenizer as a file of some format: whole, or an error that names what would be lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from fastbpe.errors import FormatError
from fastbpe.formats import atomic_files, gpt2, minbpe, native, tiktoken
from fastbpe.formats.huggingface import write
from fastbpe.known_vocabularies import recognise
from fastbpe.model import Model
from fastbpe.patterns import Pattern, resolve_pattern
from fastbpe.tokenizer import components, verify_export
from fastbpe.tokenizer.merges_as_ranks import made_by, merges_by_rank, unmade
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.tokenizer.verify_export import Files, Verification, arguments, is_text, shown_ids, shown_text

#: Formats without a place for all that a tokenizer is; the others hold it, or cannot be written.
LOSSY = ("tiktoken", "gpt2")


def export(
    path: str | os.PathLike[str],
    tokenizer: Tokenizer,
    format: str,
    *,
    verify: bool = True,
    verify_text: str | None = None,
) -> Verification | None:
    """Write a tokenizer in a format: all files or none. What was compared before, if it was asked for.

    Raises FormatError: the format is unknown, or cannot hold this vocabulary; then nothing is written.
    """
    if format not in _EXPORTERS:
        raise FormatError(f"format={format!r}: choose one of {', '.join(map(repr, FORMATS))}")
    files = _EXPORTERS[format](tokenizer)
    return put(path, tokenizer, files, format, verify=verify, verify_text=verify_text)


def put(
    path: str | os.PathLike[str],
    tokenizer: Tokenizer,
    files: Files,
    format: str,
    *,
    verify: bool,
    verify_text: str | None,
) -> Verification | None:
    """Compare the files of an exported tokenizer with it, if asked for, and write them."""
    done = None
    if verify or verify_text is not None:
        done = verify_export.verify(tokenizer, files, format, verify_text)
    if isinstance(files, dict):
        atomic_files.write_folder(path, files)
    else:
        atomic_files.write(path, files)
    return done


def check_holds_all(path: str | os.PathLike[str], tokenizer: Tokenizer, format: str) -> None:
    """Raise FormatError if a file of a format in LOSSY needs more than itself to load; published ones do not."""
    if not _is_known(_EXPORTERS[format](tokenizer), tokenizer):
        lost = left_out(format, tokenizer.pattern, tokenizer.special_tokens)
        raise FormatError(
            f"{os.fsdecode(path)}: {format} has no place for {lost}; save a .fbpe file, or export it with "
            f"format={format!r} and give these to load"
        )


def _is_known(files: Files, tokenizer: Tokenizer) -> bool:
    """Tell whether `load` knows by their SHA-256 all that these files do not say."""
    if isinstance(files, dict):
        return gpt2.published_pattern(files[gpt2.MERGES_FILE]) == tokenizer.pattern
    known = recognise(files)
    if known is None or resolve_pattern(known.pattern)[1] != tokenizer.pattern:
        return False
    return known.special_tokens() == tokenizer.special_tokens


def left_out(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> str:
    """What a format has no place for, as the arguments that `load` then needs; "" for nothing.

    >>> left_out("tiktoken", None, {"<s>": 256}), left_out("gpt2", None, {"<s>": 256})
    ("pattern='none', special_tokens={'<s>': 256}", "pattern='none'")
    """
    return ", ".join(f"{name}={value!r}" for name, value in arguments(format, pattern, special_tokens).items())


def _native(tokenizer: Tokenizer) -> Files:
    return native.dump(tokenizer._full_model())


def _tiktoken(tokenizer: Tokenizer) -> Files:
    model, vocabulary = tokenizer._full_model(), tokenizer._vocabulary
    components.check_plain(model, "a .tiktoken file")
    if model.drops_bytes:
        raise FormatError("a .tiktoken file needs a token for every byte; export it as native or huggingface")
    if merges_by_rank(vocabulary, model):
        return tiktoken.dump(vocabulary.tokens())
    tiktoken.check_tokens(vocabulary.tokens())
    ranked = replace(
        model, tokens=vocabulary.tokens(), tables=None, merges=b"", merges_rule="ranks", whole_piece_first=True
    )
    raise FormatError(
        "this vocabulary merges by a list of pairs; .tiktoken holds ranks only, which would give other ids"
        f"{_witness(tokenizer, ranked)}: export it as native"
    )


def _gpt2(tokenizer: Tokenizer) -> Files:
    model, vocabulary = tokenizer._full_model(), tokenizer._vocabulary
    components.check_plain(model, "GPT-2's files")
    listed = None if vocabulary.whole_piece_first else model.merge_list()
    merges = _made_by_merging(tokenizer) if listed is None else listed
    return gpt2.dump(vocabulary.tokens(), merges, model.special_tokens)


def _minbpe(tokenizer: Tokenizer) -> Files:
    model = tokenizer._full_model()
    components.check_plain(model, "minbpe's file")
    _, pattern = resolve_pattern(model.pattern)
    listed = None if tokenizer._vocabulary.whole_piece_first else model.merge_list()
    if listed is None or not minbpe.is_learned(listed):
        listed = _made_by_merging(tokenizer)
    return minbpe.dump(tokenizer._vocabulary.tokens(), listed, pattern, model.special_tokens)


def _huggingface(tokenizer: Tokenizer) -> Files:
    model, vocabulary = tokenizer._full_model(), tokenizer._vocabulary
    made = made_by(vocabulary, model)
    listed = model.merge_list()
    merges = list(made.values()) if listed is None else [(left, right) for left, right, _ in listed]
    steps = components.described_splitting(model)
    all_made = not unmade(vocabulary, made)
    return write.dump(model, vocabulary.tokens(), merges, steps, all_made=all_made)


_EXPORTERS: Mapping[str, Callable[[Tokenizer], Files]] = {
    "native": _native,
    "tiktoken": _tiktoken,
    "gpt2": _gpt2,
    "minbpe": _minbpe,
    "huggingface": _huggingface,
}


#: What can be written.
FORMATS = tuple(_EXPORTERS)


def _made_by_merging(tokenizer: Tokenizer) -> list[tuple[int, int, int]]:
    """(left id, right id, merged id), best first: the merges that ever make a token, which give all ids alone.

    Raises FormatError if they do not, for some tokens are met as whole pieces only. Those that are no UTF-8 are no
    pieces of any text.
    """
    model, vocabulary = tokenizer._full_model(), tokenizer._vocabulary
    made = made_by(vocabulary, model)
    tokens = vocabulary.tokens()
    lost = [i for i in unmade(vocabulary, made) if is_text(tokens[i])] if vocabulary.whole_piece_first else []
    if lost:
        some = ", ".join(f"{tokens[i]!r} ({i})" for i in lost[:3])
        merging = replace(model, whole_piece_first=False)
        raise FormatError(
            f"no merges make {len(lost)} of its tokens, {some}{', ...' if len(lost) > 3 else ''}: they are met as "
            f"whole pieces only, which a list of merges cannot say{_witness(tokenizer, merging)}; export it as "
            "native, tiktoken or huggingface"
        )
    return [(left, right, merged) for merged, (left, right) in made.items()]


def _witness(tokenizer: Tokenizer, other: Model) -> str:
    """A text to which another model gives other ids, as a part of a sentence; "" if none is found."""
    difference = verify_export.differ(tokenizer, Tokenizer(other, cache_bytes=0))
    if difference is None:
        return ""
    text, expected, found = difference
    return f" (the text {shown_text(text)} is {shown_ids(expected)} and would be {shown_ids(found)})"
