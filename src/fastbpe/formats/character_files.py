"""Two files, `vocab.json` and `merges.txt`, of a character-level vocabulary, such as CLIP's and GPT-1's.

The files contain only tokens and merges. The class of transformers that the folder names, or else the tokens, show
how texts are normalized and split. This module combines all of this into a tokenizer.json, which `read_characters`
reads.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.formats.gpt2 import WORD_END
from fastbpe.formats.huggingface import class_settings, class_steps, read_characters
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import read_json
from fastbpe.formats.huggingface.step_json import metaspace
from fastbpe.model import Buffer, Model

# As in `gpt2`, but of text.
_SPECIAL = re.compile(r"<[!-;=?-~]+>|\[[A-Z_]+[0-9]*\]")
_FLAGS = {"special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
_SPACES = metaspace("always")


class _Kind(NamedTuple):
    """Settings of a class of transformers 5 or of tokenizers.

    Attributes:
        steps: normalizer, pre-tokenizer and decoder, as in a tokenizer.json.
        roles: role → token.
        processor: type of the post-processor; "": no post-processor.
        ends: roles of the tokens that the post-processor puts before and after a text.
        marks_ends: the last token of a word ends with `</w>`.
    """

    steps: Mapping[str, Any]
    roles: Mapping[str, str]
    processor: str = ""
    ends: tuple[str, str] = ("", "")
    marks_ends: bool = True


def _of_class(name: str) -> _Kind:
    """Return the settings of a class whose steps `class_steps` has."""
    built = class_steps.CLASSES[name]
    assert built.steps is not None
    steps = {key: value for key, value in built.steps({}, {}, []).items() if key != "model"}
    return _Kind(steps, built.settings.roles, built.processor, built.ends)


_KINDS: Mapping[str, _Kind] = {
    "CLIP": _of_class("CLIP"),
    "OpenAIGPT": _of_class("OpenAIGPT"),
    "Herbert": _of_class("Herbert"),
    "CharBPE": _Kind(
        {
            "normalizer": class_steps.bert_normalizer(lowercase=False),
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "decoder": {"type": "BPEDecoder", "suffix": WORD_END},
        },
        {"unk": "<unk>"},
    ),
    "SentencePieceBPE": _Kind(
        {"normalizer": {"type": "NFKC"}, "pre_tokenizer": _SPACES, "decoder": _SPACES},
        {"unk": "<unk>"},
        marks_ends=False,
    ),
}


def parse(
    vocab: Buffer,
    merges: Buffer,
    where: tuple[str, str],
    *,
    special_tokens: Mapping[str, int] | None = None,
    named: NamedTokens | None = None,
    class_name: str = "",
) -> Model:
    """Read the model in the bytes of two files.

    Args:
        vocab, merges: bytes of vocab.json and of merges.txt; `where` has their names.

    Raises:
        FormatError: a damaged file, or a class that splits texts by rules that fastbpe does not know.
    """
    tokens = read_json(bytes(vocab), where[0])
    if not isinstance(tokens, dict):
        raise FormatError(f"{where[0]}: it must be a JSON object that maps tokens to ids")
    kind = _KINDS[_kind(tokens, where, class_name)]
    lines = bytes(merges).decode("utf-8", "surrogateescape").split("\n")
    pairs = [line.rstrip("\r") for line in lines if line.strip()]
    roles = {role: name for role, name in kind.roles.items() if name in tokens}
    if named is not None:
        roles |= named.roles
    names = {name for name in roles.values() if name in tokens}
    if named is None:
        results = {line.replace(" ", "") for line in pairs}
        names |= {name for name in tokens if name not in results and _SPECIAL.fullmatch(name)}
    ends = [roles.get(role, "") for role in kind.ends]
    described = {
        "version": "1.0",
        "added_tokens": [{"id": tokens[name], "content": name, **_FLAGS} for name in names],
        "model": {
            "type": "BPE",
            "unk_token": roles.get("unk"),
            "end_of_word_suffix": WORD_END if kind.marks_ends else None,
            "vocab": tokens,
            "merges": pairs,
        },
        **kind.steps,
    }
    if kind.processor and all(name in tokens for name in ends):
        first, last = ([name, tokens[name]] for name in ends)
        flags = {"trim_offsets": False, "add_prefix_space": False} if kind.processor == "RobertaProcessing" else {}
        described["post_processor"] = {"type": kind.processor, "sep": last, "cls": first, **flags}
    model = read_characters.parse(
        json.dumps(described).encode(),
        f"{where[0]} and {os.path.basename(where[1])}",
        special_tokens=special_tokens,
        named=named,
    )
    return model._replace(roles={**model.roles, **roles})


def _kind(tokens: Mapping[str, Any], where: tuple[str, str], class_name: str) -> str:
    """Return the name of the class whose rules apply: the named class, or else the one that the tokens suggest."""
    if class_name in _KINDS:
        return class_name
    if class_name not in (*class_settings.ANY_CLASS, "BPE"):  # BPETokenizer says no more than the files do
        raise FormatError(
            f"{where[0]}: a vocabulary of characters for the class {class_name}Tokenizer, which splits texts by "
            f"its own rules{class_settings.reason(class_name)}; fastbpe knows the rules of {', '.join(_KINDS)}; "
            f"{class_settings.way_out(class_name)}"
        )
    if not any(token.endswith(WORD_END) for token in tokens):
        return "SentencePieceBPE"
    if all(character in tokens for character in BYTE_OF_CHARACTER):
        return "CLIP"
    is_lower = not any(token[:1].isupper() for token in tokens if not _SPECIAL.fullmatch(token))
    return "OpenAIGPT" if is_lower else "CharBPE"
