"""Write a tokenizer as a GGUF file with only metadata, which tools such as gguf-new-metadata copy into a model."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.gguf import metadata, wordpiece
from fastbpe.formats.gguf.keys import PREFIX, ROLES
from fastbpe.formats.gguf.metadata import Typed
from fastbpe.formats.gguf.read_metadata import METASPACE
from fastbpe.formats.huggingface import templates
from fastbpe.formats.huggingface.write import all_added_tokens
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import AddedToken, CodePointModel, Model, PieceType

_NEVER = -1e30  # score of a piece that is never on the best path
#: Key of an array → type of its items.
_ITEMS = {
    "tokens": metadata.STRING,
    "merges": metadata.STRING,
    "token_type": metadata.INT32,
    "scores": metadata.FLOAT32,
    "precompiled_charsmap": metadata.UINT8,
}
#: Type of any other value in Python → its type in the file.
_TYPES = {bytes: metadata.STRING, bool: metadata.BOOL, int: metadata.UINT32}
_SUFFIX = "spaces at the end of words (treat_whitespace_as_suffix)"
_UNUSED = "[PAD{}]"  # text of an id without a token, as llama.cpp's converter writes it
#: Option of a sentencepiece model that a GGUF file cannot store → the value that it need not store, and what any
#: other value means, for errors.
_OFF = {
    "remove_extra_whitespaces": (False, "the removal of extra white space"),
    "escape_whitespaces": (True, "spaces that are not escaped as U+2581"),
    "precompiled_charsmap": (b"", "the normalization of text"),
}


def dump_byte_level(
    tokens: Sequence[bytes],
    merges: Iterable[tuple[int, int]],
    pre: str,
    special_tokens: Mapping[str, int],
    added_tokens: Sequence[AddedToken],
    n_ids: int,
    roles: Mapping[str, int | None],
    template: tuple[Sequence[int], Sequence[int]],
) -> bytes:
    """Return the bytes of a file of the kind "gpt2".

    Args:
        pre: name of the split pattern.
        added_tokens: of a special one, only the flags are used, because special_tokens has its id.
        n_ids: number of ids, of all kinds of tokens and of gaps.
        roles: "bos", "eos", "pad", "unk" → id; None: no token.
        template: (ids before a text, ids after it).

    Raises:
        FormatError: a GGUF file cannot store the vocabulary.
    """
    texts = [text_of(token) for token in tokens] + [""] * (n_ids - len(tokens))
    types = [PieceType.NORMAL] * n_ids
    _check_added(added_tokens, special_tokens)
    named = [(token.content, token.id, PieceType.USER_DEFINED) for token in added_tokens if not token.special]
    named += [(name, token_id, PieceType.CONTROL) for name, token_id in special_tokens.items()]
    for name, token_id, kind in named:
        if texts[token_id]:
            raise FormatError(
                f"the id {token_id} has the texts {texts[token_id]!r:.60} and {name!r:.60}, but a GGUF file can "
                "store only one text per id; export this tokenizer as native or huggingface"
            )
        texts[token_id], types[token_id] = name, kind
    for i, text in enumerate(texts):
        if not text:
            texts[i], types[i] = _UNUSED.format(i), PieceType.UNUSED
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if first.setdefault(text, i) != i:
            raise FormatError(
                f"the ids {first[text]} and {i} would both be written as {text!r:.60}; export this tokenizer as "
                "native or huggingface"
            )
    pairs = [f"{texts[left]} {texts[right]}".encode() for left, right in merges]
    return _file(
        "gpt2",
        {
            "pre": pre.encode(),
            "tokens": [text.encode() for text in texts],
            "token_type": types,
            "merges": pairs,
            **_roles(roles, template),
        },
    )


def _check_added(added_tokens: Sequence[AddedToken], special_tokens: Mapping[str, int]) -> None:
    """Raise FormatError if an added token has a flag that affects where it is found.

    A model with a `normalized` token has no normalizer here: `export` refuses one of a byte-level model, and
    `sentencepiece.beside` refuses the two together. So the flag only means that a token is searched after the
    tokens without it. That makes no difference if no token with it shares a character with a token without it.
    """
    after = {token.content for token in added_tokens if token.normalized}
    before = {token.content for token in added_tokens if not token.normalized} | (special_tokens.keys() - after)
    overlap = {*"".join(after)} & {*"".join(before)}
    for token in added_tokens:
        if token.lstrip or token.rstrip or token.single_word or (token.normalized and overlap):
            _refuse_flags(token)


def _refuse_flags(token: AddedToken) -> NoReturn:
    flags = "the flags (lstrip, rstrip, single_word, normalized) of the added token"
    _refuse(f"{flags} {token.content!r:.60}", "native or huggingface")


def _refuse(lost: str, way_out: str = "native") -> NoReturn:
    raise FormatError(f"a GGUF file cannot store {lost}; export this tokenizer as {way_out}")


def dump_code_points(model: CodePointModel) -> bytes:
    """Return the bytes of a file of the kind "llama"; "t5" for a unigram model.

    Raises FormatError if a GGUF file cannot store the model.
    """
    if model.trainer["model_type"] == "unigram":
        return _dump_unigram(model)
    # As read from a .model: `dump` fails if such a file cannot express the conventions.
    plain = model_file.parse(model_file.dump(model, "a GGUF file"), "the model")
    for name, (off, what) in _OFF.items():
        if plain.normalizer[name] != off:
            drops = ", or leave the normalizer out with drop=['normalizer'], which changes the ids of some texts"
            _refuse(what, "native" + ("" if name == "escape_whitespaces" else drops))
    if plain.trainer["treat_whitespace_as_suffix"]:
        _refuse(_SUFFIX)
    if plain.trainer["model_type"] == "char" and any(
        kind == PieceType.NORMAL and len(piece.decode("utf-8", "replace")) > 1
        for piece, kind in zip(plain.pieces, plain.types, strict=True)
    ):
        _refuse("a character model with pieces of several characters, which llama.cpp would merge")
    if PieceType.BYTE not in plain.types:
        raise FormatError(
            "a GGUF file needs byte_fallback, but this tokenizer lacks it; export this tokenizer as native"
        )
    return _file(
        "llama",
        {
            "pre": b"default",
            "tokens": _pieces(plain),
            "scores": struct.unpack(f"={plain.n_pieces}f", plain.scores),
            "token_type": list(plain.types),
            "add_space_prefix": plain.normalizer["add_dummy_prefix"],
            **_code_point_roles(plain, model),
        },
    )


def _dump_unigram(model: CodePointModel) -> bytes:
    """Return the bytes of a file of the kind "t5"."""
    spec = model.normalizer
    added = {token.id for token in model.added_tokens if not token.special}
    _check_added(model.added_tokens, {})
    symbols = [i for i, kind in enumerate(model.types) if kind == PieceType.USER_DEFINED and i not in added]
    lost = ""
    if symbols:
        lost = (
            f"the user-defined piece {model.piece(symbols[0])!r} of a unigram model: llama.cpp cuts such pieces "
            "out of the text first"
        )
    elif len(model.ids) < model.n_pieces:
        lost = "two pieces that are equal"
    elif not spec["escape_whitespaces"]:
        lost = "spaces that are not escaped as U+2581"
    elif model.trainer["treat_whitespace_as_suffix"]:
        lost = _SUFFIX
    # llama.cpp puts no space before a text of only spaces, and with remove_extra_whitespaces one before any other.
    elif spec["add_dummy_prefix"] != spec["remove_extra_whitespaces"]:
        lost = "one of add_dummy_prefix and remove_extra_whitespaces without the other"
    elif PieceType.BYTE in model.types:
        lost = "byte_fallback of a unigram model, which llama.cpp does not have"
    if lost:
        _refuse(lost, "native or sentencepiece")
    scores = struct.unpack(f"={model.n_pieces}f", model.scores)
    charsmap = spec["precompiled_charsmap"]
    return _file(
        "t5",
        {
            "pre": b"default",
            "tokens": _pieces(model),
            "scores": [  # llama.cpp finds unused pieces in text, too
                _NEVER if kind == PieceType.UNUSED else score
                for score, kind in zip(scores, model.types, strict=True)
            ],
            "token_type": list(model.types),
            "add_space_prefix": spec["add_dummy_prefix"],
            "remove_extra_whitespaces": spec["remove_extra_whitespaces"],
            **({"precompiled_charsmap": list(charsmap)} if charsmap else {}),
            **_code_point_roles(model, model),
        },
    )


def _pieces(model: CodePointModel) -> list[bytes]:
    """Return the texts of pieces; user-defined ones with spaces, since llama.cpp searches the original text."""
    return [
        piece.replace(METASPACE, b" ") if kind == PieceType.USER_DEFINED else piece
        for piece, kind in zip(model.pieces, model.types, strict=True)
    ]


def dump_words(model: Model, tokens: Sequence[bytes], roles: Mapping[str, int | None], n_ids: int) -> bytes:
    """Return the bytes of a file of the kind "bert", for a WordPiece model with BERT's steps. roles: role → id.

    Raises FormatError if a GGUF file cannot store the model.
    """
    lowers, strips = wordpiece.settings_of(model)
    spelling = model.spelling
    assert spelling is not None
    added = all_added_tokens(model)
    # With BERT's normalizer, a normalized token is also found in other case or with control characters inside it.
    # The pre-tokenizer drops white space, so lstrip and rstrip matter only if a token begins or ends with some.
    has_space = any(token.content != token.content.strip() for token in added)
    for token in added:
        if token.normalized or token.single_word or (has_space and (token.lstrip or token.rstrip)):
            _refuse_flags(token)
    texts = [token.decode() for token in tokens] + [""] * (n_ids - len(tokens))
    types = [PieceType.NORMAL] * n_ids
    for token in added:
        texts[token.id] = token.content
        types[token.id] = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
    names = {token.content for token in added}  # in llama.cpp's spelling, they do not change
    for i, text in enumerate(texts):
        if not text:
            texts[i], types[i] = _UNUSED.format(i), PieceType.UNUSED
    marked = [text if text in names else wordpiece.marked(text) for text in texts]
    if len({*marked}) != n_ids:
        raise FormatError(
            "two tokens would be written as the same text; export this tokenizer as native or huggingface"
        )
    named = {role: i for role, i in roles.items() if i is not None}
    if spelling.unknown >= 0:
        named["unk"] = spelling.unknown
    before, behind = model.template
    if len(before) == len(behind) == 1:
        named |= {"bos": before[0], "sep": behind[0]}  # llama.cpp puts these around texts: its bos is BERT's cls
    elif "cls" in named:
        named["bos"] = named["cls"]
    if not {"unk", "bos", "sep"} <= named.keys():
        raise FormatError("a GGUF file with WordPiece needs the tokens unk, cls and sep; name them with roles=")
    return _file(
        wordpiece.KIND,
        {
            "pre": b"default",
            "tokens": [text.encode() for text in marked],
            "token_type": types,
            "normalizer.lowercase": lowers,
            "normalizer.strip_accents": strips,
            # Without add_bos_token and add_eos_token, which this kind of file ignores.
            **{key: value for key, value in _roles(named, ((), ())).items() if not key.startswith("add_")},
        },
    )


def _code_point_roles(plain: CodePointModel, model: CodePointModel) -> dict[str, int]:
    """Return the keys for roles and template. plain: the model as stored in a .model file."""
    roles: dict[str, int | None] = {role: plain.control_id(role) for role in ("bos", "eos", "pad")}
    roles["unk"] = plain.types.find(PieceType.UNKNOWN) if PieceType.UNKNOWN in plain.types else None
    return _roles(roles, templates.split(model.templates.single))


def _roles(roles: Mapping[str, int | None], template: tuple[Sequence[int], Sequence[int]]) -> dict[str, int]:
    written = {key: i for role, key in ROLES.items() if (i := roles.get(role)) is not None}
    for role, ids in zip(("bos", "eos"), template, strict=True):
        written[f"add_{role}_token"] = roles.get(role) is not None and [*ids] == [roles[role]]
    return written


def _file(kind: str, keys: Mapping[str, Any]) -> bytes:
    # The keys come without their prefix.
    written = {"general.architecture": Typed(metadata.STRING, kind.encode())}
    for key, value in {"model": kind.encode(), **keys}.items():
        is_array = key in _ITEMS
        written[PREFIX + key] = Typed(_ITEMS[key] if is_array else _TYPES[type(value)], value, is_array)
    return metadata.write(written)
