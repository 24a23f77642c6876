"""Search, for each token, for a text that produces it, or for a proof that no text does.

A token with such a text is *producible*: the text was encoded, and its ids contain the token. A token is
*impossible* if one of these proofs applies; `tests/reference/__init__.py` has the lemmas.

- Bytes. The bytes of the token do not occur in any UTF-8.
- Merges. If a merge made the token in the ids of a text, then merging its bytes by themselves also makes it: no
  merge has crossed the ends of its stretch, so every merge inside it was the same as in merging its bytes by
  themselves. So if merging its bytes leaves anything else, no merge makes it in any text. It can then only be a
  whole piece, if the vocabulary looks these up first, and only if its bytes are whole characters, as pieces are.
- Splitter. A token is inside one piece. `splitting.piece_language` accepts every piece that the split pattern can
  make. If it accepts no piece that contains the token's characters, no text produces the token. If the token
  begins or ends inside a character, every character with these bytes at that place is considered.
- Neighbours. A token is between other tokens, or at an end of its piece. If two tokens are adjacent in the ids of
  a piece, merging the bytes of the two by themselves leaves these two: otherwise the first merge across their
  boundary would have happened in the piece as well. So a token is impossible if its piece cannot end with it, and
  every token that could follow (for the rest of its character, or by the pattern) merges with it or cannot lead to
  the end of a piece either. The same argument applies to the tokens before it.
- Names. Added tokens and user-defined symbols are found before merging, the leftmost first. If the token contains
  one that is found anywhere, then in each text the name's first character belongs to a name: to this one, or to
  one that begins before it or is longer. So no merge makes the token.
- Normalizer. Each part of a text in a Unicode normalization form is in that form itself, so normalized text never
  contains a token in another form. In code-point mode: a character that a rule replaces does not occur in
  normalized text, unless a rule produces it.
- Kinds of code-point pieces. A piece marked as unused is split again. An id for a byte needs a character with this
  byte and without a piece; an id for unknown characters needs such a character, and no ids for bytes.

If neither was found, the token is *undecided*. The proofs about pieces (Splitter, Neighbours) need to know the
pieces: if a vocabulary lacks some of the bytes of UTF-8, or if text is split by steps that no pattern expresses,
tokens are undecided unless a text is found. Look-arounds, which `piece_language` ignores, and the limits of the
search may also leave tokens undecided.
"""

from __future__ import annotations

from fastbpe.model import METASPACE
from fastbpe.vocabularies.material import Described, Kind, Material
from fastbpe.vocabularies.reach_bytes import ByteSearch
from fastbpe.vocabularies.reach_characters import judge_pieces
from fastbpe.vocabularies.reach_spelled import judge_spelled
from fastbpe.vocabularies.trial import Reach


def judge(tokenizer: Described, material: Material) -> Reach:
    """Judge all tokens of a tokenizer."""
    reach = Reach()
    _judge_names(tokenizer, material, reach)
    if material.symbols_of is not None:
        judge_spelled(tokenizer, material, reach)
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
