"""Byte-pair encoding for learners: slow plain Python that can print each step in colours.

>>> encoding = SimpleBytePairEncoding.from_tiktoken(Encoding(
...     "small", pat_str=r"\\w+|\\W+", special_tokens={},
...     mergeable_ranks={bytes([i]): i for i in range(256)} | {b"he": 256, b"hel": 257},
... ))
>>> encoding.encode("help", visualise="simple")
[b'h', b'e', b'l', b'p']
[b'he', b'l', b'p']
[b'hel', b'p']
<BLANKLINE>
[257, 112]
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from fastbpe.errors import TrainingError
from fastbpe.model import N_BYTES
from fastbpe.splitting import make_splitter
from fastbpe.tiktoken.core import Encoding
from fastbpe.tiktoken.registry import get_encoding

_BACKGROUNDS = (167, 179, 185, 77, 80, 68, 134)  # numbers of xterm's 256 colours
_COLOURS = ("colour", "color")
_SHOWN_WORDS = {"colour": 50, "color": 50, "simple": 20}


class SimpleBytePairEncoding:
    """Split pattern and ranks, without special tokens.

    The argument visualise of its methods: "colour" prints each step with tokens on coloured backgrounds, "simple"
    prints lists, None prints nothing.
    """

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        self.pat_str = pat_str
        self.mergeable_ranks = mergeable_ranks
        self._decoder = {rank: token for token, rank in mergeable_ranks.items()}

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """Encode a text."""
        ids: list[int] = []
        for word in _words(self.pat_str, text):
            ids += bpe_encode(self.mergeable_ranks, word, visualise=visualise)
        return ids

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """Decode ids to bytes. Raises KeyError for an id that is not a token."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """Decode ids to text; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """Return the bytes of each id. Raises KeyError for an id that is not a token."""
        return [self._decoder[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Learn ranks from a text, as `bpe_train` does, and print the steps in colours."""
        ranks = bpe_train(training_data, vocab_size, pat_str)
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=ranks)

    @staticmethod
    def from_tiktoken(encoding: Encoding | str) -> SimpleBytePairEncoding:
        """Create an encoding with the ranks and pattern of an Encoding, given as an object or by name."""
        if isinstance(encoding, str):
            encoding = get_encoding(encoding)
        return SimpleBytePairEncoding(pat_str=encoding._pat_str, mergeable_ranks=encoding._mergeable_ranks)


def bpe_encode(mergeable_ranks: dict[bytes, int], input: bytes, visualise: str | None = "colour") -> list[int]:
    """Encode one word: merge the pair with the lowest rank (the leftmost of equals) until no pair is a token."""
    parts = [bytes([byte]) for byte in input]
    while True:
        _show(parts, visualise)
        ranked = [
            (mergeable_ranks[left + right], place)
            for place, (left, right) in enumerate(pairwise(parts))
            if left + right in mergeable_ranks
        ]
        if not ranked:
            break
        _, place = min(ranked)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    if visualise:
        print()
    return [mergeable_ranks[part] for part in parts]


def bpe_train(data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour") -> dict[bytes, int]:
    """Learn ranks from a text: the most frequent pair (the first of equally frequent ones) becomes the next token.

    Raises:
        ValueError: vocab_size is below 256, or the pairs run out before vocab_size is reached.
    """
    if vocab_size < N_BYTES:
        raise TrainingError(f"vocab_size={vocab_size}: must be at least {N_BYTES}, because each byte is a token")
    ranks = {bytes([byte]): byte for byte in range(N_BYTES)}
    words = [[bytes([byte]) for byte in word] for word in _words(pat_str, data)]
    while len(ranks) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            raise TrainingError(
                f"no pair is left after {len(ranks)} tokens: train on more text, or lower vocab_size"
            )
        best = max(counts, key=counts.__getitem__)
        ranks[b"".join(best)] = len(ranks)
        words = [_merged(word, best) for word in words]
        if visualise:
            print(f"{best[0]!r} and {best[1]!r} stand together {counts[best]} times: token {len(ranks) - 1}")
            shown = words[: _SHOWN_WORDS.get(visualise, 0)]
            if visualise in _COLOURS:
                visualise_tokens([token for word in shown for token in word])
            else:
                for word in shown:
                    _show(word, visualise)
            print()
    return ranks


def visualise_tokens(token_values: list[bytes]) -> None:
    """Print tokens in one line, neighbours on different backgrounds."""
    out, last, n_characters = [], -1, 0
    for token in token_values:
        text = token.decode(errors="replace")
        chosen = n_characters % len(_BACKGROUNDS)
        if chosen == last:
            chosen = (chosen + 1) % len(_BACKGROUNDS)
        out.append(f"\x1b[48;5;{_BACKGROUNDS[chosen]}m{text}")
        last = chosen
        n_characters += len(text)
    print("".join(out) + "\x1b[0m")


def train_simple_encoding() -> SimpleBytePairEncoding:
    """Learn 600 tokens from this module's own text, and show how they encode "hello world"."""
    with open(__file__, encoding="utf-8") as file:
        encoding = SimpleBytePairEncoding.train(file.read(), vocab_size=600, pat_str=_WORDS)
    print("How 'hello world' is merged:")
    encoding.encode("hello world")
    return encoding


_WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


def _words(pattern: str, text: str) -> list[bytes]:
    data = text.encode()
    return [data[start:end] for start, end in make_splitter(pattern, drop_unmatched=True).pieces(data)]


def _merged(word: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    out, place = [], 0
    while place < len(word):
        n = 2 if tuple(word[place : place + 2]) == pair else 1
        out.append(b"".join(word[place : place + n]))
        place += n
    return out


def _show(tokens: list[bytes], visualise: str | None) -> None:
    if visualise in _COLOURS:
        visualise_tokens(tokens)
    elif visualise == "simple":
        print(tokens)
