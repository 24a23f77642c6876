"""A tokenizer as a file of some format: whole, or an error that names what would be lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from fastbpe import assembly, formats
from fastbpe._core.merge import recover_merges
from fastbpe._core.vocabulary import Vocabulary
from fastbpe.errors import FormatError
from fastbpe.formats import native, tiktoken
from fastbpe.model import Model
from fastbpe.patterns import Pattern, resolve_pattern
from fastbpe.ranking import merges_by_rank

#: Bytes of a file, or of the files of a folder by their names.
Files = bytes | dict[str, bytes]

#: Formats without a place for all that a tokenizer is; the others hold it, or cannot be written.
LOSSY = ("tiktoken", "gpt2")


def export(path: str | os.PathLike[str], model: Model, vocabulary: Vocabulary, format: str) -> None:
    """Write a model, whose tables are the vocabulary's, in a format. Each file appears whole or not at all.

    Raises FormatError: the format is unknown, or cannot hold this vocabulary; then nothing is written.
    """
    if format not in _EXPORTERS:
        raise FormatError(f"format={format!r}: choose one of {', '.join(map(repr, FORMATS))}")
    files = _EXPORTERS[format](model, vocabulary)
    if not isinstance(files, dict):
        formats.write(path, files)
        return
    folder = Path(path)
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        formats.write(folder / name, data)


def check_holds_all(path: str | os.PathLike[str], model: Model, vocabulary: Vocabulary, format: str) -> None:
    """Raise FormatError if a file of a format in LOSSY needs more than itself to load; published ones do not."""
    if not _is_known(_EXPORTERS[format](model, vocabulary), model):
        lost = left_out(format, resolve_pattern(model.pattern)[1], model.special_tokens)
        raise FormatError(
            f"{os.fsdecode(path)}: {format} has no place for {lost}; save a .fbpe file, or export it with "
            f"format={format!r} and give these to load"
        )


def _is_known(files: Files, model: Model) -> bool:
    """Tell whether `load` knows by their SHA-256 all that these files do not say."""
    from fastbpe.formats import gpt2
    from fastbpe.known import recognise

    pattern = resolve_pattern(model.pattern)[1]
    if isinstance(files, dict):
        return gpt2.published_pattern(files[gpt2.MERGES_FILE]) == pattern
    known = recognise(files)
    if known is None or resolve_pattern(known.pattern)[1] != pattern:
        return False
    return known.special_tokens() == dict(model.special_tokens)


def left_out(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> str:
    """What a format has no place for, as the arguments that `load` then needs; "" for nothing.

    >>> left_out("tiktoken", None, {"<s>": 256}), left_out("gpt2", None, {"<s>": 256})
    ("pattern='none', special_tokens={'<s>': 256}", "pattern='none'")
    """
    arguments = []
    if format in LOSSY:
        arguments.append(f"pattern={(resolve_pattern(pattern)[0] or pattern)!r}")
    if format == "tiktoken" and special_tokens:
        arguments.append(f"special_tokens={dict(special_tokens)!r}")
    return ", ".join(arguments)


def _native(model: Model, vocabulary: Vocabulary) -> Files:
    return native.dump(model)


def _tiktoken(model: Model, vocabulary: Vocabulary) -> Files:
    assembly.check_plain(model, "a .tiktoken file")
    return tiktoken.dump(vocabulary.tokens(), "ranks" if merges_by_rank(vocabulary, model) else "merges")


def _gpt2(model: Model, vocabulary: Vocabulary) -> Files:
    from fastbpe.formats import gpt2

    assembly.check_plain(model, "GPT-2's files")
    return gpt2.dump(vocabulary.tokens(), listed_merges(model, vocabulary), model.special_tokens)


def _minbpe(model: Model, vocabulary: Vocabulary) -> Files:
    from fastbpe.formats import minbpe

    assembly.check_plain(model, "minbpe's file")
    _, pattern = resolve_pattern(model.pattern)
    return minbpe.dump(vocabulary.tokens(), listed_merges(model, vocabulary), pattern, model.special_tokens)


def _huggingface(model: Model, vocabulary: Vocabulary) -> Files:
    from fastbpe.formats import huggingface_dump

    listed = model.merge_list()
    if listed is None:
        merges = list(recover_merges(vocabulary).values())
    else:
        merges = [(left, right) for left, right, _ in listed]
    steps = assembly.described_splitting(model)
    return huggingface_dump.dump(model, vocabulary.tokens(), merges, steps)


_EXPORTERS: Mapping[str, Callable[[Model, Vocabulary], Files]] = {
    "native": _native,
    "tiktoken": _tiktoken,
    "gpt2": _gpt2,
    "minbpe": _minbpe,
    "huggingface": _huggingface,
}


#: What can be written.
FORMATS = tuple(_EXPORTERS)


def listed_merges(model: Model, vocabulary: Vocabulary) -> list[tuple[int, int, int]]:
    """(left id, right id, merged id), best first: a list that gives every text the ids that the model gives.

    Raises FormatError if there is none.
    """
    listed = model.merge_list()
    if listed is None:
        merges = recover_merges(vocabulary)
        listed = [(left, right, merged) for merged, (left, right) in merges.items()]
    elif not vocabulary.whole_piece_first:
        return listed
    made = {merged for _, _, merged in listed}
    tokens = vocabulary.tokens()
    lost = [i for i, token in enumerate(tokens) if len(token) > 1 and i not in made]
    if lost:
        some = ", ".join(f"{tokens[i]!r} ({i})" for i in lost[:3])
        raise FormatError(
            f"no merges make {len(lost)} of its tokens, {some}{', ...' if len(lost) > 3 else ''}: they are met as "
            "whole pieces only, which a list of merges cannot say; export it as native or tiktoken"
        )
    return listed
