"""Chat templates in a model's folder, found as in transformers.

They are in chat_template.jinja and the folder additional_chat_templates, or else in tokenizer_config.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastbpe._utils.utf8_errors import not_utf8
from fastbpe.errors import FormatError
from fastbpe.formats.json_object import name_of, read_object
from fastbpe.model import Chat

CONFIG, FILE, MORE = "tokenizer_config.json", "chat_template.jinja", "additional_chat_templates"
MAX_TEMPLATE_BYTES = 1 << 20  # of a template's file; in tokenizer_config.json, the limit counts characters
DEFAULT = "default"

_MAP = "special_tokens_map.json"
_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def find(folder: Path) -> Chat | None:
    """Find the chat templates of a folder, and the tokens that they may refer to.

    Returns:
        The templates in separate files, or else the templates in tokenizer_config.json; None if the folder has
        no template.

    Raises:
        FormatError: one of the files is damaged or too large.
    """
    config = read_object(folder / CONFIG)
    texts = _files(folder) or _of_config(config.get("chat_template"), folder / CONFIG)
    if not texts:
        return None
    sources = (config, read_object(folder / _MAP))
    named = {role: next(filter(None, (name_of(file.get(role)) for file in sources)), None) for role in _TOKENS}
    return Chat(texts, {role: name for role, name in named.items() if name is not None})


def _files(folder: Path) -> dict[str, str]:
    found = {}
    if (folder / FILE).is_file():
        found[DEFAULT] = _read(folder / FILE)
    if (folder / MORE).is_dir():
        found |= {path.stem: _read(path) for path in sorted((folder / MORE).glob("*.jinja"))}
    return found


def _of_config(value: Any, where: Path) -> dict[str, str]:
    """Read `chat_template` of a tokenizer_config.json: one text, or several with names. Ignores anything else."""
    if isinstance(value, list):
        entries = (entry for entry in value if isinstance(entry, Mapping) and isinstance(entry.get("name"), str))
        value = {entry["name"]: entry.get("template") for entry in entries}
    texts = value if isinstance(value, Mapping) else {DEFAULT: value}
    found = {name: text for name, text in texts.items() if isinstance(name, str) and isinstance(text, str)}
    if any(len(text) > MAX_TEMPLATE_BYTES for text in found.values()):
        raise FormatError(
            f"{where}: chat_template has more than {MAX_TEMPLATE_BYTES:,} characters, more than any template needs"
        )
    return found


def _read(path: Path) -> str:
    with open(path, "rb") as file:
        data = file.read(MAX_TEMPLATE_BYTES + 1)
    if len(data) > MAX_TEMPLATE_BYTES:
        raise FormatError(f"{path}: more than {MAX_TEMPLATE_BYTES:,} bytes, more than any template needs")
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")  # as Python's text mode, in transformers
    except UnicodeDecodeError as error:
        raise FormatError(f"{not_utf8(str(path), data, error)}; a template must be UTF-8") from None
