"""WordPiece vocabularies in the folders of BERT and similar models: `vocab.txt`.

The file contains one token per line, and no rules. The class in transformers and the flags in
tokenizer_config.json determine how texts are normalized. This module turns all of them into a tokenizer.json,
which `read_segmented` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats import class_folders, limits
from fastbpe.formats.atomic_files import as_text, map_file
from fastbpe.formats.huggingface import class_settings, class_steps, read_segmented, tokenizer_config
from fastbpe.formats.huggingface.named_tokens import CONFIG
from fastbpe.model import Buffer, CodePointModel, Model


def read(
    folder: str,
    path: str,
    config: Mapping[str, Any],
    class_name: str = "",
    special_tokens: Mapping[str, int] | None = None,
) -> Model | CodePointModel:
    """Read the model of a folder with a vocab.txt.

    Raises:
        FormatError: a damaged file, or a class with rules that fastbpe does not know.
    """
    name = "Bert" if class_name in class_settings.ANY_CLASS else class_name
    if name not in class_steps.WORDS:
        raise FormatError(
            f"{path}: a vocabulary for the class {name}Tokenizer, which has its own rules"
            f"{class_settings.reason(name)}; fastbpe knows the "
            f"rules of {', '.join(class_steps.WORDS)}; {class_settings.way_out(name)}"
        )
    for key in ("tokenize_chinese_chars", "strip_accents", "do_lower_case", "clean_text"):
        value = config.get(key, True)
        if not isinstance(value, bool) and (value, key) != (None, "strip_accents"):
            null = ", or null" if key == "strip_accents" else ""
            raise FormatError(
                f"{path}: {CONFIG} next to it: {key}: must be true or false{null}, not {value!r:.60}"
            )
    tokens = _lines(map_file(path), path)
    vocab = {token: i for i, token in enumerate(tokens)}
    prepared = class_folders.prepare_words(folder, path, vocab, config, name, names_count=special_tokens is None)
    new = next((token for token in prepared.named.names() if token not in vocab), None)
    if new is not None and len(vocab) < len(tokens):
        raise FormatError(
            f"{path}: some lines are repeated, so the token {new!r}, which has no line, would get the id of "
            "another token; add a line for it"
        )
    model = read_segmented.parse(prepared.data(), path, special_tokens=special_tokens)
    assert model is not None
    model = model._replace(roles={**model.roles, **prepared.named.roles})
    return tokenizer_config.with_own_tokens(model, folder, prepared.named, is_bare=False)


def _lines(data: Buffer, where: str) -> list[str]:
    """Return the tokens of a vocab.txt."""
    lines = as_text(data, where).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = lines if lines[-1] else lines[:-1]
    limits.check_number(len(tokens), where)
    return tokens
