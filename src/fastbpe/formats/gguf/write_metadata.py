"""Write a tokenizer as a GGUF file with only metadata, which tools such as gguf-new-metadata copy into a model."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

from fastbpe.errors import FormatError
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.gguf import metadata, wordpiece
from fastbpe.formats.gguf.keys import PREFIX, ROLES
from fastbpe.formats.gguf.metadata import Typed
from fastbpe.formats.gguf.read_metadata import METASPACE
from fastbpe.formats.huggingface.write import all_added_tokens
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import TEXT, AddedToken, CodePointModel, Model, PieceType

_NEVER = -1e30  # score of a piece that is never on the best path
_UNUSED = "[PAD{}]"  # text of an id without a token, as llama.cpp's converter writes it
#: Options of a sentencepiece model that a GGUF file cannot store, with the values that it need not store.
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
        added_tokens: added tokens; a special one may also be in special_tokens.
        roles: "bos", "eos", "pad", "unk" → id.
        template: (ids before a text, ids after it).
    """
    texts = [text_of(token) for token in tokens] + [""] * (n_ids - len(tokens))
    types = [int(PieceType.NORMAL)] * n_ids
    _check_added(added_tokens, special_tokens)
    named = [(token.content, token.id, PieceType.USER_DEFINED) for token in added_tokens if not token.special]
    named += [(name, token_id, PieceType.CONTROL) for name, token_id in special_tokens.items()]
    for name, token_id, kind in named:
        if texts[token_id] or not name:
            raise FormatError(
                f"the id {token_id} has the texts {texts[token_id]!r:.60} and {name!r:.60}, but a GGUF file can "
                "store one text per id; export this tokenizer as native or huggingface"
            )
        texts[token_id], types[token_id] = name, int(kind)
    for i, text in enumerate(texts):
        if not text:
            texts[i], types[i] = _UNUSED.format(i), int(PieceType.UNUSED)
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
            "pre": _text(pre),
            "tokens": Typed(metadata.STRING, [text.encode() for text in texts], True),
            "token_type": Typed(metadata.INT32, types, True),
            "merges": Typed(metadata.STRING, pairs, True),
            **_roles(roles, template),
        },
    )


def _check_added(added_tokens: Sequence[AddedToken], special_tokens: Mapping[str, int]) -> None:
    """Raise FormatError if an added token has a flag that affects where it is found.

    Without a normalizer, the flag `normalized` only means that a token is searched after the tokens without this
    flag. That makes no difference if no token with the flag shares a character with a token without it.
    """
    after = {token.content for token in added_tokens if token.normalized}
    before = {token.content for token in added_tokens if not token.normalized} | (special_tokens.keys() - after)
    overlap = {*"".join(after)} & {*"".join(before)}
    for token in added_tokens:
        if token.lstrip or token.rstrip or token.single_word or (token.normalized and overlap):
            raise FormatError(
                f"a GGUF file cannot store the flags (lstrip, rstrip, single_word, normalized) of the added token "
                f"{token.content!r:.60}; export this tokenizer as native or huggingface"
            )


def dump_code_points(model: CodePointModel) -> bytes:
    """Return the bytes of a file of the kind "llama"; "t5" for a unigram model."""
    if model.trainer["model_type"] == "unigram":
        return _dump_unigram(model)
    # Without the conventions of a tokenizer.json:
    plain = model_file.parse(model_file.dump(model, "a GGUF file"), "the model")
    for name, (off, what) in _OFF.items():
        if plain.normalizer[name] != off:
            drops = ", or leave the normalizer out with drop=['normalizer'], which changes the ids of some texts"
            way_out = "" if name == "escape_whitespaces" else drops
            raise FormatError(f"a GGUF file cannot store {what}; export this tokenizer as native{way_out}")
    if plain.trainer["treat_whitespace_as_suffix"]:
        raise FormatError(
            "a GGUF file cannot store spaces at the end of words (treat_whitespace_as_suffix); export this "
            "tokenizer as native"
        )
    if plain.trainer["model_type"] == "char" and any(
        kind == PieceType.NORMAL and len(piece.decode("utf-8", "replace")) > 1
        for piece, kind in zip(plain.pieces, plain.types, strict=True)
    ):
        raise FormatError(
            "a GGUF file cannot store a character model with pieces of several characters, which llama.cpp would "
            "merge; export this tokenizer as native"
        )
    if PieceType.BYTE not in plain.types:
        raise FormatError(
            "a GGUF file needs byte_fallback, but this tokenizer lacks it; export this tokenizer as native"
        )
    pieces = [
        piece.replace(METASPACE, b" ") if kind == PieceType.USER_DEFINED else piece
        for piece, kind in zip(plain.pieces, plain.types, strict=True)
    ]
    return _file(
        "llama",
        {
            "pre": _text("default"),
            "tokens": Typed(metadata.STRING, pieces, True),
            "scores": Typed(metadata.FLOAT32, struct.unpack(f"={len(pieces)}f", plain.scores), True),
            "token_type": Typed(metadata.INT32, list(plain.types), True),
            "add_space_prefix": Typed(metadata.BOOL, plain.normalizer["add_dummy_prefix"]),
            **_code_point_roles(plain, model),
        },
    )


def _dump_unigram(model: CodePointModel) -> bytes:
    """Return the bytes of a file of the kind "t5"."""
    spec = model.normalizer
    added = {token.id for token in model.added_tokens if not token.special}
    _check_added([token for token in model.added_tokens if not token.special], {})
    symbols = [i for i, kind in enumerate(model.types) if kind == PieceType.USER_DEFINED and i not in added]
    if symbols:
        raise FormatError(
            f"a GGUF file cannot store the user-defined piece {model.piece(symbols[0])!r} of a unigram model: "
            "llama.cpp cuts such pieces out of the text first; export this tokenizer as native or sentencepiece"
        )
    lost = ""
    if len(model.ids) < model.n_pieces:
        lost = "two pieces that are equal"
    elif not spec["escape_whitespaces"]:
        lost = "spaces that are not escaped as U+2581"
    elif model.trainer["treat_whitespace_as_suffix"]:
        lost = "spaces at the end of words (treat_whitespace_as_suffix)"
    elif spec["add_dummy_prefix"] != spec["remove_extra_whitespaces"]:
        lost = "one of add_dummy_prefix and remove_extra_whitespaces without the other"
    elif PieceType.BYTE in model.types:
        lost = "byte_fallback of a unigram model, which llama.cpp does not have"
    if lost:
        raise FormatError(f"a GGUF file cannot store {lost}; export this tokenizer as native or sentencepiece")
    scores = struct.unpack(f"={model.n_pieces}f", model.scores)
    charsmap = spec["precompiled_charsmap"]
    rules = {"precompiled_charsmap": Typed(metadata.UINT8, list(charsmap), True)} if charsmap else {}
    return _file(
        "t5",
        {
            "pre": _text("default"),
            "tokens": Typed(metadata.STRING, model.pieces, True),
            "scores": Typed(
                metadata.FLOAT32,
                # llama.cpp finds unused pieces in text, too.
                [
                    _NEVER if kind == PieceType.UNUSED else score
                    for score, kind in zip(scores, model.types, strict=True)
                ],
                True,
            ),
            "token_type": Typed(metadata.INT32, list(model.types), True),
            "add_space_prefix": Typed(metadata.BOOL, spec["add_dummy_prefix"]),
            "remove_extra_whitespaces": Typed(metadata.BOOL, spec["remove_extra_whitespaces"]),
            **rules,
            **_code_point_roles(model, model),
        },
    )


def dump_words(model: Model, tokens: Sequence[bytes], roles: Mapping[str, int | None], n_ids: int) -> bytes:
    """Return the bytes of a file of the kind "bert", for a WordPiece model with BERT's steps. roles: role → id."""
    lowers, strips = wordpiece.settings_of(model)
    spelling = model.spelling
    assert spelling is not None
    added = all_added_tokens(model)
    _check_added([token for token in added if not token.special], {})
    texts = [token.decode() for token in tokens] + [""] * (n_ids - len(tokens))
    types = [int(PieceType.NORMAL)] * n_ids
    for token in added:
        texts[token.id] = token.content
        types[token.id] = int(PieceType.CONTROL if token.special else PieceType.USER_DEFINED)
    names = {token.content for token in added}  # in llama.cpp's spelling, they do not change
    for i, text in enumerate(texts):
        if not text:
            texts[i], types[i] = _UNUSED.format(i), int(PieceType.UNUSED)
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
        named |= {"bos": before[0], "sep": behind[0]}
    elif "cls" in named:
        named["bos"] = named["cls"]
    if not {"unk", "bos", "sep"} <= named.keys():
        raise FormatError("a GGUF file with WordPiece needs the tokens unk, cls and sep; name them with roles=")
    return _file(
        wordpiece.KIND,
        {
            "pre": _text("default"),
            "tokens": Typed(metadata.STRING, [text.encode() for text in marked], True),
            "token_type": Typed(metadata.INT32, types, True),
            "normalizer.lowercase": Typed(metadata.BOOL, lowers),
            "normalizer.strip_accents": Typed(metadata.BOOL, strips),
            **{key: value for key, value in _roles(named, ((), ())).items() if not key.startswith("add_")},
        },
    )


def _code_point_roles(plain: CodePointModel, model: CodePointModel) -> dict[str, Typed]:
    """Return the keys for roles and template. plain: the model as stored in a .model file."""
    roles: dict[str, int | None] = {role: plain.control_id(role) for role in ("bos", "eos", "pad")}
    roles["unk"] = plain.types.find(PieceType.UNKNOWN) if PieceType.UNKNOWN in plain.types else None
    single = model.templates.single
    at = tuple(single).index(TEXT)
    return _roles(roles, (single[:at], single[at + 1 :]))


def _roles(roles: Mapping[str, int | None], template: tuple[Sequence[int], Sequence[int]]) -> dict[str, Typed]:
    written = {
        key: Typed(metadata.UINT32, roles[role]) for role, key in ROLES.items() if roles.get(role) is not None
    }
    for role, ids in zip(("bos", "eos"), template, strict=True):
        written[f"add_{role}_token"] = Typed(
            metadata.BOOL, roles.get(role) is not None and [*ids] == [roles[role]]
        )
    return written


def _text(text: str) -> Typed:
    return Typed(metadata.STRING, text.encode())


def _file(kind: str, keys: Mapping[str, Typed]) -> bytes:
    head = {"general.architecture": _text(kind), f"{PREFIX}model": _text(kind)}
    return metadata.write(head | {PREFIX + key: value for key, value in keys.items()})
