"""A sentencepiece model with the tokens that the other files of its folder name.

Special tokens without flags become control symbols, which a `.model` can store. Tokens with flags lead to a model
with the conventions of a tokenizer.json: added tokens are found in the original text, and the text between two of
them is normalized by itself, as in transformers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.named_tokens import Definition, NamedTokens
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import AddedToken, CodePointModel, Conventions, PieceType, pack_pieces

_FOUND = (PieceType.CONTROL, PieceType.UNKNOWN)  # types of the pieces that transformers makes special tokens


def with_named(model: CodePointModel, named: NamedTokens, where: str) -> CodePointModel:
    """Return a model with the named tokens; tokens that are not pieces yet follow its pieces.

    Raises:
        FormatError: fastbpe cannot add one of the tokens to this model.
    """
    if not (named.decoder or named.named or named.extra):
        return model
    wrong = next((name for name in named.names() if "\0" in name), None)
    if wrong is not None:
        raise FormatError(
            f"{where}: the files next to it name the token {wrong!r:.60}: no piece may contain a NUL"
        )
    names = {i: piece.decode("utf-8", "surrogateescape") for i, piece in enumerate(model.pieces)}
    controls = [name for i, name in names.items() if model.types[i] == PieceType.CONTROL]
    own = {role: names[i] for role in ("bos", "eos") if (i := model.control_id(role)) is not None}
    if PieceType.UNKNOWN in model.types:
        own["unk"] = names[model.types.index(PieceType.UNKNOWN)]
    roles = {
        f"{role}_token": Definition(name, is_text=True) for role, name in own.items() if role not in named.silenced
    }
    named = named._replace(named={**roles, **named.named})
    if not named.has_extra:  # transformers then takes the control symbols for extra_special_tokens
        named = named._replace(extra=[Definition(name) for name in controls])
    if named.settings is None:  # LlamaTokenizer, which has settings, builds the tokenizer anew from the pieces
        model = _renamed(model, named)
    ids = {piece.decode("utf-8", "surrogateescape"): i for i, piece in enumerate(model.pieces)}
    if model.normalizer["add_dummy_prefix"] and named.settings is None:  # as transformers does
        decoder = {i: token._replace(normalized=False) for i, token in named.decoder.items()}
        named = named._replace(decoder=decoder)
    # The settings of a class are for tokenizers that it builds from a vocabulary.
    added = named._replace(settings=None).add((), ids.get, model.n_pieces)
    new = [token for token in added if token.id >= model.n_pieces]
    if all(_is_plain(token, model) for token in added):
        return _with_pieces(model, new)
    return _with_flags(model, added, new, where)


def without_rules(model: CodePointModel) -> CodePointModel:
    """Return a model that only writes spaces as U+2581, as GemmaTokenizer does whatever the file says."""
    rules = specs.make(
        specs.NORMALIZER,
        {
            "name": "identity",
            "add_dummy_prefix": False,
            "remove_extra_whitespaces": False,
            "escape_whitespaces": True,
        },
    )
    used = ("precompiled_charsmap", *rules.values)
    if model.denormalizer is None and all(model.normalizer[name] == rules[name] for name in used):
        return model
    return model._replace(normalizer=rules, denormalizer=None, serialized=b"")


def _renamed(model: CodePointModel, named: NamedTokens) -> CodePointModel:
    """Return a model with its pieces renamed as in added_tokens_decoder.

    transformers does the same, because some vocabularies have pieces that only reserve an id.
    """
    names = {i: token.content.encode() for i, token in named.decoder.items() if i < model.n_pieces}
    kept = {piece for i, piece in enumerate(model.pieces) if i not in names}
    new = [names[i] if i in names and names[i] not in kept else piece for i, piece in enumerate(model.pieces)]
    if new == model.pieces:
        return model
    piece_bytes, piece_ends = pack_pieces(new)
    return model._replace(piece_bytes=piece_bytes, piece_ends=piece_ends, serialized=b"")


def _is_plain(token: AddedToken, model: CodePointModel) -> bool:
    """Tell whether a token is matched like a control symbol or the unknown piece."""
    is_kind = token.id >= model.n_pieces or model.types[token.id] in _FOUND
    return is_kind and token == AddedToken(token.content, token.id, special=True)


def _with_pieces(model: CodePointModel, new: Sequence[AddedToken]) -> CodePointModel:
    if not new:
        return model
    piece_bytes, piece_ends = pack_pieces([*model.pieces, *(token.content.encode() for token in new)])
    return model._replace(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=model.scores + bytes(4 * len(new)),
        types=model.types + bytes(PieceType.CONTROL if token.special else PieceType.USER_DEFINED for token in new),
        serialized=b"",
    )


def _with_flags(
    model: CodePointModel, added: Sequence[AddedToken], new: Sequence[AddedToken], where: str
) -> CodePointModel:
    """Return a model whose added tokens have flags."""
    spec = model.normalizer
    odd = {
        "treat_whitespace_as_suffix": model.trainer["treat_whitespace_as_suffix"],
        "user-defined pieces": PieceType.USER_DEFINED in model.types,
        "spaces that are not U+2581": not spec["escape_whitespaces"],
    }
    unlike = next((what for what, holds in odd.items() if holds), None)
    changes = spec["add_dummy_prefix"] or spec["remove_extra_whitespaces"] or spec["precompiled_charsmap"]
    if unlike is None and changes and any(token.normalized for token in added):
        unlike = "a normalizer, whose result is searched for added tokens with 'normalized'"
    stripping = [token for token in added if token.normalized and (token.lstrip or token.rstrip)]
    if unlike is None and stripping:
        unlike = "U+2581 for spaces: where 'normalized' tokens are searched, 'lstrip' and 'rstrip' find none"
    if unlike is not None:
        token = next(token for token in (*stripping, *added) if not _is_plain(token, model))
        raise FormatError(
            f"{where}: the files next to it set flags of the added token {token.content!r:.60} that fastbpe "
            f"does not support in a model with {unlike}; pass the tokenizer.json of this model, or "
            "its .model by its own path"
        )
    made = _with_pieces(model, new)
    types = bytearray(made.types)
    for token in added:
        if not token.special and types[token.id] == PieceType.CONTROL:
            types[token.id] = PieceType.USER_DEFINED
    return made._replace(
        types=bytes(types),
        conventions=Conventions(strips=spec["add_dummy_prefix"] or spec["remove_extra_whitespaces"]),
        added_tokens=added,
        roles={**_roles(made), **made.roles},
        serialized=b"",
    )


def _roles(model: CodePointModel) -> dict[str, str]:
    """Return role → text of its piece, from the model's options. Models with conventions need these in `roles`."""
    ids = {role: model.control_id(role) for role in ("bos", "eos", "pad")}
    return {role: model.piece(i).decode() for role, i in ids.items() if i is not None}
