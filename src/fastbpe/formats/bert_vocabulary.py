"""WordPiece vocabularies in the folders of BERT and similar models: `vocab.txt`, or the one of a tokenizer.json.

`vocab.txt` contains one token per line, and no rules. The class in transformers and the flags in
tokenizer_config.json determine how texts are normalized; transformers prefers them to the steps of a
tokenizer.json. This module turns both into one tokenizer.json, which `read_segmented` reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.huggingface import class_settings, named_tokens, read_segmented, tokenizer_config
from fastbpe.formats.huggingface import read as tokenizer_json
from fastbpe.formats.huggingface._vocab_json import Entries
from fastbpe.formats.huggingface.byte_vocabulary import check_vocabulary
from fastbpe.formats.huggingface.named_tokens import CONFIG, NamedTokens
from fastbpe.model import Buffer, CodePointModel, Model

#: Roles of tokens that no file names.
SETTINGS = class_settings.Settings(
    {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
)
#: Classes of transformers 5 with the rules of BertTokenizer.
CLASSES = (
    "Bert",
    "ConvBert",
    "DPRContextEncoder",
    "DPRQuestionEncoder",
    "DPRReader",
    "DistilBert",
    "Electra",
    "LayoutLM",
    "Lxmert",
    "MobileBert",
    "SqueezeBert",
)


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
    named = named_tokens.read(folder, SETTINGS)
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


def read_json(
    folder: str,
    path: str,
    config: Mapping[str, Any],
    special_tokens: Mapping[str, int] | None = None,
) -> Model | CodePointModel | None:
    """Read the tokenizer.json of a folder with one of `CLASSES`, which takes only the vocabulary from it.

    Accepts the arguments of `read`, and raises as it does.

    Returns:
        None if the file has a model of another type.
    """
    data = bytes(map_file(path))
    limits.check_entries(data, path, b":", b",")
    document, apart = read_segmented.read_apart(data, path)
    top = tokenizer_json.checked_top(document, path)
    model = top.part("model")
    if model is None or read_segmented.type_of(model) != "WordPiece":
        return None
    named = named_tokens.read(folder, SETTINGS)
    vocab = apart if isinstance(apart, Entries) else check_vocabulary(model)
    described = {**document, **_rules(vocab, path, config, named.roles)}
    described["added_tokens"] = document.get("added_tokens", [])
    if vocab is apart:
        described["model"]["vocab"] = {}
    made = read_segmented.parse(
        json.dumps(described).encode(),
        path,
        named=named if special_tokens is None else None,
        special_tokens=special_tokens,
        entries=apart if isinstance(apart, Entries) else None,
    )
    assert made is not None
    made = made._replace(roles={**made.roles, **named.roles})
    return tokenizer_config.with_own_tokens(made, folder, named, is_bare=False)


def _described(
    data: Buffer, where: str, config: Mapping[str, Any], class_name: str, named: NamedTokens
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tokenizer.json that transformers creates from a vocab.txt, and role → token."""
    if class_name not in (*CLASSES, *class_settings.ANY_CLASS):
        raise FormatError(
            f"{where}: a vocabulary for the class {class_name}Tokenizer, which has its own rules; fastbpe "
            f"reads such files for {', '.join(CLASSES)}: {class_settings.WAY_OUT}"
        )
    try:
        text = bytes(data).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{where}: byte {error.start}: not UTF-8") from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = lines if lines[-1] else lines[:-1]
    limits.check_number(len(tokens), where)
    vocab = {token: i for i, token in enumerate(tokens)}
    described = _rules(vocab, where, config, named.roles)
    new = next((name for name in named.names() if name not in vocab), None)
    if new is not None and len(vocab) < len(tokens):
        raise FormatError(
            f"{where}: some lines are repeated, and {new!r} has no line, so it would get another token's id; add "
            "a line"
        )
    return described, named.roles


def _rules(
    vocab: Mapping[str, int] | Entries, where: str, config: Mapping[str, Any], roles: Mapping[str, str]
) -> dict[str, Any]:
    """Return the tokenizer.json that transformers creates from a vocabulary."""
    around = []
    for role in ("unk", "cls", "sep"):
        name = roles.get(role)
        found = -1 if name is None else vocab.get(name, -1)
        if found < 0:
            raise FormatError(f"{where}: no token is {name!r}, the {role}_token, which BERT's rules need")
        around.append([name, found])
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": _flag(config, "tokenize_chinese_chars", where, default=True),
            "strip_accents": _flag(config, "strip_accents", where, default=None),
            "lowercase": _flag(config, "do_lower_case", where, default=True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _between(*around[1:]),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": roles["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }


def _flag(config: Mapping[str, Any], name: str, where: str, *, default: bool | None) -> bool | None:
    """Return a flag of tokenizer_config.json. Raises FormatError if it is not a bool."""
    value = config.get(name, default)
    if not isinstance(value, bool) and value is not default:
        raise FormatError(f"{where}: {CONFIG} next to it: {name}: must be true or false, not {value!r:.60}")
    return value


def _between(cls: list[Any], sep: list[Any]) -> dict[str, Any]:
    """Return the post-processor that puts cls before a text, and sep after it and after a second text."""

    def special(token: list[Any], type_id: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token[0], "type_id": type_id}}

    def text(name: str, type_id: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(cls, 0), text("A", 0), special(sep, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), special(sep, 1)],
        "special_tokens": {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in (cls, sep)},
    }
