"""Two files, `vocab.json` and `merges.txt`, of a character-level vocabulary, such as CLIP's and GPT-1's.

The files contain only tokens and merges, and no class of transformers is named (`class_folders` reads the files of
such a class), so the tokens show how texts are normalized and split. This module combines all of this into a
tokenizer.json, which `read_characters` reads.
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
from fastbpe.formats.huggingface.byte_vocabulary import check_vocabulary
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import read_json
from fastbpe.formats.huggingface.step_json import metaspace
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.formats.huggingface.write import as_json
from fastbpe.model import AddedToken, Buffer, Model

# As in `gpt2`, but of text.
_SPECIAL = re.compile(r"<[!-;=?-~]+>|\[[A-Z_]+[0-9]*\]")
_SPACES = metaspace("always")


class _Kind(NamedTuple):
    """Settings of a class of transformers 5 or of tokenizers.

    Attributes:
        steps: normalizer, pre-tokenizer and decoder, as in a tokenizer.json.
        roles: role → token.
        ends: roles of the tokens that a RobertaProcessing puts before and after a text; (): no post-processor.
        marks_ends: the last token of a word ends with `</w>`.
    """

    steps: Mapping[str, Any]
    roles: Mapping[str, str]
    ends: tuple[str, ...] = ()
    marks_ends: bool = True


def _of_class(name: str) -> _Kind:
    """Return the settings of a class whose steps `class_steps` has."""
    built = class_steps.CLASSES[name]
    assert built.steps is not None
    steps = {key: value for key, value in built.steps({}, {}, []).items() if key != "model"}
    return _Kind(steps, built.settings.roles, built.ends if built.processor else ())


_KINDS: Mapping[str, _Kind] = {
    "CLIP": _of_class("CLIP"),
    "OpenAIGPT": _of_class("OpenAIGPT"),
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
        named: tokens that the other files of the folder name; None: the files are read without their folder, or
            special_tokens replaces all tokens.

    Raises:
        FormatError: a damaged file, or a class that splits texts by rules that fastbpe does not know.
    """
    tokens = read_json(bytes(vocab), where[0])
    if not isinstance(tokens, dict):
        raise FormatError(f"{where[0]}: it must be a JSON object that maps tokens to ids")
    check_vocabulary(Part({"vocab": tokens}, where[0], ""))
    kind = _KINDS[_kind(tokens, where, class_name)]
    lines = bytes(merges).decode("utf-8", "surrogateescape").split("\n")
    pairs = [line.rstrip("\r") for line in lines if line.strip()]
    # The tokens only suggest the class, so its roles add no tokens, unlike the roles of a named class.
    roles = {role: name for role, name in kind.roles.items() if name in tokens}
    results = {line.replace(" ", "") for line in pairs}
    guessed = {name for name in tokens if name not in results and _SPECIAL.fullmatch(name)}
    own = [AddedToken(name, tokens[name], special=True) for name in guessed.union(roles.values())]
    added = own
    if named is not None:
        roles |= named.roles
        added = named.add(own, tokens.get, len(tokens))
    described = {
        "version": "1.0",
        "added_tokens": as_json(own),
        "model": {
            "type": "BPE",
            "unk_token": roles.get("unk"),
            "end_of_word_suffix": WORD_END if kind.marks_ends else None,
            "vocab": tokens,
            "merges": pairs,
        },
        **kind.steps,
    }
    if kind.ends and roles.keys() >= {*kind.ends}:
        ids = {token.content: token.id for token in added}  # `named` gives a new id to a token that `tokens` lacks
        first, last = ([roles[role], ids[roles[role]]] for role in kind.ends)
        flags = {"trim_offsets": False, "add_prefix_space": False}
        described["post_processor"] = {"type": "RobertaProcessing", "sep": last, "cls": first, **flags}
    model = read_characters.parse(
        json.dumps(described).encode(),
        f"{where[0]} and {os.path.basename(where[1])}",
        special_tokens=special_tokens,
        named=named,
    )
    return model._replace(roles={**model.roles, **roles})


def _kind(tokens: Mapping[str, Any], where: tuple[str, str], class_name: str) -> str:
    """Return the name of the class whose rules apply: the named class, or else the one that the tokens suggest."""
    if class_name in _KINDS:  # a class of tokenizers: `class_folders` reads the files of the others
        return class_name
    if class_name not in class_settings.ANY_CLASS:
        raise FormatError(
            f"{where[0]}: a vocabulary of characters for the class {class_name}Tokenizer, which splits texts by "
            f"its own rules{class_settings.reason(class_name)}; fastbpe knows the rules of "
            f"{', '.join((*_KINDS, 'Herbert'))}; {class_settings.way_out(class_name)}"
        )
    if not any(token.endswith(WORD_END) for token in tokens):
        return "SentencePieceBPE"
    if all(character in tokens for character in BYTE_OF_CHARACTER):
        return "CLIP"
    is_lower = not any(token[:1].isupper() for token in tokens if not _SPECIAL.fullmatch(token))
    return "OpenAIGPT" if is_lower else "CharBPE"
