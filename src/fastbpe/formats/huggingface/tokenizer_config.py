"""tokenizer_config.json: the roles of tokens (such as bos) in transformers, and settings about texts.

It is read together with any tokenizer in a folder, and written together with a tokenizer.json.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastbpe._utils import file_locks
from fastbpe._utils.own_places import own_folder
from fastbpe.errors import FormatError
from fastbpe.formats import chat_templates
from fastbpe.formats.atomic_files import check_parent, write
from fastbpe.formats.huggingface import whisper_prompt
from fastbpe.formats.huggingface.class_settings import OF_BYTES, OF_SUBWORDS
from fastbpe.formats.huggingface.decoder_json import clean_up_steps
from fastbpe.formats.json_object import read_object
from fastbpe.model import PAIR, TEXT, CodePointModel, Model, PieceType, around

if TYPE_CHECKING:  # imported at run time only for code-point models, or folders
    from fastbpe.formats.huggingface.named_tokens import NamedTokens

_Written = TypeVar("_Written")

TOKENIZER, CONFIG, GENERATION = "tokenizer.json", "tokenizer_config.json", "generation_config.json"
#: Files of older transformers, which newer ones read, too.
_OLDER = ("special_tokens_map.json", "added_tokens.json")
_CLEAN_UP = "clean_up_tokenization_spaces"
_SPACED = {"type": "WordPiece", "prefix": "\0 ", "cleanup": False}  # joins tokens, none of which has this prefix
_NO_LIMIT = int(1e30)  # the model_max_length that transformers writes if it is unknown
_FLAGS = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")


def with_own_tokens(
    model: Model | CodePointModel, path: str, named: NamedTokens, *, is_bare: bool, puts_bos: bool = False
) -> Model | CodePointModel:
    """Return a model from a folder, with token roles, chat templates and ids around texts from the other files.

    Roles that no file names come from the ids in a generation_config.json; of several ids, the first is used.

    Args:
        is_bare: the format of the tokenizer's file cannot define the ids around texts. Only then do add_bos_token
            and add_eos_token have an effect.
        puts_bos: the default of add_bos_token.

    Raises:
        FormatError: a file is damaged, or a token that the class puts around texts is missing.
    """
    where = Path(path)
    config = read_object(where / CONFIG)
    roles = {**_generation_roles(model, read_object(where / GENERATION)), **named.roles}
    chat = chat_templates.find(where)
    if chat is not None:
        chat = chat._replace(tokens={f"{role}_token": token for role, token in named.roles.items()})
    model = model._replace(roles={**model.roles, **roles}, chat=chat or model.chat)
    if isinstance(model, Model) and named.settings is not None and named.settings.puts_around:
        return _between(model, where, config, named.settings.processor, is_bare=is_bare)
    if isinstance(model, Model) and named.settings is not None and named.settings.has_prompt and is_bare:
        return _after_prompt(model, where, config)
    if not is_bare or any(model.template or ()):
        return model  # its class, or a native file named tokenizer.model, has put tokens around texts
    adds = [config.get("add_bos_token", puts_bos), config.get("add_eos_token", False)]
    for key, value in zip(("add_bos_token", "add_eos_token"), adds, strict=True):
        if not isinstance(value, bool):
            raise FormatError(f"{where / CONFIG}: {key}: must be true or false, not {value!r:.60}")
    if isinstance(model, Model):
        bos, eos = (_special_id(model, role) for role in ("bos", "eos"))
    else:
        bos, eos = (_codepoint_id(model, role, named) for role in ("bos", "eos"))
    before = (bos,) if adds[0] and bos is not None else ()
    behind = (eos,) if adds[1] and eos is not None else ()
    if isinstance(model, Model):
        return model._replace(template=(before, behind), pair_template=around(before, behind).pair)
    return model._replace(template=(before, behind))


def _between(
    model: Model, where: Path, config: Mapping[str, Any], processor: Mapping[str, bool] | None, *, is_bare: bool
) -> Model:
    """Return a model that puts the tokens of the roles cls and sep around texts, as RoBERTa does.

    Args:
        processor: as in `Settings`.
        is_bare: the model lacks the tokens around texts. If False, only check that both tokens exist.
    """
    cls, sep = _special_id(model, "cls"), _special_id(model, "sep")
    if cls is None or sep is None:
        absent = ["cls_token"] * (cls is None) + ["sep_token"] * (sep is None)
        raise FormatError(
            f"{where / CONFIG}: its class puts cls_token and sep_token around texts, but no special token is set "
            f"as {' or '.join(absent)}; set both"
        )
    if not is_bare:
        return model
    made = model._replace(template=((cls,), (sep,)), pair_template=(cls, TEXT, sep, sep, PAIR, sep))
    if processor is None:
        return made
    described = {
        "type": "RobertaProcessing",
        "sep": [model.roles["sep"], sep],
        "cls": [model.roles["cls"], cls],
        "trim_offsets": bool(config.get("trim_offsets", True)),
        "add_prefix_space": bool(config.get("add_prefix_space", False)),
        **processor,
    }
    return made._replace(huggingface={**model.huggingface, "post_processor": described})


def _after_prompt(model: Model, where: Path, config: Mapping[str, Any]) -> Model:
    """Return a model that puts the tokens of Whisper's prompt before texts, and eos after them."""
    unk, eos = _special_id(model, "unk"), _special_id(model, "eos")
    ids = {token.content: token.id for token in model.added_tokens} | {**model.special_tokens}

    def find(name: str) -> int:
        found = ids.get(name, unk)  # as convert_tokens_to_ids does
        if found is None or eos is None:
            absent = [name] * (found is None) + ["the eos_token"] * (eos is None)
            raise FormatError(
                f"{where / CONFIG}: its class puts the token {name} before texts, and the eos_token after them, "
                f"but the added tokens lack {' and '.join(absent)}; add what is missing to added_tokens_decoder"
            )
        return found

    prompt = tuple(map(find, whisper_prompt.tokens(config, f"{where / CONFIG}", find)))
    assert eos is not None
    return model._replace(template=(prompt, (eos,)), pair_template=(*prompt, TEXT, PAIR, eos))


def _special_id(model: Model, role: str) -> int | None:
    """Return the id of the special token with a role; None if no special token has the role."""
    return model.special_tokens.get(model.roles.get(role, ""))


def _codepoint_id(model: CodePointModel, role: str, named: NamedTokens) -> int | None:
    """Return the id of the token that the files name for a role, or else of the model's control symbol.

    None: the files set the role to null, or there is no such token.
    """
    if role in named.silenced:
        return None
    if role not in named.roles:
        return model.control_id(role)
    name = named.roles[role]
    ids = {token.content: token.id for token in model.added_tokens}
    pieces = model.pieces
    encoded = name.encode("utf-8", "surrogateescape")
    return ids[name] if name in ids else pieces.index(encoded) if encoded in pieces else None


def _generation_roles(model: Model | CodePointModel, config: Mapping[str, Any]) -> dict[str, str]:
    """Return role → token for the ids of a generation_config.json.

    Ids without a special or added token, and roles that the model already has, are left out. A role that another
    file sets to null is missing, as in `Tokenizer.roles`.
    """
    found: dict[str, str] = {}
    for role in ("bos", "eos", "pad"):
        value = config.get(f"{role}_token_id")
        token_id = value[0] if isinstance(value, list) and value else value
        name = _special_name(model, token_id) if type(token_id) is int else None
        if name is not None and role not in model.roles:
            found[role] = name
    return found


def _special_name(model: Model | CodePointModel, token_id: int) -> str | None:
    """Return the special or added token with an id; None if no such token has the id."""
    names = {token.id: token.content for token in model.added_tokens}
    if isinstance(model, Model):
        names |= {i: name for name, i in model.special_tokens.items()}
    elif 0 <= token_id < model.n_pieces and model.types[token_id] == PieceType.CONTROL:
        return model.piece(token_id).decode("utf-8", "surrogateescape")
    return names.get(token_id)


def with_clean_up(
    model: Model | CodePointModel, config: Mapping[str, Any], class_name: str
) -> Model | CodePointModel:
    """Return a model that removes spaces from decoded text if clean_up_tokenization_spaces says so.

    transformers ignores the setting for a model that merges, unless its class runs in Python.
    """
    if not config.get(_CLEAN_UP, class_name == "PLBart"):  # its default is True
        return model
    if isinstance(model, CodePointModel):
        conventions = model.conventions if model.runs_in_python else None
        return model if conventions is None else model._replace(conventions=conventions._replace(cleans_up=True))
    if model.spelling is None or (model.spelling.kind == "BPE" and class_name not in (*OF_BYTES, *OF_SUBWORDS)):
        return model
    decoder = {"type": "Sequence", "decoders": [model.huggingface.get("decoder") or _SPACED, *clean_up_steps()]}
    return model._replace(huggingface={**model.huggingface, "decoder": decoder})


def write_folder(
    path: str | os.PathLike[str], roles: Mapping[str, int | None], write_tokenizer: Callable[[Path], _Written]
) -> _Written:
    """Write a tokenizer.json with its tokenizer_config.json into a folder, which is created if it does not exist.

    Both files are complete before either replaces an old one.

    Returns the result of write_tokenizer, a function that writes the tokenizer.json to a path.

    Raises:
        FormatError: the folder contains files that contradict these.
    """
    folder = Path(os.path.realpath(path))
    check_parent(path)
    for name in _OLDER:
        if (folder / name).exists():
            raise FormatError(
                f"{path}: it contains a {name} of another tokenizer, which transformers reads too; "
                "remove it, or pass another folder"
            )
    with own_folder(os.fspath(folder)) as made:
        beside = Path(made)
        written = write_tokenizer(beside / TOKENIZER)
        added = json.loads((beside / TOKENIZER).read_bytes())["added_tokens"]
        write(beside / CONFIG, _config(roles, added))
        folder.mkdir(exist_ok=True)
        for name in (TOKENIZER, CONFIG):
            file_locks.replace(beside / name, folder / name)
    return written


def _config(roles: Mapping[str, int | None], added: list[dict[str, Any]]) -> bytes:
    """Return the bytes of a tokenizer_config.json.

    Only special tokens of the tokenizer.json get a role, because transformers makes every token with a role
    special and finds it in texts.
    """
    special = {token["id"]: token["content"] for token in added if token["special"]}
    named = {f"{role}_token": special[i] for role, i in roles.items() if i is not None and i in special}
    config = {
        "added_tokens_decoder": {str(token["id"]): {flag: token[flag] for flag in _FLAGS} for token in added},
        **named,
        _CLEAN_UP: False,
        "model_max_length": _NO_LIMIT,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    return (json.dumps(config, ensure_ascii=False, indent=2) + "\n").encode()
