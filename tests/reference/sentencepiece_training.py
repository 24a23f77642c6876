"""Learn a code-point vocabulary as sentencepiece does: the slow twin of `fastbpe.training.codepoints`.

Text is normalized and cut into words, and the best pair merges everywhere, again and again. Differences from byte
mode: the text of a pair decides whether it may merge; a pair that was met once stays a candidate, even if it no
longer occurs; and of equally frequent pairs the one with the shortest text merges first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reference.lattice import float32
from reference.normalization import Normalizer
from reference.sentencepiece import NORMAL, Processor

METASPACE, OUTSIDE, BOUNDARY = "▁", "▅", "\x1f"
DIGITS = frozenset("0123456789０１２３４５６７８９")
NEVER_IN_A_PIECE = frozenset((OUTSIDE, BOUNDARY, "\0", " "))
ANY, INHERITED = -1, 1

Word = tuple[str, ...]
Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Options of training; those that are not explained here are sentencepiece's.

    Args:
        normalizer: without user-defined symbols.
        script: of a code point; INHERITED: the script of the character before it.
        symbols: pieces that no text can become: control and user-defined symbols, unknown, the names of bytes.

    >>> trainer = Trainer(normalizer=Normalizer(), script=lambda character: 2)
    >>> pieces = trainer.train([(b"ab ab abc", 1), (b"abcd ab", 1)], n_pieces=13)
    >>> " ".join(pieces)
    'ab ▁ab ▁abc ▁abcd bc cd ▁a abc a b ▁ c d'
    """

    normalizer: Normalizer
    script: Callable[[str], int]
    symbols: Sequence[str] = ()
    character_coverage: float = 0.9995
    required_chars: str = ""
    max_sentencepiece_length: int = 16
    split_by_unicode_script: bool = True
    split_by_whitespace: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    treat_whitespace_as_suffix: bool = False
    allow_whitespace_only_pieces: bool = False
    pretokenization_delimiter: str = ""
    left_out: dict[str, int] = field(default_factory=dict)  # set by train(): characters outside the alphabet

    def train(self, sentences: Iterable[tuple[bytes, int]], *, n_pieces: int) -> list[str]:
        """Return up to n_pieces pieces: merges in order, then the alphabet.

        sentences: (text, how often it occurs).
        """
        counts = Counter[str]()
        for sentence, count in sentences:
            counts[self.prepared(sentence)] += count
        alphabet = self.alphabet(counts)
        if len(alphabet) > n_pieces:
            raise ValueError(f"{len(alphabet)} characters, but only {n_pieces} pieces")
        known = set(alphabet)
        words = Counter[Word]()
        for sentence_text, count in counts.items():
            for word in self.words(sentence_text):
                words[tuple(c if c in known else OUTSIDE for c in word)] += count
        return self.merged(words, n_pieces - len(alphabet)) + alphabet

    def go_on(
        self, base: Processor, sentences: Iterable[tuple[bytes, int]], *, n_pieces: int, symbols: Sequence[str]
    ) -> list[str]:
        """Return up to n_pieces pieces of a model that extends another: merges in order, then characters.

        base: the model; its merges come first in every word.
        sentences: as for `train`.
        symbols: texts of the base that no merge may make.
        """
        counts = Counter[str]()
        for sentence, count in sentences:
            counts[self.prepared(sentence)] += count
        texts = {piece.decode() for piece in base.pieces}
        normal = {p.decode() for p, kind in zip(base.pieces, base.types, strict=True) if kind == NORMAL}
        new = [character for character in self.alphabet(counts) if character not in texts]
        if len(new) > n_pieces:
            raise ValueError(f"{len(new)} characters, but only {n_pieces} pieces")
        words = Counter[Word]()
        for sentence_text, count in counts.items():
            for word in self.words(sentence_text):
                parts = [part.decode() for part in base.merged(word.encode())]
                words[tuple(p if p in normal or p in new else OUTSIDE for p in parts)] += count
        return self.merged(words, n_pieces - len(new), known={*texts, *symbols}) + new

    def prepared(self, sentence: bytes) -> str:
        """Normalize a sentence, with a boundary wherever a symbol or the delimiter was."""
        text = self.normalizer.normalize(sentence)[0].decode()
        out, at = [], 0
        while at < len(text):
            symbol = max((s for s in self.symbols if text.startswith(s, at)), key=len, default="")
            out.append(BOUNDARY if symbol else text[at])
            at += len(symbol) or 1
        prepared = "".join(out)
        return prepared.replace(self.pretokenization_delimiter or BOUNDARY, BOUNDARY)

    def alphabet(self, counts: Mapping[str, int]) -> list[str]:
        """Return the required characters, then the most frequent ones, up to the share that is asked for."""
        characters = Counter[str]()
        for text, count in counts.items():
            for character in text:
                characters[character] += count
        del characters["\0"]
        total = sum(characters.values())
        if not total:
            raise ValueError("the sentences hold no characters")
        required = set(self.required_chars) - {"\0"}
        order = sorted({*characters, *required}, key=lambda c: (c not in required, -characters[c], c))
        alphabet, covered = [], 0
        for character in order:
            if float32(covered / total) >= float32(self.character_coverage):
                break
            covered += characters[character]
            if character != BOUNDARY:
                alphabet.append(character)
        self.left_out.update((c, characters[c]) for c in characters if c not in {*alphabet, BOUNDARY})
        return sorted(alphabet, key=lambda c: (-characters[c], c))

    def words(self, text: str) -> list[str]:
        """Cut a normalized text into words, which no merge crosses, each with its U+2581 before or after it."""
        words = []
        for at, character in enumerate(text):
            if at == 0 or self._word_begins(text[at - 1], character):
                words.append("")
            words[-1] += character
        return words

    def _word_begins(self, before: str, character: str) -> bool:
        if not self.split_by_whitespace or (
            self.allow_whitespace_only_pieces and before == character == METASPACE
        ):
            return False
        return (before if self.treat_whitespace_as_suffix else character) == METASPACE

    def is_piece(self, text: str) -> bool:
        """Tell whether a pair that makes this text may merge."""
        if len(text) > self.max_sentencepiece_length or not NEVER_IN_A_PIECE.isdisjoint(text):
            return False
        only_marks = self.allow_whitespace_only_pieces and set(text) == {METASPACE}
        before = ANY
        for at, character in enumerate(text):
            if character == METASPACE:
                if not only_marks and not self._mark_may_stand(at, len(text)):
                    return False
                continue
            script = self.script(character)
            script = before if script == INHERITED else script
            if character in DIGITS:
                if self.split_digits and len(text) > 1:
                    return False
                script = script if self.split_by_number else ANY
            if self.split_by_unicode_script and ANY not in (before, script) and before != script:
                return False
            before = script
        return True

    def _mark_may_stand(self, at: int, n: int) -> bool:
        if self.treat_whitespace_as_suffix:
            at = n - 1 - at
        return at == 0 if self.split_by_whitespace else n == 1 or at != n - 1

    def merged(self, words: Mapping[Word, int], n_merges: int, known: Collection[str] = ()) -> list[str]:
        """Return the texts of the pairs that merge, in order, without those that are known."""
        words = dict(words)
        candidates = {pair for word in words for pair in pairwise(word) if self.is_piece("".join(pair))}
        made: dict[str, None] = {}
        while len(made) < n_merges and candidates:
            counts = Counter[Pair]()
            for word, count in words.items():
                for pair in pairwise(word):
                    counts[pair] += count
            best = min(candidates, key=lambda pair: (-counts[pair], len("".join(pair)), "".join(pair)))
            candidates.remove(best)
            if "".join(best) in made or "".join(best) in known:
                continue
            made["".join(best)] = None
            merged = Counter[Word]()
            for word, count in words.items():
                merged[self._merge(word, best, candidates)] += count
            words = dict(merged)
        return list(made)

    def _merge(self, word: Word, pair: Pair, candidates: set[Pair]) -> Word:
        """Merge a pair in a word from left to right.

        Every new pair of neighbours becomes a candidate, even one that the next merge ends.
        """
        symbols, at = list(word), 0
        while at + 1 < len(symbols):
            if (symbols[at], symbols[at + 1]) == pair:
                symbols[at : at + 2] = ["".join(pair)]
                near = pairwise(symbols[max(at - 1, 0) : at + 2])
                candidates.update(new for new in near if self.is_piece("".join(new)))
            at += 1
        return tuple(symbols)
