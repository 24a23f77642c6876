"""The format that a path asks for: its ending decides."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fastbpe.errors import FormatError

#: Ending → format, by the mode of the tokenizer.
ENDINGS: Mapping[str, Mapping[str, str]] = {
    "byte": {".fbpe": "native", ".tiktoken": "tiktoken", ".json": "huggingface", ".model": "minbpe"},
    "codepoint": {".fbpe": "native", ".json": "huggingface", ".model": "sentencepiece"},
}
_FOLDER = "a folder"
_FOLDERS = {"byte": "gpt2"}


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is that of a folder, there already or written with a slash at its end."""
    name = os.fsdecode(path)
    return name.endswith(("/", os.sep)) or os.path.isdir(name)


def has_ending(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path says a format: it has an ending, or is that of a folder."""
    return is_folder(path) or bool(Path(path).suffix)


def format_of(path: str | os.PathLike[str], mode: str) -> str:
    """The format that a file for a tokenizer of this mode has by its name; native where the name has no ending.

    >>> format_of("tokenizer.json", "byte"), format_of("a.model", "codepoint"), format_of("gpt2/", "byte")
    ('huggingface', 'sentencepiece', 'gpt2')

    Raises FormatError: no format has this ending, or none that holds this mode.
    """
    ending = _FOLDER if is_folder(path) else Path(path).suffix.lower()
    if not ending:
        return "native"
    formats = {**ENDINGS[mode], **({_FOLDER: _FOLDERS[mode]} if mode in _FOLDERS else {})}
    if ending not in formats:
        choices = ", ".join(f"{known} ({format})" for known, format in formats.items())
        shown = ending if ending == _FOLDER else f"a {ending} file"
        raise FormatError(
            f"{os.fsdecode(path)}: no {mode}-mode tokenizer can be written as {shown}; choose "
            f"{choices}, or name the format (export's format=, convert's --to)"
        )
    return formats[ending]
