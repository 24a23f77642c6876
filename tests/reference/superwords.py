"""Learn superwords: do the merges of words over longer pieces, then continue learning there."""

from collections.abc import Collection, Mapping

from reference.training import Merges, Ties, best_pair, count_pairs, merge_pair


def train_superwords(
    pieces: Mapping[bytes, int],
    words: Merges,
    *,
    n_tokens: int,
    ties: Ties = "pair",
    min_count: int = 1,
    max_token_bytes: int | None = None,
    max_words: int | None = None,
    forbid: Collection[bytes] = (),
) -> Merges:
    """Learn merges over `pieces` on top of those over words, until there are `n_tokens` tokens.

    The merges of words are done one after another, each in all pieces. One that occurs in none is dropped, with
    its token, so that later ids move down.

    >>> from reference.training import train
    >>> words = train({b"in": 2, b"an": 1}, n_merges=2)
    >>> train_superwords({b"in in": 2}, words, n_tokens=259).tokens[256:]
    [b'in', b' in', b'in in']

    A pair is not merged if its token would hold a text of `forbid`, or more than `max_words` parts between spaces
    that are not empty.

    >>> words = train({b"a": 1}, n_merges=0)
    >>> train_superwords({b"a a a": 3}, words, n_tokens=259, max_words=1).tokens[256:]
    [b' a']
    >>> train_superwords({b"a: b": 3}, words, n_tokens=259, forbid=[b": "]).tokens[256:]
    [b' b', b'a:']
    """
    cut = [(list(piece), count) for piece, count in pieces.items()]
    tokens = words.tokens[:256]
    merges: list[tuple[int, int, int]] = []
    places = {i: i for i in range(256)}  # id among the words → id here

    def merge(left: int, right: int) -> None:
        merges.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
        cut[:] = [(merge_pair(ids, (left, right), len(tokens) - 1), count) for ids, count in cut]

    def allows(token: bytes) -> bool:
        n_words = sum(map(bool, token.split(b" ")))
        return not (
            any(text in token for text in forbid)
            or (max_words is not None and n_words > max_words)
            or (max_token_bytes is not None and len(token) > max_token_bytes)
        )

    for left, right, made in words.merges:
        pair = (places.get(left, -1), places.get(right, -1))
        if pair in count_pairs(cut):
            places[made] = len(tokens)
            merge(*pair)
    while len(tokens) < n_tokens:
        counts = {pair: n for pair, n in count_pairs(cut).items() if allows(tokens[pair[0]] + tokens[pair[1]])}
        if not counts or max(counts.values()) < min_count:
            break
        merge(*best_pair(counts, ties))
    return Merges(merges, tokens)
