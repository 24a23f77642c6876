"""The slow twin: byte-level BPE in plain Python, the specification of the fast engine.

Read `training` first, then `encoding`; `splitting` and `measuring` stand on their own. Nothing here is fast and
nothing else in fastbpe imports it; tests use it as an oracle. Base symbols are the 256 bytes, ids 0 to 255; the
n-th merge learned makes the token 256 + n.

One fact makes the whole family of rules agree. It stands here, and `training` and `encoding` rely on it.

**Equal bytes have equal tokens.** Take a set of pieces and replay any sequence of merges over it, each from
left to right without overlap. At any moment, two stretches of equal bytes that both begin and end at token
borders are cut into the same tokens.

*Proof.* At the start every byte is a token. A border that stands now stood at every earlier moment, because
merges only remove borders. So while a merge was replayed it never crossed the left border of either stretch:
the scan entered both with nothing pending, met the same tokens, and took the same pairs up to the right
border, which it did not cross either.

It follows, whichever pair the trainer picks each time:

- No two merges learn the same bytes, and no merge is learned twice. When the pair (x, y) is picked, every
  stretch with the bytes xy is cut as x, y, everywhere; after the merge each of them is one token or has lost
  a border. (If a merge spells an existing token, tokenizers reuses its id. This can only happen with special
  tokens, whose texts tokenizers does not cut out of the training text.)
- A pair can only come into being in the merge that made its younger token. From then on its count only falls
  and its first occurrence only moves right: a heap with lazy updates is exact.
- Encoding by the ranks of tokens (`merge_ranks`), with or without looking up the whole piece first, equals
  encoding by the list of merges learned (`merge_pairs`), for any piece, seen in training or not. Training and
  encoding are one replay.

The last point is about vocabularies trained like this, or cut off after their first merges. Ranks from
elsewhere (tokens added by hand, two vocabularies joined) promise nothing.

**One merge makes each token**, whatever the ranks or the list. Let any rule give pairs of tokens priorities,
or none (the rank of what a pair spells, its place in a list, a score), and let the best pair be merged, the
leftmost of equals, one at a time, until no pair is left. Then all merges that make a token t, in any
piece, are merges of one and the same pair: the pair that is merged last if the bytes of t are merged by
themselves.

*Proof.* Take a stretch of a piece whose two ends are borders now. They have been borders all the time, so
every merge so far was inside the stretch or outside. A merge inside joined the best pair of the piece, so it
joined the best pair of the stretch, leftmost of equals: the pair that the bytes of the stretch, merged by
themselves, would have joined next. So the stretch is cut like these bytes after some number of merges by
themselves. Each merge removes one token: two tokens that spell t are the bytes of t before their last merge.

It follows:

- Ranks can be turned into a list. List, for each token of several bytes, in the order of ranks, its last merge
  (`last_merge`). List nothing for a token that is never made: merging leaves it in three tokens or more, so
  it only occurs as a whole piece, if whole pieces are looked up first. The list gives every piece the
  tokens that the ranks give it: by induction both have done the same merges so far, and among the pairs that
  are neighbours now, those that spell a token are the listed ones, in the same order. Parts of a token may have
  greater ranks than the token. A list of all splits of each token, in the order of ranks, gives the same
  tokens: the other splits never are neighbours.
- A list can be turned into ranks if the last merges of the tokens, found by the list, are in the order of ids,
  and every other token of several bytes is looked up as a whole piece and left in three tokens or more. Then
  two neighbours that spell a token are its last merge, which is listed; so both do the same merges, as above.
- Two rules give every piece the same tokens if they do so for each token and for any two tokens, end to end.
  Let the first rule make t1 … tn of a piece. From the bytes of ti and ti+1 alone, it makes these two, and by
  assumption the second rule does, too. So the second rule also makes t1 … tn of the piece: if a merge crossed
  a border, the first such merge, across ti | ti+1, would also happen in the bytes of ti and ti+1 alone.

After training, every token has one merge, and the merges of lower ranks leave its two tokens. Then a shorter
check suffices: `_core.merge.merges_as_ranks` follows the border between the two back in time.
"""

from reference.encoding import decode, encode, last_merge, merge_pairs, merge_ranks, merge_tree
from reference.measuring import longest_prefix, longest_suffix, offsets
from reference.splitting import split, stretches
from reference.training import STAND_IN_ORDER, Merges, Ties, train

__all__ = [
    "STAND_IN_ORDER",
    "Merges",
    "Ties",
    "decode",
    "encode",
    "last_merge",
    "longest_prefix",
    "longest_suffix",
    "merge_pairs",
    "merge_ranks",
    "merge_tree",
    "offsets",
    "split",
    "stretches",
    "train",
]
