"""Extensions of paths, and the format that each selects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fastbpe._utils.choices import Format
from fastbpe.errors import FormatError

#: Suffix → format, by the mode of the tokenizer.
ENDINGS: Mapping[str, Mapping[str, Format]] = {
    "byte": {
        ".fbpe": "native",
        ".tiktoken": "tiktoken",
        ".json": "huggingface",
        ".model": "minbpe",
        ".gguf": "gguf",
    },
    "character": {".fbpe": "native", ".json": "huggingface"},
    "codepoint": {".fbpe": "native", ".json": "huggingface", ".model": "sentencepiece", ".gguf": "gguf"},
}
#: Further suffixes of files of character-level tokenizers, by the type of their model.
_OF_TYPES: Mapping[str, Mapping[str, Format]] = {
    "Unigram": {".model": "sentencepiece", ".gguf": "gguf"},
    "WordPiece": {".gguf": "gguf"},
}
_FOLDER = "a folder"  # stands for the extension of a folder, in tables and errors
_FOLDERS: Mapping[str, Format] = {"byte": "gpt2"}


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a folder: it exists as one, or ends with a slash."""
    name = os.fsdecode(path)
    return name.endswith(("/", os.sep)) or os.path.isdir(name)


def is_huggingface_folder(path: str | os.PathLike[str]) -> bool:
    """Tell whether to write Hugging Face's files into a folder: the path is one, or is new and not a .json."""
    name = os.fsdecode(path)
    return is_folder(path) or not (name.lower().endswith(".json") or os.path.exists(name))


def has_ending(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path determines a format: it has an extension, or is a folder."""
    return is_folder(path) or bool(Path(path).suffix)


def format_of(
    path: str | os.PathLike[str], mode: str, model_type: str = "BPE", *, of_whole_words: bool = False
) -> Format:
    """Return the format that a path selects; native if the name has no extension.

    mode: "byte", "codepoint" or "character".
    model_type: type of the model, in the mode "character".
    of_whole_words: the superwords consist of whole words, so .model means BoundlessBPE's format.

    >>> format_of("tokenizer.json", "byte"), format_of("a.model", "codepoint"), format_of("gpt2/", "byte")
    ('huggingface', 'sentencepiece', 'gpt2')

    Raises:
        FormatError: no format with this extension supports the mode.
    """
    ending = _FOLDER if is_folder(path) else Path(path).suffix.lower()
    if not ending:
        return "native"
    formats = {**ENDINGS[mode], **({_FOLDER: _FOLDERS[mode]} if mode in _FOLDERS else {})}
    if mode == "character":
        formats |= _OF_TYPES.get(model_type, {})
    if of_whole_words:
        formats[".model"] = "boundless"
    if ending not in formats:
        choices = ", ".join(f"{known} ({format})" for known, format in formats.items())
        what = f"{mode}-mode" if model_type == "BPE" or mode != "character" else model_type
        shown = f"is written to {ending} by default" if ending == _FOLDER else f"has the extension {ending}"
        raise FormatError(f"{os.fsdecode(path)}: no format of {what} tokenizers {shown}; choose {choices}")
    return formats[ending]
