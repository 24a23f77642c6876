"""Decide for each token of a character-level vocabulary whether some text produces it.

Only the proof by merges (see `reach`) is used here, because the steps of a tokenizer.json may change a text in any
way.
"""

from __future__ import annotations

from itertools import islice

from fastbpe.formats.byte_level import bytes_of
from fastbpe.model import METASPACE
from fastbpe.vocabularies.material import Described, Kind, Material, surface_of
from fastbpe.vocabularies.merge_tree import merged
from fastbpe.vocabularies.reach_characters import UNUSABLE_BYTES, characters_with
from fastbpe.vocabularies.trial import Reach, Reason, Trial

_AROUND = ("", " ", "a", "\n", "\x01", "1", ".", "\u4e2d")
_N_TEXTS = 256  # characters that are tried for a byte
_UNKNOWN = ("\u0378", "\ue000", "\u4e2d", "a", "\U0001f9ff", "1", "\x01")


def judge_spelled(tokenizer: Described, material: Material, reach: Reach) -> None:
    """Judge all tokens except names."""
    trial = Trial(tokenizer, reach)
    kinds = material.kinds
    texts = [i for i, kind in enumerate(kinds) if kind is Kind.TEXT]
    spelled = {i: _texts_of(tokenizer, material, i) for i in texts}
    for before in _AROUND:
        for behind in _AROUND:
            trial.all((i, before + text + behind) for i in texts for text in spelled[i])
    for i, kind in enumerate(kinds):
        if kind in (Kind.NAME, Kind.NONE) or i in reach.witnesses:
            continue
        reason = None
        if kind is Kind.TEXT:
            merges = material.vocabulary.segmenter is None and not material.whole_piece_first
            if merges and [tree.id for tree in merged(material, material.tokens[i])] != [i]:
                reason = Reason.MERGES
        elif kind is Kind.UNKNOWN:
            trial.one(i, [f"a{text}" for text in _UNKNOWN])
        else:
            byte = int(material.tokens[i][3:5], 16)  # of <0x0A>
            reason = Reason.BYTES if byte in UNUSABLE_BYTES else None
            trial.one(i, [*islice(characters_with(byte), _N_TEXTS)])
        if reason is not None:
            reach.impossible[i] = reason
        elif i not in reach.witnesses:
            reach.undecided.append(i)


def _texts_of(tokenizer: Described, material: Material, token_id: int) -> list[str]:
    """List texts that may produce the token: its decoded text, and its spelling without marks of position."""
    token = material.tokens[token_id]
    surface = surface_of(tokenizer, token_id)
    bare = token.removeprefix(material.prefix)
    shown = [
        each.removesuffix(material.suffix).decode(errors="replace").strip() for each in (surface, token, bare)
    ]
    of_stand_ins = (bytes_of(shown[1]) or b"").decode(errors="replace")  # as a step ByteLevel writes a text
    texts = [text for text in (*shown, of_stand_ins, token.decode()) if text]
    return [*dict.fromkeys((*texts, *(text.replace(METASPACE, " ") for text in texts)))]
