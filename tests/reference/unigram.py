"""Encode as unigram models do, without merging: the slow twin of `_core.segment`.

Of all ways to cut a text into tokens, the one whose scores have the greatest sum counts. Rounding is part of the
result: sentencepiece adds scores in single precision over the whole text, tokenizers adds them in double precision
and anew in each piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reference.lattice import Candidate, Candidates, Lattice, float32
from reference.sentencepiece import NORMAL, USER_DEFINED, Processor

PENALTY = 10.0  # of an unknown character, below the lowest score
GREATEST = 3.4028234663852886e38  # number of single precision
RESET = 100_000  # a total beyond it is taken off all totals


@dataclass(frozen=True)
class Unigram(Processor):
    """Unigram model of sentencepiece. Its fields, offsets, byte fallback and decoding are those of a BPE model.

    >>> from reference.normalization import Normalizer
    >>> pieces, scores, types = ["<unk>", "▁", "a", "ab", "b"], [0, -1, -2, -2.5, -2], [2, 1, 1, 1, 1]
    >>> model = Unigram([piece.encode() for piece in pieces], scores, types, Normalizer())
    >>> model.encode(b"abxa"), model.n_best(b"aba", 2)
    ([1, 3, 0, 2], [[1, 3, 2], [1, 2, 4, 2]])
    """

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.pieces))

    @cached_property
    def _unknown_score(self) -> float:
        scores = [score for score, kind in zip(self.scores, self.types, strict=True) if kind == NORMAL]
        return float32(min(scores, default=GREATEST) - PENALTY)

    def merged(self, text: bytes) -> list[bytes]:
        """Return the texts of the tokens of a normalized text."""
        decoded = text.decode()
        path = best_path(decoded, self.candidates)
        return [decoded[candidate.begin : candidate.end].encode() for candidate in path]

    def candidates(self, text: str, begin: int, *, counts_bytes: bool = True) -> list[Candidate]:
        """List the candidates at an offset. A user-defined symbol scores by its number of bytes or characters."""
        found = []
        for end in range(begin + 1, min(len(text), begin + self._longest) + 1):
            token_id = self._ids.get(text[begin:end].encode())
            if token_id is None or self.types[token_id] not in (NORMAL, USER_DEFINED):
                continue
            score = self.scores[token_id]
            if self.types[token_id] == USER_DEFINED:
                length = len(self.pieces[token_id]) if counts_bytes else end - begin
                score = float32(0.1 * (length - 1))
            found.append(Candidate(begin, end, token_id, score))
        if not any(candidate.end == begin + 1 for candidate in found):
            found.append(Candidate(begin, begin + 1, self._unknown, self._unknown_score))
        return found

    def n_best(self, text: bytes, n: int) -> list[list[int]]:
        """Return the ids of the n best ways to cut a text, the best first."""
        if n <= 1:
            return [self.encode(text)]
        normalized = self.normalizer.normalize(text)[0].decode()
        if not normalized:
            return [[]]
        lattice = Lattice(normalized, lambda text, at: self.candidates(text, at, counts_bytes=False))
        return [self._ids_of(normalized, path) for path in lattice.n_best(n)]

    def _ids_of(self, text: str, path: list[Candidate]) -> list[int]:
        """Return the ids of a path. Unknown tokens in a row become one id, or with byte fallback their bytes."""
        ids: list[int] = []
        before = None
        for begin, end, token_id, _ in path:
            if token_id == self._unknown and self.byte_fallback:
                ids += [self._ids[b"<0x%02X>" % byte] for byte in text[begin:end].encode()]
            elif token_id != self._unknown or before != token_id:
                ids.append(token_id)
            before = token_id
        return ids


def best_path(text: str, candidates: Candidates) -> list[Candidate]:
    """Return the path of the greatest total. Of equal totals the first one found counts."""
    best: dict[int, Candidate] = {}  # last token of the best path to each offset
    totals = {0: 0.0}
    for begin in range(len(text)):
        if abs(totals[begin]) > RESET:
            offset = totals[begin]
            for reached in totals:
                if reached >= begin:
                    totals[reached] = float32(totals[reached] - offset)
        for candidate in candidates(text, begin):
            total, end = float32(totals[begin] + candidate.score), candidate.end
            if end not in totals or total > totals[end]:
                totals[end], best[end] = total, candidate
    return _backwards(best, len(text))


def _backwards(best: Mapping[int, Candidate], end: int) -> list[Candidate]:
    path: list[Candidate] = []
    while end:
        path.append(best[end])
        end = best[end].begin
    return path[::-1]


@dataclass(frozen=True)
class ScoredPieces:
    """Unigram model of tokenizers, which cuts one piece at a time.

    unknown: id of the unknown token; None: no unknown token.

    >>> ScoredPieces([("<unk>", 0.0), ("a", -1.5), ("aa", -3.5)], 0).encode("aaxxa")
    [(1, 0, 1), (1, 1, 2), (0, 2, 4), (1, 4, 5)]
    """

    pieces: Sequence[tuple[str, float]]
    unknown: int | None
    byte_fallback: bool = False

    def encode(self, text: str) -> list[tuple[int, int, int]]:
        """Return (id, begin, end) of each token. KeyError: there is no token for something."""
        ids = {piece: i for i, (piece, _) in enumerate(self.pieces)}  # of equal pieces the last one counts
        lowest = min((score for _, score in self.pieces), default=0.0)
        best: dict[int, Candidate] = {}
        totals = {0: 0.0}
        for begin in range(len(text)):
            found = [(end, ids.get(text[begin:end])) for end in range(begin + 1, len(text) + 1)]
            steps = [Candidate(begin, end, i, self.pieces[i][1]) for end, i in found if i is not None]
            if text[begin] not in ids:
                steps.append(Candidate(begin, begin + 1, -1, lowest - PENALTY))
            for step in steps:
                total = step.score + totals[begin]
                if step.end not in totals or total > totals[step.end]:
                    if step.id < 0 and self.unknown is None:
                        raise KeyError(text[begin])
                    totals[step.end], best[step.end] = total, step
        joined: list[tuple[bool, int, int]] = []  # unknown tokens in a row are one text
        for begin, end, token_id, _ in _backwards(best, len(text)):
            is_unknown = token_id in (-1, self.unknown)
            if is_unknown and joined and joined[-1][0]:
                begin = joined.pop()[1]
            joined.append((is_unknown, begin, end))
        return [(i, begin, end) for _, begin, end in joined for i in self._ids(ids, text[begin:end])]

    def _ids(self, ids: Mapping[str, int], token: str) -> list[int]:
        """Look up a text, its bytes, or the unknown token."""
        if token in ids:
            return [ids[token]]
        names = [f"<0x{byte:02X}>" for byte in token.encode()]
        if self.byte_fallback and all(name in ids for name in names):
            return [ids[name] for name in names]
        if self.unknown is None:
            raise KeyError(token)
        return [self.unknown]
