"""The slow twin: byte-level BPE in plain Python, the specification of the fast engine.

Read `training` first, then `encoding`; `splitting` and `measuring` stand on their own. Nothing here is fast and
nothing else in fastbpe imports it; tests use it as an oracle. Base symbols are the 256 bytes, ids 0 to 255; the
n-th merge learned makes the token 256 + n.

One fact makes the whole family of rules agree, so it stands here and both modules use it.

**Equal bytes are cut equally.** Take a set of pieces and replay any sequence of merges over it, each from
left to right without overlap. At any moment, two stretches of equal bytes that both begin and end at token
borders are cut into the same tokens.

*Proof.* At the start every byte is a token. A border that stands now stood at every earlier moment, because
merges only remove borders. So while a merge was replayed it never crossed the left border of either stretch:
the scan entered both with nothing pending, met the same tokens, and took the same pairs up to the right
border, which it did not cross either.

What follows, whichever pair the trainer picks each time:

- No two merges learn the same bytes, and no merge is learned twice. When the pair (x, y) is picked, every
  stretch with the bytes xy is cut as x, y, everywhere; after the merge each of them is one token or has lost
  a border. (tokenizers has a rule for a merge that spells a token it has already, which is to reuse its id;
  it can only concern special tokens, whose texts tokenizers does not cut out of the training text.)
- A pair can only come into being in the merge that made its younger token. From then on its count only falls
  and its first occurrence only moves right: a heap with lazy updates is exact.
- Encoding by the ranks of tokens (`merge_ranks`), with or without looking up the whole piece first, equals
  encoding by the list of merges learned (`merge_pairs`), for any piece, seen in training or not. Training and
  encoding are one replay.

The last point is about vocabularies trained like this, or cut off after their first merges. Ranks from
elsewhere (tokens added by hand, two vocabularies joined) promise nothing.

**A list of merges that comes from elsewhere** can be judged. Let every token of several bytes be made by one
merge, in the order of their ids, and let the merges before its own make just the two tokens of its merge of a
token's bytes. Then ranks and the list give the same ids.

*Proof*, by induction: up to token t, merging by ranks and replaying the list agree on every piece. Replay both on
the piece and on the bytes of every token. Before merge t the bytes of t are the two tokens of its merge, so by the
fact above every stretch that spells t is cut like that: pairs that spell t are the pair listed. Making t brings
back no pair that spells a token u below t, for the bytes of u alone are one token since merge u, so by the same
fact no such stretch has a border inside. So the ranks have just the pair left that the list replays.

Where whole pieces are looked up first, a token may also have several merges, one after another in the list, or be
made by none. Of the several, only the one of the two tokens into which the token's bytes are cut before ever meets
its pair, by the same fact. And let what is made of the bytes of a token u that no merge makes be three tokens
or more, in the end and so at any time: then by the same fact two tokens that spell u never stand side by side,
neither in the list nor in the ranks, and u is nothing but a whole piece.
"""

from fastbpe._reference.encoding import decode, encode, merge_pairs, merge_ranks
from fastbpe._reference.measuring import longest_prefix, longest_suffix, offsets
from fastbpe._reference.splitting import split, stretches
from fastbpe._reference.training import STAND_IN_ORDER, Merges, Ties, train

__all__ = [
    "STAND_IN_ORDER",
    "Merges",
    "Ties",
    "decode",
    "encode",
    "longest_prefix",
    "longest_suffix",
    "merge_pairs",
    "merge_ranks",
    "offsets",
    "split",
    "stretches",
    "train",
]
