"""Read the tokenizer in the metadata of a GGUF file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats.byte_level import bytes_of
from fastbpe.formats.gguf import characters, metadata, wordpiece
from fastbpe.formats.gguf.keys import PREFIX, ROLES, Keys
from fastbpe.formats.gguf.split_patterns import DEFAULT, PRE_TOKENIZERS, PreTokenizer
from fastbpe.formats.huggingface.read import with_special
from fastbpe.formats.sentencepiece import model_file, specs
from fastbpe.model import AddedToken, Buffer, CodePointModel, Model, PieceType, around, pack_merges, pack_pieces
from fastbpe.patterns import PatternLike

METASPACE = "\u2581".encode()
UNIGRAM = "t5"
_KINDS = ("gpt2", "llama", UNIGRAM, wordpiece.KIND, characters.GEMMA)
#: Role → id, unless a file of the kind "t5" sets it.
_T5_ROLES = {"eos": 1, "unk": 2, "pad": 0}


def parse(
    data: Buffer, where: str, *, pattern: PatternLike = None, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Read the model in the bytes of a GGUF file.

    Args:
        pattern: split pattern from the caller, for a file whose pre-tokenizer is not in PRE_TOKENIZERS.
        special_tokens: they replace the special tokens of the file; an error for the kinds "llama" and "t5".

    Raises:
        FormatError: a damaged file, a tokenizer of another kind, or an argument that contradicts the file.

    Warns:
        FormatWarning: a file of the kind "gpt2" names no pre-tokenizer, and there is no `pattern`.
    """
    keys = Keys(metadata.read(data, where, PREFIX), where)
    kind = keys.text("model", None)
    if kind is None:
        raise FormatError(
            f"{where}: GGUF: it contains no tokenizer (no {PREFIX}model); pass the GGUF file of the language model"
        )
    if kind not in _KINDS:
        raise FormatError(
            f"{where}: GGUF: the tokenizer is of the kind {kind!r:.40}; fastbpe reads {', '.join(_KINDS)}"
        )
    pre = characters.GEMMA if kind == characters.GEMMA else keys.text("pre", None)
    is_characters = kind in ("gpt2", characters.GEMMA) and pre in characters.PRE_NAMES
    if kind == "gpt2" and not is_characters:
        return _byte_level(keys, pattern, special_tokens)
    if pattern is not None:
        raise FormatError(f"{where}: the file contains its own split pattern; leave pattern= out")
    if is_characters:
        return characters.read(keys, str(pre), special_tokens)
    if kind == wordpiece.KIND:
        return wordpiece.read(keys, special_tokens)
    if special_tokens is not None:
        raise FormatError(f"{where}: the file contains its own special tokens; leave special_tokens= out")
    return _code_points(keys, is_unigram=kind == UNIGRAM)


# Byte level


def _byte_level(keys: Keys, pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Model:
    pre = _pre_tokenizer(keys, pattern)
    listed = keys.items("tokens", bytes, None)
    tokens, special, added, ids = _tokens(keys, listed, skips_merges=pre.whole_piece_first)
    roles = keys.role_ids(len(listed))
    names = {token_id: name for name, token_id in special.items()}
    before, behind = keys.around(roles, adds_bos=pre.adds_bos)
    merges = _merges(keys, ids)
    while tokens and not tokens[-1]:
        tokens.pop()  # no gaps for special tokens at the end
    missing = 256 - len({token for token in tokens if len(token) == 1})
    model = Model(
        tokens=tokens,
        pattern=pre.pattern,
        special_tokens=special,
        merges=merges,
        merges_rule="merges",
        whole_piece_first=pre.whole_piece_first,
        drops_bytes=missing > 0,
        added_tokens=added,
        template=(before, behind),
        pair_template=around(before, behind).pair,
        roles={role: names[token_id] for role, token_id in roles.items() if token_id in names},
    )
    return with_special(model, special_tokens)


def _pre_tokenizer(keys: Keys, pattern: PatternLike) -> PreTokenizer:
    name = keys.text("pre", None)
    if name is not None and name in PRE_TOKENIZERS:
        if pattern is not None:
            raise FormatError(
                f"{keys.where}: the file contains its own split pattern ({name}); leave pattern= out"
            )
        return PRE_TOKENIZERS[name]
    if pattern is not None:
        return PreTokenizer(pattern)  # type: ignore[arg-type]  # resolved with the model
    if name is not None:
        known = f"is not the name of a split pattern that fastbpe knows ({', '.join(PRE_TOKENIZERS)})"
        keys.fail("pre", f"{name!r:.60} {known}; pass the pattern itself as pattern=...")
    warn(
        f"{keys.where}: GGUF: {PREFIX}pre is missing, so fastbpe splits text by llama.cpp's default pattern, "
        "which few models were trained with; pass the split pattern of the model as pattern=...",
        FormatWarning,
    )
    return PRE_TOKENIZERS[DEFAULT]


def _tokens(
    keys: Keys, listed: Sequence[bytes], *, skips_merges: bool
) -> tuple[list[bytes], dict[str, int], list[AddedToken], dict[bytes, int]]:
    """Return (ordinary tokens by id, special tokens, added tokens, text → id of the tokens that merges may use).

    skips_merges: a piece that equals a token becomes this token without merging. Ordinary tokens that are not in
        GPT-2's characters are then left out, because llama.cpp never finds them in text.
    """
    tokens: list[bytes] = []
    special: dict[str, int] = {}
    added: list[AddedToken] = []
    ids: dict[bytes, int] = {}
    types = keys.types(len(listed))
    keys.check_unequal(listed)
    keys.check_bytes(listed, types)
    for i, (text, kind) in enumerate(zip(listed, types, strict=True)):
        name = keys.decoded("tokens", text)
        if kind == PieceType.NORMAL:
            token = bytes_of(name)
            if token:
                ids[text] = i
            elif not skips_merges:
                token = name.encode()  # for decoding only: no merge makes it, in llama.cpp too (Command R's emoji)
            tokens.append(token or b"")
            continue
        tokens.append(b"")
        if kind == PieceType.USER_DEFINED and name:
            added.append(AddedToken(name, i))
        elif kind != PieceType.UNUSED and name:
            special[name] = i
    return tokens, special, added, ids


def _merges(keys: Keys, ids: Mapping[bytes, int]) -> bytes:
    merges: dict[tuple[int, int], int] = {}
    for i, line in enumerate(keys.items("merges", bytes, None)):
        at = line.find(b" ", 1)  # as in llama.cpp, a space at the start belongs to the left token
        left, right = (line[:at], line[at + 1 :]) if at > 0 else (line, b"")
        try:
            merges.setdefault((ids[left], ids[right]), ids[left + right])  # of equal merges, the first counts
        except KeyError:
            keys.fail("merges", f"merge {i}, {line!r:.80}: expected two tokens whose concatenation is a token")
    return pack_merges((left, right, merged) for (left, right), merged in merges.items())


# Code points


def _code_points(keys: Keys, *, is_unigram: bool) -> CodePointModel:
    pieces: list[bytes] = keys.items("tokens", bytes, None)
    types = keys.types(len(pieces))
    scores = keys.items("scores", float, len(pieces))
    roles = keys.role_ids(len(pieces), _T5_ROLES if is_unigram else None)
    if is_unigram:
        types = _unigram_types(keys, types, roles)
    # The converter writes spaces in user-defined pieces; the text to search has U+2581 in their place.
    pieces = [
        piece.replace(b" ", METASPACE) if kind == PieceType.USER_DEFINED else piece
        for piece, kind in zip(pieces, types, strict=True)
    ]
    # llama.cpp finds unknown tokens in text as it finds control tokens, and there may be several, such as padding.
    unknowns = [i for i, kind in enumerate(types) if kind == PieceType.UNKNOWN]
    if len(unknowns) > 1:
        types = [
            PieceType.CONTROL if kind == PieceType.UNKNOWN and i != roles.get("unk") else kind
            for i, kind in enumerate(types)
        ]
    piece_bytes, piece_ends = pack_pieces(pieces)
    named: dict[str, Any] = {}
    for role in ROLES:
        if role in roles:
            name = pieces[roles[role]].decode("utf-8", "surrogateescape")
            named |= {f"{role}_id": roles[role], f"{role}_piece": name}
    before, behind = keys.around(roles, adds_bos=not is_unigram, adds_eos=is_unigram)
    model = CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=struct.pack(f"={len(scores)}f", *scores),
        types=bytes(types),
        trainer=specs.make(
            specs.TRAINER,
            {
                "model_type": "unigram" if is_unigram else "bpe",
                "vocab_size": len(pieces),
                "byte_fallback": PieceType.BYTE in types,
                **named,
            },
        ),
        normalizer=specs.make(specs.NORMALIZER, _unigram_rules(keys) if is_unigram else _bpe_rules(keys)),
    )
    unknowns = [i for i in unknowns if types[i] == PieceType.UNKNOWN]
    special = model_file.special_tokens(piece_bytes, piece_ends, unknowns)
    # Written and read again, so that it passes the checks of a .model.
    checked = model_file.parse(model_file.dump(model._replace(added_tokens=special)), keys.where)
    if is_unigram:  # llama.cpp cuts user-defined tokens out of the text, and normalizes what lies between
        symbols = [
            AddedToken(keys.decoded("tokens", piece), i)
            for i, (piece, kind) in enumerate(zip(pieces, types, strict=True))
            if kind == PieceType.USER_DEFINED
        ]
        checked = checked._replace(added_tokens=[*checked.added_tokens, *symbols])
    return checked._replace(template=(before, behind), pair_template=around(before, behind).pair)


def _bpe_rules(keys: Keys) -> dict[str, Any]:
    return {
        "name": "identity",
        "add_dummy_prefix": keys.flag("add_space_prefix", True),
        "remove_extra_whitespaces": False,
    }


def _unigram_rules(keys: Keys) -> dict[str, Any]:
    # If llama.cpp merges white space, it puts a space before each word, whatever add_space_prefix says.
    merges = keys.flag("remove_extra_whitespaces", False)
    # The items may be INT8 or UINT8.
    charsmap = bytes(byte & 0xFF for byte in keys.items("precompiled_charsmap", int, None, []))
    return {
        "name": "user_defined" if charsmap else "identity",
        "precompiled_charsmap": charsmap,
        "add_dummy_prefix": keys.flag("add_space_prefix", False) or merges,
        "remove_extra_whitespaces": merges,
    }


def _unigram_types(keys: Keys, types: Sequence[int], roles: Mapping[str, int]) -> list[int]:
    """Return the types of pieces, where the piece with the unknown id has the type UNKNOWN.

    Raises FormatError if this piece is normal or user-defined, there is no such id, or a piece is of type BYTE.
    """
    if PieceType.BYTE in types:
        keys.fail(
            "token_type",
            f"token {types.index(PieceType.BYTE)} is of the type BYTE, but llama.cpp has no byte fallback for "
            f"the kind {UNIGRAM!r}",
        )
    unknown = roles.get("unk")
    if unknown is None or types[unknown] in (PieceType.NORMAL, PieceType.USER_DEFINED):
        keys.fail("unknown_token_id", f"expected the id of a token of the type UNKNOWN, found {unknown}")
    return [*types[:unknown], PieceType.UNKNOWN, *types[unknown + 1 :]]
