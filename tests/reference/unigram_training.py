"""Learn a unigram vocabulary as sentencepiece does: the slow twin of `fastbpe.training.unigram`.

Training begins with many pieces, gives them scores, and drops the least useful ones, again and again. The scores
depend on the number of slots (num_threads), because counts are added in each slot first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reference.lattice import float32
from reference.sentencepiece_training import OUTSIDE, Trainer
from reference.unigram_learner import (
    Scored,
    Sentences,
    add_best,
    add_expected,
    by_number,
    in_slots,
    maximized,
    pruned,
    reachable,
    sum_of,
)

END = -1  # stands for the byte after the end of the text


@dataclass(frozen=True, kw_only=True)
class UnigramTrainer(Trainer):
    """Options of training, as `Trainer` has them, and those of unigram models.

    Args:
        vocab_size, n_symbols: number of pieces, and how many of them are not learned.
        seed_lines: lines of seed_sentencepieces_file: (piece, frequency).
        chunk_bytes: bytes of text that are searched for strings at a time.

    >>> from reference.normalization import Normalizer
    >>> trainer = UnigramTrainer(normalizer=Normalizer(), script=lambda character: 2, vocab_size=12, n_symbols=0)
    >>> for piece, score in trainer.learn([(b"low lower lowest", 2), (b"new newer newest", 2)])[:3]:
    ...     print(piece, round(score, 3))
    r -1.616
    ▁low -1.758
    ▁lowe -2.185
    """

    vocab_size: int
    n_symbols: int
    seed_sentencepiece_size: int = 1_000_000
    shrinking_factor: float = 0.75
    num_threads: int = 16
    num_sub_iterations: int = 2
    seed_lines: Sequence[tuple[str, int]] = ()
    chunk_bytes: int = 500 << 20

    def learn(self, sentences: Iterable[tuple[bytes, int]]) -> Scored:
        """Return the learned pieces, the best first. sentences: (text, how often it occurs)."""
        texts = [(self.prepared(sentence), count) for sentence, count in sentences]
        at = 0
        while at < len(texts):  # the last sentence takes the place of an empty one
            if texts[at][0]:
                at += 1
            else:
                texts[at] = texts[-1]
                texts.pop()
        counts = Counter[str]()
        for text, count in texts:
            counts[text] += count
        alphabet = self.alphabet(counts)
        if len(alphabet) + self.n_symbols > self.vocab_size:
            raise ValueError(
                f"{len(alphabet)} characters and {self.n_symbols} symbols: more than {self.vocab_size}"
            )
        known = {*alphabet}
        texts = [("".join(c if c in known else OUTSIDE for c in text), count) for text, count in texts]
        pieces = self.seeds(texts)
        if self.split_by_whitespace:
            words = Counter[str]()
            for text, count in texts:
                for word in self.words(text):
                    words[word] += count
            texts = by_number(words.items())
        most = int(self.vocab_size * 1.1)
        while True:
            for _ in range(self.num_sub_iterations):
                pieces = maximized(pieces, in_slots(pieces, texts, self.num_threads, add_expected))
            counted = in_slots(pieces, texts, self.num_threads, add_best)
            pieces = pruned(pieces, counted, most, self.shrinking_factor)
            if len(pieces) <= most:
                return self.final(reachable(pieces), alphabet)

    def seeds(self, texts: Sentences) -> Scored:
        """Return the pieces to begin with: all characters, then strings; with the logarithms of their shares."""
        characters = Counter[str]()
        for text, count in texts:
            for character in text:
                characters[character] += count
        del characters[OUTSIDE]
        found = [(character, float32(count)) for character, count in by_number(characters.items())]
        size = self.seed_sentencepiece_size or max(100_000, 8 * self.vocab_size)
        if self.seed_lines:
            for piece, frequency in self.seed_lines:
                if self.is_piece(piece) and piece not in dict(found) and len(found) < self.seed_sentencepiece_size:
                    found.append((piece, float32(frequency * len(piece))))
            found = by_number(found)
        else:
            found += self._strings(texts, size)
        log_sum = math.log(sum_of(score for _, score in found))
        return [(piece, float32(math.log(score) - log_sum)) for piece, score in found]

    def _strings(self, texts: Sentences, size: int) -> Scored:
        """Return up to `size` strings with their scores: counts times lengths."""
        counts: dict[str, int] = {}
        best: Scored = []
        for chunk in self._chunks(texts):
            for piece, count in self._counts(chunk).items():
                counts[piece] = counts.get(piece, 0) + count
            scored = [(piece, float32(float32(count) * len(piece))) for piece, count in counts.items()]
            best = sorted(scored, key=lambda item: (-item[1], -len(item[0].encode()), item[0]))
            if len(counts) > 16 * size:
                counts = {piece: counts[piece] for piece, _ in best[: 8 * size]}
        return best[:size]

    def _chunks(self, texts: Sentences) -> Iterator[bytes]:
        """Yield the sentences as often as they occur, each with a NUL. Copies beyond a full chunk are left out."""
        chunk = b""
        for text, count in texts:
            for _ in range(count):
                chunk += text.encode() + b"\0"
                if len(chunk) >= self.chunk_bytes:
                    yield chunk
                    chunk = b""
                    break
        if chunk:
            yield chunk

    def _counts(self, chunk: bytes) -> Counter[str]:
        """Count strings that two or more different bytes follow; a string may include the NUL of its sentence."""
        followers = defaultdict[bytes, list[int]](list)
        for begin in range(len(chunk)):
            if chunk[begin] == 0 or _is_inside(chunk[begin]):
                continue
            for end in range(begin + 1, min(begin + 4 * self.max_sentencepiece_length + 1, len(chunk)) + 1):
                following = chunk[end] if end < len(chunk) else END
                if not _is_inside(following):
                    followers[chunk[begin:end]].append(following)
                if chunk[end - 1] == 0:
                    break
        counts = Counter[str]()
        for string, following_bytes in followers.items():
            piece = string.rstrip(b"\0").decode()
            if len({*following_bytes}) > 1 and len(piece) > 1 and self.is_piece(piece):
                counts[piece] += len(following_bytes)
        return counts

    def final(self, pieces: Scored, alphabet: Sequence[str]) -> Scored:
        """Choose the pieces of the model: the alphabet, also characters that are no piece, then the best."""
        scores = dict(pieces)
        lowest, above = min(scores.values()), 0.0
        final: dict[str, float] = {}
        for character in alphabet:
            final[character] = scores.get(character, float32(lowest + above))
            above = above if character in scores else float32(above + float32(0.0001))
        others = [item for item in by_number(pieces) if item[0] not in final]
        return by_number([*final.items(), *others[: self.vocab_size - self.n_symbols - len(final)]])


def _is_inside(byte: int) -> bool:
    """Tell whether a byte continues a character."""
    return byte & 0xC0 == 0x80
