"""BoundlessBPE, second version, without deletions: words and superwords share the ids, by their counts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

Pair = tuple[bytes, bytes]


class Operations(NamedTuple):
    """Result of training: tokens by id, and the merges of words and of superwords, each best first."""

    tokens: list[bytes]
    words: list[Pair]
    superwords: list[Pair]


def pairs_of(symbols: Sequence[bytes]) -> Counter[Pair]:
    """Count the neighbours, without overlaps: of n equal symbols in a row, n // 2.

    >>> pairs_of([b"a", b"a", b"a", b"b"])
    Counter({(b'a', b'a'): 1, (b'a', b'b'): 1})
    """
    found: Counter[Pair] = Counter()
    at = 0
    while at + 1 < len(symbols):
        pair = symbols[at], symbols[at + 1]
        found[pair] += 1
        is_run = pair[0] == pair[1] and at + 2 < len(symbols) and symbols[at + 2] == pair[0]
        at += 1
        if is_run:  # the next pair of these symbols begins one later
            at += 1
    return found


def merged(symbols: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Replace a pair by the token that it makes, from left to right."""
    out: list[bytes] = []
    at = 0
    while at < len(symbols):
        if tuple(symbols[at : at + 2]) == pair:
            out.append(pair[0] + pair[1])
            at += 2
        else:
            out.append(symbols[at])
            at += 1
    return out


def merge_all(symbols: Sequence[bytes], merges: Sequence[Pair]) -> list[bytes]:
    """Do merges, always the one that is listed first."""
    places = {pair: i for i, pair in reversed([*enumerate(merges)])}
    symbols = [*symbols]
    while found := [places[pair] for pair in pairwise(symbols) if pair in places]:
        symbols = merged(symbols, merges[min(found)])
    return symbols


class Learner:
    """Learn merges of rows of symbols, one at a time.

    rows: rows of symbols → how often each occurs.
    """

    def __init__(self, rows: Mapping[tuple[bytes, ...], int]) -> None:
        self.rows = [([*row], count) for row, count in rows.items()]

    def best(self, longest: int | None = None) -> tuple[int, Pair] | None:
        """Find the most frequent pair, of equals the least as bytes. Returns (occurrences, pair) or None."""
        counts: Counter[Pair] = Counter()
        for row, count in self.rows:
            for pair, n in pairs_of(row).items():
                if longest is None or len(pair[0] + pair[1]) <= longest:
                    counts[pair] += n * count
        if not counts:
            return None
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        return counts[pair], pair

    def merge(self, pair: Pair) -> None:
        """Merge a pair."""
        self.rows = [(merged(row, pair), count) for row, count in self.rows]


def train_boundless(
    texts: Sequence[str],
    pieces_of: Callable[[str], list[bytes | None]],
    has_letter: Callable[[str], bool],
    *,
    n_tokens: int,
    min_count: int = 1,
    max_token_bytes: int | None = None,
) -> Operations:
    """Train as BoundlessBPE does.

    Args:
        texts: the documents.
        pieces_of: cuts a text into pieces; None stands for text that is left out, or for a special token.
        has_letter: tells whether a text holds a letter.
        n_tokens: number of tokens to end with, the 256 bytes included.
        min_count: least occurrences of a merge of words.
        max_token_bytes: greatest length of a token.
    """
    cut = [pieces_of(text) for text in texts]
    counted = Counter(piece for pieces in cut for piece in pieces if piece)
    learner = Learner({tuple(bytes([byte]) for byte in piece): count for piece, count in counted.items()})
    words: list[tuple[int, Pair]] = []
    while len(words) < n_tokens - 256 and (found := learner.best(max_token_bytes)) and found[0] >= min_count:
        words.append(found)
        learner.merge(found[1])
    pairs = [pair for _, pair in words]
    known = {bytes([byte]) for byte in range(256)} | {left + right for left, right in pairs}

    def is_member(piece: bytes | None) -> bool:
        if piece not in known or not has_letter(piece.decode()):
            return False
        alone = [one for one in pieces_of(piece.decode()) if one]
        return len(alone) == 1 and len(merge_all([bytes([byte]) for byte in alone[0]], pairs)) == 1

    runs: Counter[tuple[bytes, ...]] = Counter()
    for pieces in cut:
        row: list[bytes] = []
        for piece in [*pieces, None]:
            if is_member(piece):
                assert piece is not None
                row.append(piece)
            else:
                runs[tuple(row)] += len(row) > 1
                row = []
    return _mixed(words, Learner({row: count for row, count in runs.items() if count}), max_token_bytes)


def _mixed(words: list[tuple[int, Pair]], learner: Learner, longest: int | None) -> Operations:
    """Give the ids of the words to words and superwords, by their counts."""
    tokens = [bytes([byte]) for byte in range(256)]
    n_tokens = 256 + len(words)
    out = Operations(tokens, [], [])
    waiting = [*words]
    while len(tokens) < n_tokens:
        found = learner.best(longest)
        if found is not None and found[0] > (waiting[0][0] if waiting else -1):
            pair = found[1]
            learner.merge(pair)
            out.superwords.append(pair)
        elif waiting:
            pair = waiting.pop(0)[1]
            out.words.append(pair)
        else:
            break
        if pair[0] + pair[1] not in tokens:
            tokens.append(pair[0] + pair[1])
    return out


def encode_boundless(pieces: Sequence[bytes | None], operations: Operations) -> list[bytes]:
    """Encode the pieces of a text: words in each, then superwords in runs of pieces that are one token.

    >>> encode_boundless([b"a", b"b", b"ab"], Operations([], [], [(b"a", b"b")]))
    [b'ab', b'a', b'b']
    """
    parts = {part for pair in operations.superwords for part in pair}
    out: list[bytes] = []
    row: list[bytes] = []
    for piece in [*pieces, None]:
        made = [] if piece is None else merge_all([bytes([byte]) for byte in piece], operations.words)
        if len(made) == 1 and made[0] in parts:
            row += made
        else:
            out += merge_all(row, operations.superwords) + made
            row = []
    return out
