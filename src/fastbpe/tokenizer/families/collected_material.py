"""Collection of facts about a tokenizer for the functions in `vocabularies`: tokens, kinds, merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import METASPACE, AddedToken, CodePointModel, Model, PieceType
from fastbpe.patterns import Pattern
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts, as_found, pieces_of
from fastbpe.tokenizer.families.ranked_merges import made_by
from fastbpe.tokenizer.families.token_spelling import symbols_of
from fastbpe.tokenizer.families.unigram_tables import found_whole
from fastbpe.tokenizer.surgery.token_makers import spelled_makers
from fastbpe.vocabularies.material import Kind, Material

_UNICODE_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_UTF8_BYTES = (*range(0xC0), *range(0xC2, 0xF5))  # no text has other bytes
_KINDS = {
    PieceType.NORMAL: Kind.TEXT,
    PieceType.UNKNOWN: Kind.UNKNOWN,
    PieceType.CONTROL: Kind.NAME,
    PieceType.USER_DEFINED: Kind.NAME,
    PieceType.UNUSED: Kind.UNUSED,
    PieceType.BYTE: Kind.BYTE,
}


def byte_material(
    tokens: list[bytes],
    special_tokens: Mapping[str, int],
    added: Sequence[AddedToken],
    pattern: Pattern,
    model: Model,
    vocabulary: Vocabulary,
) -> Material:
    names = {token.id: token.content for token in added}
    names |= {i: name for name, i in special_tokens.items()}
    return Material(
        tokens=tokens,
        kinds=[Kind.NAME if i in names else Kind.TEXT if token else Kind.NONE for i, token in enumerate(tokens)],
        names=names,
        vocabulary=vocabulary,
        halves=partial(_made_by, vocabulary, model),
        whole_piece_first=vocabulary.whole_piece_first,
        drops_bytes=vocabulary.drops_bytes
        and any(vocabulary.find(bytes((byte,))) is None for byte in _UTF8_BYTES),
        pattern=pattern,
        is_split_otherwise=bool(model.pre_tokenizers),
        # A normalizer may write the name of a token that is found only before it.
        always_found=[] if model.normalizers else [token.content.encode() for token in added if _is_found(token)],
        superwords={merged for _, _, merged in _supermerges(model)},
        make_keeps=partial(_keeps_form, model),
    )


def _supermerges(model: Model) -> list[tuple[int, int, int]]:
    return [] if model.supermerges is None else model.supermerges.merge_list()


def _made_by(vocabulary: Vocabulary, model: Model) -> dict[int, tuple[int, int]]:
    """Map each token's id to the two ids of the merge that makes it."""
    # Of several merges that make a token, the first counts, and merges within pieces come before all others.
    made = made_by(vocabulary, model)
    return {merged: (left, right) for left, right, merged in reversed(_supermerges(model))} | made


def _is_found(token: AddedToken) -> bool:
    """Tell whether an added token is found wherever its text occurs."""
    return not token.special and not token.single_word


def _keeps_form(model: Model) -> Callable[[str], bool] | None:
    """Return a function that tells whether a text is in the Unicode form to which the model normalizes.

    None if the normalizer is not one step to a Unicode form.
    """
    if len(model.normalizers) != 1 or model.normalizers[0].get("type") not in _UNICODE_FORMS:
        return None
    from fastbpe.normalization.huggingface import make_change

    change = make_change(model.normalizers)
    return None if change is None else lambda text: change(text) == text


def spelled_material(
    tokens: list[bytes],
    special_tokens: Mapping[str, int],
    added: Sequence[AddedToken],
    model: Model,
    vocabulary: Vocabulary,
) -> Material:
    assert model.spelling is not None
    spelling = model.spelling
    names = {token.id: token.content for token in added}
    names |= {i: name for name, i in special_tokens.items()}
    kinds = [Kind.NAME if i in names else Kind.TEXT if token else Kind.NONE for i, token in enumerate(tokens)]
    for kind, ids in ((Kind.UNKNOWN, [spelling.unknown]), (Kind.BYTE, spelling.byte_ids)):
        for i in ids:
            if i >= 0 and i not in names:  # an added token [UNK] is also found by its name
                kinds[i] = kind
    return Material(
        tokens=tokens,
        kinds=kinds,
        names=names,
        vocabulary=vocabulary,
        halves=partial(spelled_makers, vocabulary, model),
        symbols_of=lambda token: symbols_of(token, spelling),
        prefix=spelling.prefix.encode(),
        suffix=spelling.suffix.encode(),
        whole_piece_first=vocabulary.whole_piece_first,
        in_characters=True,
    )


def codepoint_material(special_tokens: Mapping[str, int], model: CodePointModel, parts: Parts) -> Material:
    kinds = [_KINDS[piece_type] for piece_type in model.types]
    names = {token.id: as_found(model, token) for token in model.added_tokens}
    names |= {i: name for name, i in special_tokens.items()}
    for i in found_whole(model):
        kinds[i] = Kind.TEXT
    for i in names:
        kinds[i] = Kind.NAME
    tokens = [piece.replace(METASPACE_UTF8, b" ") for piece in model.pieces]
    for i, kind in enumerate(kinds):
        if kind is Kind.NAME:
            tokens[i] = names.setdefault(i, tokens[i].decode(errors="replace")).encode()
        elif kind is Kind.BYTE:
            tokens[i] = bytes((int(model.piece(i)[3:5], 16),))
    escapes = model.normalizer["escape_whitespaces"]
    return Material(
        tokens=tokens,
        kinds=kinds,
        names=names,
        vocabulary=parts.vocabulary,
        halves=lambda: _halves(parts, len(tokens)),
        symbol_ids=parts.symbol_ids(),
        in_characters=True,
        escapes_spaces=escapes,
        marks_stand_for_spaces=escapes and not parts.marks_spaces,
        always_found=_always_found(model, tokens, escapes),
        make_keeps=partial(_keeps_characters, model),
    )


def _always_found(model: CodePointModel, tokens: list[bytes], escapes_spaces: bool) -> list[bytes]:
    """List the names that are found wherever they occur in normalized text.

    sentencepiece finds user-defined pieces there, except that in a unigram model a piece around one may win: sums
    of scores are rounded. A name has spaces in place of U+2581: a name with spaces is listed only if normalization
    escapes spaces, because then U+2581 matches both. The added tokens of a tokenizer.json are found in the text
    before normalization. Without a charsmap, it differs from normalized text only by spaces and U+2581, so names
    without these are listed; with a charsmap, none.
    """
    if model.conventions is None:
        if model.trainer["model_type"] == "unigram":
            return []
        listed = [tokens[i] for i, kind in enumerate(model.types) if kind == PieceType.USER_DEFINED]
        return [name for name in listed if escapes_spaces or b" " not in name]
    if model.normalizer["precompiled_charsmap"]:
        return []
    listed = [token.content.encode() for token in model.added_tokens if _is_found(token)]
    return [name for name in listed if b" " not in name and METASPACE_UTF8 not in name]


def _halves(parts: Parts, n_ids: int) -> dict[int, tuple[int, ...]]:
    ids = parts.symbol_ids()
    return {ids[symbol]: pair for symbol, pair in recover_merges(parts.vocabulary).items() if ids[symbol] < n_ids}


def _keeps_characters(model: CodePointModel) -> Callable[[str], bool] | None:
    """Return a function that tells whether each character of a text can occur in normalized text; None: no rules.

    A rule for a single character replaces it wherever it occurs (unless a longer rule does). So it does not occur
    in normalized text, unless a rule produces it or it is in a user-defined piece, which no rule changes.
    """
    charsmap = model.normalizer["precompiled_charsmap"]
    if not charsmap:
        return None
    from fastbpe.normalization.sentencepiece_rules import decompile_rules

    rules = decompile_rules(charsmap)
    symbols = [piece.decode(errors="replace") for piece in pieces_of(model, PieceType.USER_DEFINED).values()]
    gone = {before for before in rules if len(before) == 1}.difference(*rules.values(), *symbols)
    return (gone - {" ", METASPACE}).isdisjoint  # the normalizer itself also writes these two
