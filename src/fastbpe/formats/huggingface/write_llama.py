"""Write a tokenizer.json of the Llama kind."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import Any, NoReturn, TypeAlias

from fastbpe.errors import FormatError
from fastbpe.formats.charsmap import shown_apart
from fastbpe.formats.huggingface import llama_spaces, llama_symbols, templates
from fastbpe.formats.huggingface.llama_spaces import Spaces
from fastbpe.formats.huggingface.step_json import STRIP, llama_decoder, metaspace
from fastbpe.formats.huggingface.write import write_document
from fastbpe.model import (
    BYTES_PER_MERGE,
    METASPACE,
    TYPE_NAMES,
    AddedToken,
    CodePointModel,
    Conventions,
    PieceType,
    pack_merges,
)

Merge: TypeAlias = tuple[int, int, int]  # left id, right id, merged id

_MAX_RUN = 64  # characters; `_check_runs` takes cubic time. Llama's longest run has 16 spaces, Gemma's 31


def dump(model: CodePointModel) -> bytes:
    """Return the bytes of the file."""
    spaces = spaces_of(model)
    _check_rules(model)
    check_options(model)
    pieces = texts_of(model)
    merges = _merges(model, pieces)
    unknown = model.types.find(PieceType.UNKNOWN)
    conventions = model.conventions
    if conventions is None:
        # If no step handles white space, normalized added tokens do the same as the Split of `llama_symbols`.
        has_symbols = PieceType.USER_DEFINED in model.types and spaces != Spaces(dummy=False)
        conventions = Conventions(strips=spaces.dummy or spaces.trims, symbols=has_symbols)
    added = added_tokens(model, pieces, conventions)
    listed = pieces[: n_listed(model, added)]
    check_listed(model, listed)
    steps = llama_spaces.describe(spaces) if conventions.escapes else []
    as_lists = any(" " in pieces[i] for merge in merges for i in merge)
    symbols = _symbols(model, listed, merges, added, conventions)
    return write_document(
        added_tokens=added,
        normalizer={"type": "Sequence", "normalizers": steps} if steps else None,
        pre_tokenizer=symbols or pre_tokenizer(conventions),
        post_processor=templates.describe(model.templates, pieces),
        decoder=decoder(conventions),
        unk_token=pieces[unknown] if unknown >= 0 else None,
        fuse_unk=conventions.fuses,
        byte_fallback=bool(model.trainer["byte_fallback"]),
        ignore_merges=symbols is not None,
        vocab={piece: i for i, piece in enumerate(listed)},
        merges=[
            [pieces[left], pieces[right]] if as_lists else f"{pieces[left]} {pieces[right]}"
            for left, right, _ in merges
        ],
    )


def texts_of(model: CodePointModel) -> list[str]:
    """Return the pieces by id. Raises FormatError for a piece that is not UTF-8."""
    try:
        return [piece.decode() for piece in model.pieces]
    except UnicodeDecodeError as error:
        cannot(f"the piece {error.object!r:.60}, which is not UTF-8,")


def spaces_of(model: CodePointModel) -> Spaces:
    """Return a model's options about white space."""
    spec, suffix = model.normalizer, model.trainer["treat_whitespace_as_suffix"]
    dummy, trims = bool(spec["add_dummy_prefix"]), bool(spec["remove_extra_whitespaces"])
    return Spaces(dummy=dummy, trims=trims, suffix=bool(suffix and dummy))  # a suffix is a dummy prefix at the end


def _symbols(
    model: CodePointModel,
    listed: list[str],
    merges: list[Merge],
    added: list[AddedToken],
    conventions: Conventions,
) -> dict[str, Any] | None:
    """Return the pre-tokenizer that finds user-defined pieces that are not added tokens.

    None if no listed piece is one, or `conventions.symbols` is False.
    """
    if not conventions.symbols:
        return None
    described, bad = llama_symbols.pre_tokenizer(
        listed, model.types, pack_merges(merges), added={token.id for token in added}, fuses=conventions.fuses
    )
    if bad:
        first = next(
            piece for piece, type_ in zip(listed, model.types, strict=False) if type_ == PieceType.USER_DEFINED
        )
        text = first + bad
        raise FormatError(
            f"a tokenizer.json cannot store user-defined pieces together with the piece {bad!r}: in the text "
            f"{text!r}, the tokenizers library might find this piece where sentencepiece does not; export this "
            "tokenizer as sentencepiece"
        )
    return described


def check_listed(model: CodePointModel, listed: list[str]) -> None:
    """Refuse control symbols and unknown pieces of one character, because tokenizers would find them in text.

    A model with conventions is not checked: it comes from a tokenizer.json.
    """
    if model.conventions is None:
        for piece, type_ in zip(listed, model.types, strict=False):
            if len(piece) == 1 and type_ in (PieceType.CONTROL, PieceType.UNKNOWN):
                cannot(f"the piece {piece!r} of type {TYPE_NAMES[type_]}, which a text may contain,")


def added_tokens(model: CodePointModel, pieces: list[str], conventions: Conventions) -> list[AddedToken]:
    """Return the model's added tokens, and one for each piece that sentencepiece does not merge.

    These are control symbols; if the model has no conventions, also unknown pieces, and, unless a pre-tokenizer
    finds them (`conventions.symbols`), user-defined pieces, which sentencepiece finds anywhere.
    """
    known = {token.id for token in model.added_tokens}
    special = {PieceType.CONTROL, PieceType.UNKNOWN} if model.conventions is None else {PieceType.CONTROL}
    others = set() if model.conventions or conventions.symbols else {PieceType.USER_DEFINED}
    more = [
        AddedToken(content=piece, id=i, special=type_ in special, normalized=type_ in others)
        for i, (piece, type_) in enumerate(zip(pieces, model.types, strict=True))
        if type_ in special | others and i not in known
    ]
    return sorted((*model.added_tokens, *more), key=lambda token: token.id)


def n_listed(model: CodePointModel, added: list[AddedToken]) -> int:
    """Return the number of pieces that the vocabulary lists; tokenizers numbers the added tokens after them.

    Control symbols and user-defined pieces at the end are not listed, because a listed token of one character
    would match even in text that is not searched for added tokens.
    """
    ids = {token.id for token in added}
    n = model.n_pieces
    while n - 1 in ids and model.types[n - 1] in (PieceType.CONTROL, PieceType.USER_DEFINED):
        n -= 1
    return n


def pre_tokenizer(conventions: Conventions) -> dict[str, Any] | None:
    """Return the Metaspace pre-tokenizer of a model's conventions, or None."""
    if not conventions.prefix and not conventions.splits and conventions.escapes:
        return None
    return metaspace(conventions.prefix or "never", split=conventions.splits)


def decoder(conventions: Conventions) -> dict[str, Any]:
    """Return the decoder of a model's conventions."""
    if conventions.decoder == "Metaspace":
        return metaspace("always" if conventions.strips else "never")
    return llama_decoder(*([STRIP] if conventions.strips else []))


def _merges(model: CodePointModel, pieces: list[str]) -> list[Merge]:
    if model.trainer["model_type"] == "char":
        return []
    if model.merges:
        ids = memoryview(model.merges).cast("B").cast("I").tolist()
        return [(ids[i], ids[i + 1], ids[i + 2]) for i in range(0, len(model.merges) // BYTES_PER_MERGE * 3, 3)]
    scores = struct.unpack(f"={len(pieces)}f", model.scores)
    splits_marks = model.conventions is not None and model.conventions.splits
    ids_of = {
        piece: i
        for i, piece in enumerate(pieces)
        if model.types[i] == PieceType.NORMAL
        and " " not in piece
        and not (splits_marks and METASPACE in piece[1:])
    }
    _check_characters(ids_of)
    merges = sorted(splits(ids_of), key=lambda merge: (-scores[merge[2]], merge[:2]))
    groups = [list(group) for _, group in groupby(merges, key=lambda merge: scores[merge[2]])]
    return [merge for group in _listed(groups, pieces) for merge in group]


def _listed(groups: list[list[Merge]], pieces: list[str]) -> list[list[Merge]]:
    """Order the merges within each group (of one score) so that a list has the same effect as in sentencepiece.

    sentencepiece merges the leftmost of pairs with equal scores. A list cannot express that, except for runs of
    one character, such as Llama's spaces: there the longest comes first, because runs further left have grown
    longer. While sentencepiece merges such runs, no better pair can appear: it would consist of a run and other
    characters, which do not change meanwhile. So only the length of a run matters: `_check_runs` tries lengths.
    """
    out: list[list[Merge]] = []
    tied: dict[str, int] = {}  # character → the number of its last group of several runs
    for number, group in enumerate(groups):
        several = {merged: pieces[merged] for _, _, merged in group}
        if len(several) > 1:
            one, other = list(several.values())[:2]
            if len(characters := {*"".join(several.values())}) > 1:
                cannot(f"the pieces {one!r} and {other!r}, which have the same score,")
            tied[characters.pop()] = number
            # Pairs that make one piece stay together: scores can express that.
            group = sorted(group, key=lambda merge: (-len(pieces[merge[2]]), -len(pieces[merge[0]])))
        out.append(group)
    for character, last in tied.items():
        _check_runs(character, last, out, pieces)
    return out


def splits(ids: Mapping[str, int]) -> Iterator[Merge]:
    """Yield (left id, right id, merged id) for every two pieces that make a piece."""
    lengths = {*map(len, ids)}
    for piece, merged in ids.items():
        ways = (
            (ids[piece[:cut]], ids[piece[cut:]], merged)
            for cut in cuts(piece, lengths)
            if piece[:cut] in ids and piece[cut:] in ids
        )
        yield from sorted(ways)


def cuts(piece: str, lengths: Collection[int]) -> Iterator[int]:
    """Yield where to cut a piece, so that both parts have one of these lengths.

    A piece may have a million characters. To look up the parts of every cut would take quadratic time.
    """
    return (cut for cut in range(1, len(piece)) if cut in lengths and len(piece) - cut in lengths)


def _is_run(piece: str, character: str) -> bool:
    return piece == character * len(piece)


def _check_runs(character: str, last: int, groups: list[list[Merge]], pieces: list[str]) -> None:
    """Refuse runs of one character with equal scores if the list leads to other tokens than "leftmost first".

    Tries all lengths below four times the longest run that is a piece. There is no proof that these suffice, but
    none of many random sets of runs that pass differed for a greater length.

    Args:
        last: index of the last group in which several runs of the character have the same score.
        groups: merges by score, the best first, in the order of the list.
    """
    by_score: dict[tuple[int, int], int] = {}
    by_list: dict[tuple[int, int], int] = {}
    for number, group in enumerate(groups):
        for left, right, merged in group:
            one, other = pieces[left], pieces[right]
            if _is_run(pieces[merged], character):
                by_score[len(one), len(other)] = number
                by_list[len(one), len(other)] = len(by_list)
            elif number <= last and any(len(part) > 1 and _is_run(part, character) for part in (one, other)):
                cannot(f"the piece {pieces[merged]!r} and runs of {character!r} that have the same score,")
    longest = max(map(sum, by_score))
    if longest > _MAX_RUN:
        cannot(f"runs of up to {longest} times {character!r}, several with the same score,")
    for n in range(2, 4 * longest):
        if llama_symbols.merged([1] * n, by_list) != llama_symbols.merged([1] * n, by_score):  # their lengths
            cannot(f"runs of {character!r} that have the same score")


def _check_characters(ids: Mapping[str, int]) -> None:
    """Refuse a piece that sentencepiece builds from a character that is not a piece."""
    missing = {character for piece in ids for character in piece} - ids.keys()
    lengths = {1, *map(len, ids)}
    for piece in ids if missing else ():
        for cut in cuts(piece, lengths):
            parts = piece[:cut], piece[cut:]
            if all(part in ids or len(part) == 1 for part in parts) and not missing.isdisjoint(parts):
                cannot(f"the piece {piece!r}, which has a character that is not a piece,")


def _check_rules(model: CodePointModel) -> None:
    """Refuse a model with normalization rules or unused pieces."""
    spec = model.normalizer
    if PieceType.UNUSED in model.types:
        cannot("pieces of type UNUSED")
    if spec["precompiled_charsmap"]:
        raise FormatError(
            f"a tokenizer.json cannot store the normalization rules {spec['name']!r}"
            f"{shown_apart(spec['precompiled_charsmap'])}; export this tokenizer as sentencepiece"
        )


def check_options(model: CodePointModel) -> None:
    """Refuse a model with options, or pieces with spaces, that a tokenizer.json cannot express."""
    if model.denormalizer is not None and model.denormalizer["precompiled_charsmap"]:
        cannot("rules for decoded text")
    if not model.normalizer["escape_whitespaces"]:
        cannot("spaces that do not become U+2581")
    if model.conventions is not None:
        return
    if b" " in model.piece_bytes and any(b" " in piece for piece in model.pieces):
        cannot("pieces with spaces")


def cannot(what: str) -> NoReturn:
    """Raise FormatError for a part of a model that a tokenizer.json cannot express."""
    raise FormatError(
        f"a tokenizer.json cannot express {what} with the same effect as in sentencepiece; "
        "export this tokenizer as sentencepiece"
    )
