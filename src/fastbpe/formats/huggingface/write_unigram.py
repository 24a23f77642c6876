"""Write a tokenizer.json for a unigram model of sentencepiece.

tokenizers finds every entry of a Unigram vocabulary in text, but sentencepiece only normal and user-defined
pieces. So a Split cuts the names of control symbols, bytes and the unknown piece between two characters that no
piece contains side by side. This does not change the best path of other text: no path crosses such a place.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from fastbpe.formats.charsmap import Charsmap
from fastbpe.formats.huggingface import llama_spaces, llama_symbols, templates, write_llama
from fastbpe.formats.huggingface.step_json import metaspace, replace, split
from fastbpe.formats.huggingface.write import write_document
from fastbpe.model import METASPACE, TYPE_NAMES, CodePointModel, Conventions, PieceType

_FOUND = (PieceType.NORMAL, PieceType.USER_DEFINED)  # types of the pieces that sentencepiece finds in text
_BONUS = 0.1  # sentencepiece's score of a user-defined piece, for each byte but the first


def dump(model: CodePointModel) -> bytes:
    """Return the bytes of the file. Raises FormatError if it cannot express the model."""
    write_llama.check_options(model)
    if len(model.ids) < model.n_pieces:
        write_llama.cannot("equal pieces")
    pieces = write_llama.texts_of(model)
    spaces = write_llama.spaces_of(model)
    conventions = Conventions(strips=spaces.dummy or spaces.trims, symbols=True)
    added = write_llama.added_tokens(model, pieces, conventions)
    # User-defined pieces stay listed, because the model finds them.
    n = write_llama.n_listed(model, [token for token in added if token.special])
    write_llama.check_listed(model, pieces[:n])
    normalizers, pre_tokenizer = steps(model, pieces[:n])
    unknown = model.types.find(PieceType.UNKNOWN)
    if unknown < 0:  # tokenizers replaces unknown characters by their bytes only if it also has an unk_id
        unknown = model.types.find(PieceType.BYTE)
    return write_document(
        added_tokens=added,
        normalizer={"type": "Sequence", "normalizers": normalizers},
        pre_tokenizer=pre_tokenizer,
        post_processor=templates.describe(model.templates, pieces),
        decoder=write_llama.decoder(conventions),
        type="Unigram",
        unk_id=unknown if unknown >= 0 else None,
        vocab=[[piece, score] for piece, score in zip(pieces[:n], _scores(model), strict=False)],
        byte_fallback=bool(model.trainer["byte_fallback"]),
    )


def steps(model: CodePointModel, listed: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the normalizers, and the pre-tokenizer or None. listed: the pieces that the vocabulary lists.

    Raises:
        FormatError: text may contain the name of a piece that sentencepiece does not find, and it cannot be cut;
            or normalization rules would change a user-defined piece.
    """
    charsmap = model.normalizer["precompiled_charsmap"]
    rules: list[dict[str, Any]] = []
    if charsmap:
        _check_symbols(model, charsmap)
        rules.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()})
    found = [piece for piece, kind in zip(listed, model.types, strict=False) if kind in _FOUND]
    joined = {pair for piece in found for pair in pairwise(piece)}
    falls_back = bool(model.trainer["byte_fallback"])
    characters = {piece for piece in found if len(piece) == 1}

    def is_apart(left: str, right: str) -> bool:
        """Tell whether a text may be cut between two characters: no known or unknown piece crosses the cut."""
        return (left, right) not in joined and (falls_back or left in characters or right in characters)

    names = [piece for piece, kind in zip(listed, model.types, strict=False) if kind not in _FOUND]
    cuts: dict[str, set[str]] = {}
    unknown_names: list[str] = []
    for name in names:
        cut = next((pair for pair in pairwise(name) if is_apart(*pair)), None)
        if cut is not None:
            cuts.setdefault(cut[0], set()).add(cut[1])
        elif characters.isdisjoint(name) and joined.isdisjoint(pairwise(name)):
            unknown_names.append(name)  # all its characters are unknown, so it encodes as its first character does
        else:
            kind = TYPE_NAMES[model.types[listed.index(name)]]
            write_llama.cannot(f"the piece {name!r} of type {kind}, which a text may contain,")
    rules += llama_spaces.describe(write_llama.spaces_of(model))
    rules += [replace("String", name, name[0]) for name in llama_symbols.longest_first(unknown_names)]
    made = [metaspace("never")] if _splits_words(joined, characters) else []
    made += [_cutting(cuts)] if cuts else []
    return rules, {"type": "Sequence", "pretokenizers": made} if len(made) > 1 else next(iter(made), None)


def _check_symbols(model: CodePointModel, charsmap: bytes) -> None:
    """Refuse user-defined pieces that the normalization rules would change: sentencepiece does not normalize them.

    A U+2581 between two words may become a space, which becomes a U+2581 again.
    """
    rules = Charsmap(charsmap)
    becomes_space = rules.find(METASPACE) == " "
    for piece, kind in zip(model.pieces, model.types, strict=True):
        if kind != PieceType.USER_DEFINED:
            continue
        text = piece.decode()
        words = text.split(METASPACE) if becomes_space else [text]
        if not all(words) or any(rules.shortest(word[i:]) is not None for word in words for i in range(len(word))):
            write_llama.cannot(f"the user-defined piece {text!r}, which its normalization rules change,")


def _splits_words(joined: Collection[tuple[str, str]], characters: Collection[str]) -> bool:
    """Tell whether text may be cut before every U+2581."""
    return METASPACE in characters and not any(right == METASPACE for _, right in joined)


def _cutting(cuts: dict[str, set[str]]) -> dict[str, Any]:
    """Return the pre-tokenizer that cuts between two characters. cuts: left character → right characters."""
    regex = "|".join(
        f"{llama_symbols.escaped(left)}(?={'|'.join(map(llama_symbols.escaped, sorted(rights)))})"
        for left, rights in sorted(cuts.items())
    )
    return split(regex, "MergedWithPrevious")


def _scores(model: CodePointModel) -> Iterator[float]:
    """Yield the score of each piece: sentencepiece's, or the lowest one for a piece that it never looks at."""
    scores = struct.unpack(f"={model.n_pieces}f", model.scores)
    normal = [score for score, kind in zip(scores, model.types, strict=True) if kind == PieceType.NORMAL]
    lowest = min(normal, default=1.0)
    # The lowest of all entries decides the score of unknown characters; user-defined pieces have 0 or more.
    if lowest > 0:
        write_llama.cannot("a unigram model without a normal piece whose score is 0 or below")
    for i, (score, kind) in enumerate(zip(scores, model.types, strict=True)):
        if kind == PieceType.USER_DEFINED:
            yield bonus(model.piece(i).decode())
        else:
            yield score if kind == PieceType.NORMAL else lowest


def bonus(piece: str) -> float:
    """Return sentencepiece's score for a user-defined piece."""
    made: float = struct.unpack("<f", struct.pack("<f", _BONUS * (len(piece.encode()) - 1)))[0]
    return made
