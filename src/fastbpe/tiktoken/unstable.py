"""Ids at the end of a text that more text may change: `Encoding.encode_with_unstable`.

More text may change the ids of a text's last piece, and of white space before it.
`_core.encode.completions` finds what may take their place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

_BLANKS = b" \n\t"


def n_unstable(ids: Sequence[int], last: bytes, token: Callable[[int], bytes], apart: Collection[int]) -> int:
    """Count the last ids that may change when more text follows.

    Args:
        ids: ids of the text.
        last: bytes of the text's last piece; b"" without one.
        token: gives the bytes of an id.
        apart: ids that no later text changes, such as special tokens.
    """
    n = n_bytes = 0
    while n_bytes < len(last):
        n += 1
        n_bytes += len(token(ids[-n]))
    if n and not token(ids[-n]).strip(_BLANKS):
        while n < len(ids) and ids[-n - 1] not in apart and not token(ids[-n - 1]).strip(_BLANKS):
            n += 1
    return n
