"""WordPiece vocabularies in the folders of BERT and similar models: `vocab.txt`.

The file contains one token per line, and no rules. The class in transformers and the flags in
tokenizer_config.json determine how texts are normalized. This module turns all of them into a tokenizer.json,
which `read_segmented` reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import (
    class_settings,
    class_steps,
    named_tokens,
    read_segmented,
    tokenizer_config,
)
from fastbpe.formats.huggingface.named_tokens import CONFIG, NamedTokens
from fastbpe.formats.piece_folders import as_template
from fastbpe.model import Buffer, CodePointModel, Model


def read(
    folder: str,
    path: str,
    config: Mapping[str, Any],
    class_name: str = "",
    special_tokens: Mapping[str, int] | None = None,
) -> Model | CodePointModel:
    """Read the model of a folder with a vocab.txt.

    Args:
        folder: the folder.
        path: its vocab.txt.
        config: content of its tokenizer_config.json.
        class_name: the tokenizer's class in transformers, without "Tokenizer"; "": the folder names no class.
        special_tokens: name → id; they replace the special tokens of the files.

    Raises:
        FormatError: a damaged file, or a class with rules that fastbpe does not know.
        OSError: the file cannot be read.
    """
    named = named_tokens.read(folder, class_steps.BERT_SETTINGS)
    described, roles = _described(map_file(path), path, config, class_name, named)
    model = read_segmented.parse(
        json.dumps(described).encode(),
        path,
        named=named if special_tokens is None else None,
        special_tokens=special_tokens,
    )
    assert model is not None
    model = model._replace(roles={**model.roles, **roles})
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)


def _described(
    data: Buffer, where: str, config: Mapping[str, Any], class_name: str, named: NamedTokens
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tokenizer.json that transformers creates from a vocab.txt, and role → token."""
    classes = (*class_steps.BERT_CLASSES, *class_steps.DPR_CLASSES)
    if class_name not in (*classes, *class_settings.ANY_CLASS):
        raise FormatError(
            f"{where}: a vocabulary for the class {class_name}Tokenizer, which has its own rules; fastbpe "
            f"knows the rules of {', '.join(classes)}; {class_settings.WAY_OUT}"
        )
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{where}: byte {error.start} is not UTF-8; copy the file again or recreate it"
        ) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = lines if lines[-1] else lines[:-1]
    limits.check_number(len(tokens), where)
    vocab = {token: i for i, token in enumerate(tokens)}
    described = _rules(vocab, where, config, class_name, named.roles)
    new = next((name for name in named.names() if name not in vocab), None)
    if new is not None and len(vocab) < len(tokens):
        raise FormatError(
            f"{where}: some lines are repeated, so the token {new!r}, which has no line, would get the id of "
            "another token; add a line for it"
        )
    return described, named.roles


def _rules(
    vocab: Mapping[str, int], where: str, config: Mapping[str, Any], class_name: str, roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the tokenizer.json that transformers creates from a vocabulary."""

    def token(role: str) -> tuple[str, int]:
        name = roles.get(role)
        if name is None or name not in vocab:
            told = f"it has no token {name!r}" if name else f"{CONFIG} sets no {role}_token"
            raise FormatError(f"{where}: {told}, but BERT's rules need a {role}_token; add the token")
        return name, vocab[name]

    for name in ("tokenize_chinese_chars", "strip_accents", "do_lower_case"):
        value = config.get(name, True)
        if not isinstance(value, bool) and (value, name) != (None, "strip_accents"):
            raise FormatError(f"{where}: {CONFIG} next to it: {name}: must be true or false, not {value!r:.60}")
    token("unk")
    built = class_steps.CLASSES["DPRReader" if class_name in class_steps.DPR_CLASSES else "Bert"]
    assert built.steps is not None
    steps = built.steps(config, roles, [])
    return {
        "version": "1.0",
        "added_tokens": [],
        **steps,
        "post_processor": as_template(built.template, token),
        "model": {**steps["model"], "vocab": vocab},
    }
