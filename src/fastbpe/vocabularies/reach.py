"""Judge for each token whether some text gives it: the verdict is such a text, a proof that none does, or neither.

A token with a text is *producible*: the text was encoded, and the ids hold the token. A token is *impossible* if
one of these proofs holds; `tests/reference/__init__.py` has the lemmas.

- Bytes. No UTF-8 holds the bytes of the token.
- Merges. If a merge made the token in the ids of a text, then merging its bytes by themselves makes it, too: the
  borders of its stretch have stood all the time, so every merge inside it was the one that its bytes by
  themselves would have had next. So if merging its own bytes leaves anything else, no merge makes it in any
  text. It may then only be a piece as a whole, if the vocabulary looks these up first, and only if its bytes are
  whole characters, as pieces are.
- Splitter. A token lies inside one piece. `splitting.piece_language` accepts every piece that the split pattern
  can make. If it accepts none with the token's characters in it, no text gives the token. Where the token ends
  inside a character, or begins inside one, every character counts that has these bytes there.
- Neighbours. A token stands between other tokens, or at an end of its piece. If two tokens stand side by side in
  the ids of a piece, merging the bytes of the two by themselves leaves these two: else the first merge across
  their border would have happened in the piece as well. So a token is impossible if its piece cannot end with
  it, and every token that could come next, for the rest of its character or by the pattern, merges with it or
  leads to no end of a piece either. The same holds for what comes before it.
- Names. Added tokens and user-defined symbols are found before merging, the leftmost first. If the token holds
  one that is found anywhere, then in each text the name's first character there belongs to a name: to this one, or
  to one that begins before it or is longer. So no merge makes the token.
- Normalizer. Each part of a text in one of Unicode's normal forms is in that form itself, so normalizing leaves
  no text that holds a token in another form. In code-point mode: a character that a rule replaces stands in no
  normalized text, unless a rule puts it there.
- Kinds of code-point pieces. A piece marked as unused is split again. An id for a byte needs a character with
  this byte that has no piece; an id for unknown characters needs one, and no ids for bytes.

If neither was found, the token is *undecided*. The proofs about pieces (Splitter, Neighbours) need to know
them: vocabularies without some of the bytes of UTF-8, and steps that no pattern expresses, leave tokens
undecided unless a text is found. So may look-arounds, which `piece_language` ignores, and the limits of the
search.
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
        # White space at the ends of a text may be removed, and U+2581 may stand for a space.
        for text in (name, f"a{name}a", f"a{name.replace(' ', METASPACE)}a"):
            if i in tokenizer.encode(text, allowed_special="all"):
                reach.witnesses[i] = text
                break
        else:
            reach.undecided.append(i)
