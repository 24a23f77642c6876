"""Folders of models: which of their files is the tokenizer, and what those beside it say of special tokens.

Nothing but the names of files is guessed. `tokenizer.json` says all itself, so what stands beside it is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fastbpe.errors import FormatError
from fastbpe.formats import gpt2

_ALONE = ("tokenizer.json", "tokenizer.model")
_ENDINGS = (".tiktoken", ".fbpe")
_CONFIG, _MAP, _ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_OTHERS = "additional_special_tokens"
_MAX_CONFIG_BYTES = 1 << 26

# Classes of transformers' tokenizers that have no tokenizer.json of their own to say how they split.
_PATTERNS: Mapping[str, str] = {
    **dict.fromkeys(("GPT2", "Roberta", "Bart", "CodeGen", "Whisper", "Longformer", "LED", "Blenderbot"), "gpt2"),
    "Qwen2": "qwen2",
}


class Found(NamedTuple):
    """The tokenizer of a folder: its file, or the two of GPT-2's form.

    special_tokens: those that the files beside it name, with their ids, or None where the tokenizer itself must
    have it. pattern: the name of the split pattern that goes with the class they name, if known.
    """

    paths: tuple[str, ...]
    special_tokens: dict[str, int | None]
    pattern: str | None


def find(folder: str) -> Found:
    """The tokenizer of a folder. Raises FormatError if it has none, or several of a kind."""
    paths = _find_files(Path(folder))
    if Path(paths[0]).name == "tokenizer.json" or paths[0].endswith(".fbpe"):
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
    """Names to ids, None where only the name is given; those of the first file that knows the id."""
    decoder = config.get("added_tokens_decoder")
    found: dict[str, int | None] = {}
    for token_id, token in decoder.items() if isinstance(decoder, dict) else ():
        name = name_of(token)
        if name is None or not token_id.isdecimal():
            raise FormatError(
                f"{folder / _CONFIG}: added_tokens_decoder: {token_id!r} is no id of a token: {token!r:.80}"
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
    """A token is written as its text, or as an object that has it."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object; an empty one where there is no such file."""
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
