r"""rustbpe's Tokenizer over fastbpe: `import fastbpe.rustbpe as rustbpe`.

Merges, ranks and ids equal rustbpe 0.1.0's. Training counts in threads and reads the iterator once.

>>> tokenizer = Tokenizer()
>>> tokenizer.train_from_iterator(["low lower lowest", "new newer"], vocab_size=260)
>>> tokenizer.encode("lower newer")
[256, 257, 114, 32, 259, 257, 114]
>>> tokenizer.get_mergeable_ranks()[256:]
[(b'lo', 256), (b'we', 257), (b' lo', 258), (b'ne', 259)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import SupportsIndex

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.train.byte_learner import Learner
from fastbpe._utils.caching import cached_property
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.errors import FastbpeError, InvalidTokenError, PatternError, TrainingError
from fastbpe.model import N_BYTES
from fastbpe.patterns import GPT4_SPLIT_PATTERN
from fastbpe.splitting import make_splitter
from fastbpe.training.document_counting import count_texts

__all__ = ["Tokenizer"]

_MAX_U32 = (1 << 32) - 1  # greatest id and vocab_size of rustbpe

Pair = tuple[int, int]


class UnknownIdError(InvalidTokenError, ValueError):
    """Error for an id that is not a token: a ValueError, as rustbpe raises."""


class NotUtf8Error(FastbpeError, UnicodeDecodeError, TypeError):
    """Error for ids whose bytes are not UTF-8. Also a TypeError: rustbpe 0.1.0 raises one by mistake."""


class Tokenizer:
    """Tokenizer that learns from an iterator of texts: the class of rustbpe.

    Text that the split pattern does not match is left out. Before the first training there is no pattern, and
    `encode` returns no ids.

    >>> tokenizer = Tokenizer()
    >>> tokenizer.train_from_iterator(["the cat", "the mat"], vocab_size=258)
    >>> tokenizer.get_mergeable_ranks()[256:]
    [(b'at', 256), (b'he', 257)]
    """

    __slots__ = ("_learned",)

    def __init__(self) -> None:
        self._learned = _Learned("", [])

    def train_from_iterator(
        self,
        iterator: Iterable[str],
        vocab_size: SupportsIndex,
        buffer_size: SupportsIndex = 8192,
        pattern: str | None = None,
    ) -> None:
        r"""Learn merges from texts. Of equally frequent pairs, the one with the smaller ids merges first.

        A call that raises an error leaves the tokenizer unchanged.

        Args:
            iterator: iterable of str – texts; each is read once, and only a few are in memory at a time.
            vocab_size: int – 256 plus the number of merges to learn; fewer are learned if the pairs run out.
            buffer_size: int, 1 or more – number of texts that rustbpe reads at a time. Checked, but has no effect
                here.
            pattern: str or None – regex whose matches are the pieces; None: GPT-4's.

        Raises:
            ValueError: vocab_size is below 256 (rustbpe panics), buffer_size is 0 (rustbpe never returns), or the
                pattern cannot be used or may match the empty text (rustbpe allows this).
            TypeError: an argument or a text has the wrong type.
            UnicodeEncodeError: a text contains a surrogate.
            OverflowError: vocab_size is negative or beyond 32 bits, or buffer_size is negative.

        >>> tokenizer = Tokenizer()
        >>> tokenizer.train_from_iterator(iter(["one one two"]), 258, pattern=r"\w+")
        >>> tokenizer.vocab_size, tokenizer.encode("one two!")
        (258, [257, 116, 119, 111])
        """
        size = _checked("vocab_size", vocab_size, _MAX_U32)
        if _checked("buffer_size", buffer_size) == 0:
            raise ValueError("buffer_size=0: no text would ever be read; it must be at least 1")
        if pattern is not None and not isinstance(pattern, str):
            raise TypeError(f"argument 'pattern': {_type_name(pattern)!r} object cannot be cast as 'str'")
        pattern = GPT4_SPLIT_PATTERN if pattern is None else str(pattern)
        try:
            splitter = make_splitter(pattern, drop_unmatched=True)
        except PatternError as error:
            raise PatternError(f"Invalid regex pattern: {error}") from None
        if size < N_BYTES:
            raise TrainingError(f"vocab_size must be at least {N_BYTES}, for the single bytes; it is {size}")
        texts = (_as_utf8(text) for text in iterator)
        reading = ReadingOptions()
        counter, _ = count_texts(texts, splitter, special=None, reading=reading, report=lambda n_bytes: None)
        learner = Learner(counter, max_ids=size)
        learner.learn()
        self._learned = _Learned(pattern, [(left, right) for left, right, _ in learner.merges()])

    def get_pattern(self) -> str:
        """Return the split pattern; "" before the first training.

        >>> Tokenizer().get_pattern()
        ''
        """
        return self._learned.pattern

    @property
    def vocab_size(self) -> int:
        """Return the number of ids: 256 bytes and the merges.

        >>> Tokenizer().vocab_size
        256
        """
        return N_BYTES + len(self._learned.merges)

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """Return (bytes, id) of each token, in the order of ids.

        >>> Tokenizer().get_mergeable_ranks()[97]
        (b'a', 97)
        """
        return [(token, rank) for rank, token in enumerate(self._learned.tokens)]

    def encode(self, text: str) -> list[int]:
        """Encode a text.

        Raises:
            TypeError: text is not a str.
            UnicodeEncodeError: text contains a surrogate.

        >>> Tokenizer().encode("text")
        []
        """
        return self._learned.encode(_as_utf8(text, "argument 'text': "))

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode each of several texts as `encode` does, in threads.

        Raises:
            TypeError: texts is not a sequence, or one of them is not a str.
            UnicodeEncodeError: a text contains a surrogate.

        >>> Tokenizer().batch_encode(["one", "two"])
        [[], []]
        """
        _check_sequence("texts", texts)
        return self._learned.encode_batch([_as_utf8(text, "argument 'texts': ") for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text.

        Raises:
            ValueError: an id is not a token.
            UnicodeDecodeError: the bytes of the ids are not UTF-8; also a TypeError, as rustbpe 0.1.0 raises.
            OverflowError: an id is negative or beyond 32 bits.
            TypeError: ids is not a sequence of integers.

        >>> Tokenizer().decode([104, 105])
        'hi'
        """
        _check_sequence("ids", ids)
        if isinstance(ids, (bytes, bytearray)):
            ids = list(ids)  # ids, as in rustbpe; the decoder refuses bytes
        try:
            return self._learned.decoder.decode(ids, "strict")
        except UnicodeDecodeError as error:
            raise NotUtf8Error(*error.args) from None
        except InvalidTokenError:
            raise self._unknown(ids) from None

    def _unknown(self, ids: Sequence[int]) -> Exception:
        """Return the error for the first id beyond 32 bits, or else for the first id that is not a token."""
        for number in map(index, ids):
            if not 0 <= number <= _MAX_U32:
                return OverflowError(f"id {number} is not an unsigned 32-bit integer")
        return UnknownIdError(f"Unknown token id: {next(n for n in map(index, ids) if n >= self.vocab_size)}")

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[type[Tokenizer], str, list[Pair]]]:
        return _restored, (type(self), self._learned.pattern, self._learned.merges)


class _Learned:
    """A pattern and the merges that were learned with it; they never change.

    pattern: regex; "": no pattern, so no piece is found.
    merges: pairs of ids, in the order of learning.
    """

    def __init__(self, pattern: str, merges: list[Pair]) -> None:
        self.pattern, self.merges = pattern, merges

    @cached_property
    def tokens(self) -> list[bytes]:
        tokens = [bytes([byte]) for byte in range(N_BYTES)]
        for left, right in self.merges:
            tokens.append(tokens[left] + tokens[right])
        return tokens

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        listed = [(left, right, N_BYTES + i) for i, (left, right) in enumerate(self.merges)]
        tables = build_tables(self.tokens, listed)
        return Vocabulary(**tables, whole_piece_first=False, drops_bytes=False)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self._vocabulary, make_splitter(self.pattern, drop_unmatched=True))

    @cached_property
    def decoder(self) -> Decoder:
        return Decoder(self._vocabulary, [], takes_bools=True)

    def encode(self, text: str | bytes) -> list[int]:
        return self._encoder.encode_ordinary(text) if self.pattern else []

    def encode_batch(self, texts: list[str | bytes]) -> list[list[int]]:
        return self._encoder.encode_ordinary_batch(texts) if self.pattern else [[] for _ in texts]


def _restored(cls: type[Tokenizer], pattern: str, merges: list[Pair]) -> Tokenizer:
    """Restore the tokenizer from a pickle."""
    tokenizer = cls()
    tokenizer._learned = _Learned(pattern, merges)
    return tokenizer


def _checked(name: str, value: SupportsIndex, most: int | None = None) -> int:
    """Return an argument as an integer from 0 to `most`; None: no maximum.

    Raises OverflowError for another integer, TypeError for anything else.
    """
    try:
        number = index(value)
    except TypeError as error:
        raise TypeError(f"argument {name!r}: {error}") from None
    if number < 0 or (most is not None and number > most):
        limit = "of 0 or more" if most is None else f"from 0 to {most}"
        raise OverflowError(f"{name}={number} is out of range: it must be an integer {limit}")
    return number


def _as_utf8(text: str, place: str = "") -> str | bytes:
    """Return a text without surrogates, in the form that the encoder accepts.

    Raises:
        TypeError: text is not a str; the message begins with `place`.
        UnicodeEncodeError: text contains a surrogate.
    """
    if not isinstance(text, str):
        raise TypeError(f"{place}{_type_name(text)!r} object cannot be cast as 'str'")
    return text if text.isascii() else text.encode()


def _check_sequence(name: str, value: object) -> None:
    if isinstance(value, str):
        raise TypeError(f"argument {name!r}: a str is not a list; pass a list")
    if not hasattr(value, "__getitem__") or isinstance(value, Mapping):
        raise TypeError(f"argument {name!r}: {_type_name(value)!r} object cannot be cast as 'Sequence'")


def _type_name(value: object) -> str:
    return type(value).__name__
