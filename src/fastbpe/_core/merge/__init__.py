"""Vocabulary tables, and merging: one piece, many pieces side by side, one long piece.

`table_builder` makes the buffers, in memory or for a `.fbpe` file; a `Vocabulary` is a checked view of them:

| table | contents |
| --- | --- |
| token_bytes, token_ends | bytes of all tokens, concatenated, and the end of each; empty: the id is not a token |
| pieces | token bytes → id: open addressing, 32 bits of the hash next to the id |
| pair_lines | (left id, right id) → merged id, also the priority: three ids of 21 bits in 8 bytes, lines of 8 |
| | slots. From ranks: every split of a token into two tokens. From a list of merges that ranks can replace: |
| | the merge that makes each token |
| pairs | (left id, right id) → (priority, merged id): for all other lists of merges, and for ranks of 2**21 |
| | ids and more |

Code-point vocabularies use the same tables: pieces are numbered by score, so that a lower number merges first.
"""
