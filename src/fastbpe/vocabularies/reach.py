"""Search, for each token, for a text that produces it, or for a proof that no text does.

A token with such a text is *producible*: the text was encoded, and its ids contain the token. A token is
*impossible* if one of these proofs applies; `tests/reference/__init__.py` has the lemmas.

- Bytes. The bytes of the token do not occur in any UTF-8.
- Merges. If a merge made the token in the ids of a text, then merging its bytes by themselves also makes it: no
  merge has crossed the ends of the token, so every merge inside it was the same as in merging its bytes by
  themselves. So if merging its bytes leaves anything else, no merge makes it in any text. It can then only be a
  whole piece, if the vocabulary looks these up first, and only if its bytes are whole characters, as pieces are.
- Splitter. A token is inside one piece. `splitting.piece_language` accepts every piece that the split pattern can
  make. If it accepts no piece that contains the token's characters, no text produces the token. If the token
  begins or ends inside a character, every character with these bytes at that place is considered.
- Neighbours. A token is between other tokens, or at an end of its piece. If two tokens are adjacent in the ids of
  a piece, merging the bytes of the two by themselves leaves these two: otherwise the first merge across their
  boundary would have happened in the piece as well. Which tokens may follow a token depends on the rest of its
  character and on the pattern. A token is impossible if no piece can end with it, and every token that may follow
  merges with it or cannot lead to the end of a piece. The same argument applies to the tokens before it.
- Names. Added tokens and user-defined symbols are found before merging, the leftmost first. If the token contains
  one that is found anywhere, then in each text the name's first character belongs to a name: to this one, or to
  one that begins before it or is longer. So no merge makes the token.
- Normalizer. Each part of a text in a Unicode normalization form is in that form itself, so normalized text never
  contains a token in another form. In code-point mode: a character that a rule replaces does not occur in
  normalized text, unless a rule produces it.
- Kinds of code-point pieces. A piece marked as unused is split again. An id for a byte needs a character with this
  byte and without a piece; an id for unknown characters needs such a character, and that no ids stand for bytes.

If neither a text nor a proof was found, the token is *undecided*. The proofs about pieces (Splitter, Neighbours)
need to know the pieces: they are not used if a vocabulary lacks some of the bytes of UTF-8, or if text is split by
steps that no pattern expresses. Look-arounds, which `piece_language` ignores, and the limits of the search may
also leave tokens undecided.
"""

from __future__ import annotations

from itertools import islice

from fastbpe.formats.byte_level import bytes_of
from fastbpe.model import METASPACE
from fastbpe.vocabularies.material import Described, Kind, Material, surface_of
from fastbpe.vocabularies.merge_tree import merged
from fastbpe.vocabularies.reach_bytes import ByteSearch
from fastbpe.vocabularies.reach_characters import UNUSABLE_BYTES, characters_with, judge_pieces
from fastbpe.vocabularies.trial import Reach, Reason, Trial

# Texts of several scripts and kinds, to put before and after a candidate for look-arounds and rules of the steps.
_AROUND = ("", " ", "a", "\n", "\x01", "1", ".", "\u4e2d")
_N_TEXTS = 256  # characters that are tried for a byte
# Characters that a vocabulary may lack: unassigned, for private use, Han, Latin, an emoji, a digit, a control.
_UNKNOWN = ("\u0378", "\ue000", "\u4e2d", "a", "\U0001f9ff", "1", "\x01")


def judge(tokenizer: Described, material: Material) -> Reach:
    reach = Reach()
    _judge_names(tokenizer, material, reach)
    if material.symbols_of is not None:
        _judge_spelled(tokenizer, material, reach)
    elif material.in_characters:
        judge_pieces(tokenizer, material, reach)
    else:
        ByteSearch(tokenizer, material, reach).run()
    return reach


def _judge_names(tokenizer: Described, material: Material, reach: Reach) -> None:
    """Judge the tokens that are found by their names."""
    for i, kind in enumerate(material.kinds):
        if kind is not Kind.NAME:
            continue
        name = material.names[i]
        # White space at the ends of a text may be removed, and U+2581 may represent a space.
        for text in (name, f"a{name}a", f"a{name.replace(' ', METASPACE)}a"):
            if i in tokenizer.encode(text, allowed_special="all"):
                reach.witnesses[i] = text
                break
        else:
            reach.undecided.append(i)


def _judge_spelled(tokenizer: Described, material: Material, reach: Reach) -> None:
    """Judge the tokens of a character-level vocabulary, except special and added tokens, which are found by name.

    Only the proofs by merges and by bytes are used, because the steps of a tokenizer.json may change a text in any
    way.
    """
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
            only_merges = material.vocabulary.segmenter is None and not material.whole_piece_first
            if only_merges and [tree.id for tree in merged(material, material.tokens[i])] != [i]:
                reason = Reason.MERGES
        elif kind is Kind.UNKNOWN:
            trial.one(i, [f"a{text}" for text in _UNKNOWN])
        else:
            byte = int(material.tokens[i][3:5], 16)  # from <0x0A>
            reason = Reason.BYTES if byte in UNUSABLE_BYTES else None
            trial.one(i, [*islice(characters_with(byte), _N_TEXTS)])
        reach.settle(i, reason)


def _texts_of(tokenizer: Described, material: Material, token_id: int) -> list[str]:
    """List texts that may produce the token: its decoded text, and its spelling with and without marks.

    If the spelling is in characters that stand for bytes, these bytes also are a text. Texts with U+2581 are also
    listed with spaces instead.
    """
    token = material.tokens[token_id]
    surface = surface_of(tokenizer, token_id)
    bare = token.removeprefix(material.prefix)
    shown = [
        each.removesuffix(material.suffix).decode(errors="replace").strip() for each in (surface, token, bare)
    ]
    of_stand_ins = (bytes_of(shown[1]) or b"").decode(errors="replace")  # before a ByteLevel step
    texts = [text for text in (*shown, of_stand_ins, token.decode()) if text]
    return [*dict.fromkeys((*texts, *(text.replace(METASPACE, " ") for text in texts)))]
