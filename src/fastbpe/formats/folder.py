"""Folders of models: the tokenizer in one, and the special tokens that the files beside it name.

Only the names of files are guessed. A `tokenizer.json` or `tekken.json` holds everything, so the files beside it
are not read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fastbpe.errors import FormatError
from fastbpe.formats import gpt2

_ALONE = ("tokenizer.json", "tokenizer.model", "tekken.json")
_WHOLE = ("tokenizer.json", "tekken.json")  # hold the special tokens, too
_ENDINGS = (".tiktoken", ".fbpe", ".gguf")
_CONFIG, _MAP, _ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_OTHERS = "additional_special_tokens"
_MAX_CONFIG_BYTES = 1 << 26  # of a JSON file beside a tokenizer

# Class of transformers (without Tokenizer, Fast) → split pattern, for folders without a tokenizer.json.
_PATTERNS: Mapping[str, str] = {
    **dict.fromkeys(("GPT2", "Roberta", "Bart", "CodeGen", "Whisper", "Longformer", "LED", "Blenderbot"), "gpt2"),
    "Qwen2": "qwen2",
}


class Found(NamedTuple):
    """Tokenizer of a folder.

    Attributes:
        paths: its file, or the two files of GPT-2's format.
        special_tokens: name → id, from the files beside it; None if only the tokenizer knows the id.
        pattern: name of the split pattern of the class in tokenizer_config.json; None if unknown.
    """

    paths: tuple[str, ...]
    special_tokens: dict[str, int | None]
    pattern: str | None


def find(folder: str) -> Found:
    """Find the tokenizer of a folder.

    Raises:
        FormatError: the folder holds no tokenizer, or several of one kind.
    """
    paths = _find_files(Path(folder))
    if Path(paths[0]).name in _WHOLE or paths[0].endswith((".fbpe", ".gguf")):
        return Found(paths, {}, None)
    config = read_object(Path(folder, _CONFIG))
    class_name = config.get("tokenizer_class")
    plain = class_name.removesuffix("Fast").removesuffix("Tokenizer") if isinstance(class_name, str) else ""
    if plain in _PATTERNS and config.get("add_prefix_space"):
        raise FormatError(f"{Path(folder, _CONFIG)}: add_prefix_space is not supported: it changes the text")
    return Found(paths, _special_tokens(Path(folder), config), _PATTERNS.get(plain))


def _find_files(folder: Path) -> tuple[str, ...]:
    for name in _ALONE:
        if (folder / name).is_file():
            return (str(folder / name),)
    for pair in gpt2.ALL_NAMES:
        paths = tuple(str(folder / name) for name in pair)
        if all(map(Path.is_file, map(Path, paths))):
            return paths
    for ending in _ENDINGS:
        found = sorted(path for path in folder.iterdir() if path.name.endswith(ending) and path.is_file())
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise FormatError(f"{folder}: it holds {len(found)} tokenizers: {names}; give the path of one")
        if found:
            return (str(found[0]),)
    pairs = (" with ".join(pair) for pair in gpt2.ALL_NAMES)
    looked_for = ", ".join([*_ALONE, *pairs, *(f"*{ending}" for ending in _ENDINGS)])
    raise FormatError(f"{folder}: no tokenizer in this folder; looked for {looked_for}")


def _special_tokens(folder: Path, config: Mapping[str, Any]) -> dict[str, int | None]:
    """Return name → id; None if a file gives the name alone. The first file that knows an id decides."""
    decoder = config.get("added_tokens_decoder")
    found: dict[str, int | None] = {}
    for token_id, token in decoder.items() if isinstance(decoder, dict) else ():
        name = name_of(token)
        if name is None or not token_id.isdecimal():
            raise FormatError(
                f"{folder / _CONFIG}: added_tokens_decoder: {token_id!r} is not an id of a token: {token!r:.80}"
            )
        found[name] = int(token_id)
    for name, number in read_object(folder / _ADDED).items():
        if type(number) is not int:
            raise FormatError(f"{folder / _ADDED}: {name!r} has the id {number!r:.40}: not a number")
        found.setdefault(name, number)
    for source in (config, read_object(folder / _MAP)):
        for name in _names(source):
            found.setdefault(name, None)
    return found


def _names(source: Mapping[str, Any]) -> Iterator[str]:
    others = source.get(_OTHERS)
    for token in (*(source.get(role) for role in _ROLES), *(others if isinstance(others, list) else ())):
        name = name_of(token)
        if name:
            yield name


def name_of(token: object) -> str | None:
    """Return the text of a token, written as text or as an object with `content`; None for anything else."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object; an empty one if the file does not exist."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return {}
    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(f"{path}: more than {_MAX_CONFIG_BYTES} bytes, which no such file has")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value
