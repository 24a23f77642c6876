"""Encoding: tiktoken's class over fastbpe's core."""

from __future__ import annotations

from functools import partial
from itertools import chain
from struct import Struct

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.completions import Completions, last_piece
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.merge.table_builder import build_look_ups, build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.utf8_text import n_valid, plain, to_utf8
from fastbpe._utils.caching import cached_property
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import CheckError, InvalidTokenError, MissingByteError, SpecialTokenError, VocabularyError
from fastbpe.model import Buffer, Model
from fastbpe.splitting import make_splitter
from fastbpe.tiktoken._encoding_methods import Methods, ranks_of_tables, tokens_by_rank
from fastbpe.tokenizer.special_token_rules import SpecialTokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set
    from typing import Any, ClassVar, Literal, NoReturn

    Allowed = Literal["all"] | Set[str]
    Disallowed = Literal["all"] | Iterable[str] | None

_BYTE = Struct("B")
_BLANKS = b" \n\t"  # bytes of tokens that tiktoken counts as white space in `_n_unstable`
_EVERY = "enc.special_tokens_set"  # expression for all special tokens, in errors
_IDS_PER_CHECK = 1 << 16  # ids that are checked in one call of max()
_LISTS_PER_CHECK = 1 << 6  # lists of ids that are checked in one call of `_check`


class Encoding(Methods):
    r"""Vocabulary with its split pattern and special tokens: tiktoken's class.

    Args:
        name: name in the repr. A registered encoding is pickled by its name.
        pat_str: regex that splits text into pieces; text that it does not match is left out.
        mergeable_ranks: bytes of each ordinary token → rank, which is also its id. Text with a byte that no token
            covers cannot be encoded. No text is encoded to the empty token; it decodes to nothing.
        special_tokens: text of each special token → id. If several special tokens share an id, it decodes to the
            first of them.
        explicit_n_vocab: required number of tokens, special ones included; their ids must then not repeat or have
            gaps. None: any number.

    Raises:
        ValueError: bad ranks, special tokens or pattern; the message says which.
        AssertionError: the number of tokens is not explicit_n_vocab, or their ids have gaps or repeat.

    >>> ranks = {bytes([i]): i for i in range(256)} | {b"he": 256, b"hel": 257}
    >>> encoding = Encoding("small", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<|end|>": 258})
    >>> encoding.encode("help<|end|>", allowed_special="all")
    [257, 112, 258]
    >>> encoding.decode([257, 112])
    'help'
    """

    #: fastbpe's class of this encoding: `Encoding` or `_PartialEncoding`. Its methods are called where tiktoken
    #: calls its core, which knows no overrides. An override is a method of the type that differs from this one's.
    _own: ClassVar[type[Encoding]]

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        if not isinstance(pat_str, str):
            raise TypeError(f"pat_str must be a regex as a str, not {type(pat_str).__name__}")
        empty = mergeable_ranks.get(b"")
        ranks = mergeable_ranks if empty is None else {t: rank for t, rank in mergeable_ranks.items() if t}
        tokens = tokens_by_rank(ranks)
        if empty is not None and (empty < 0 or (empty < len(tokens) and tokens[empty])):
            raise VocabularyError(f"the empty token has the rank {empty}, which is negative or another token's")
        self._mergeable_ranks = mergeable_ranks
        self._set_up(name, pat_str, build_tables(tokens), special_tokens, empty, _missing_bytes(ranks))
        if explicit_n_vocab:  # 0 means none, as in tiktoken
            _check_size(explicit_n_vocab, len(mergeable_ranks) + len(special_tokens), self.max_token_value)

    @classmethod
    def _of_model(cls, model: Model) -> Encoding:
        """Create the encoding for a model that has ranks, a name, one pattern and ready-made tables."""
        assert model.tables is not None
        assert isinstance(model.name, str)
        assert isinstance(model.pattern, str)
        self = cls.__new__(cls)
        tables = build_look_ups(model.tables["token_bytes"], model.tables["token_ends"])
        self._set_up(model.name, model.pattern, tables, dict(model.special_tokens))
        return self

    def _set_up(
        self,
        name: str,
        pat_str: str,
        tables: Mapping[str, Buffer],
        special_tokens: dict[str, int],
        empty: int | None = None,
        missing: Sequence[bytes] = (),
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._special_tokens = special_tokens
        self._special_token_values = set(special_tokens.values())
        self._vocabulary = Vocabulary(**tables, whole_piece_first=True, drops_bytes=bool(missing))
        self._empty = empty
        self.max_token_value = max(
            self._vocabulary.n_ids - 1, max(special_tokens.values(), default=0), -1 if empty is None else empty
        )
        self._splitter = make_splitter(pat_str, drop_unmatched=True)
        self._special_matchers = SpecialTokens(special_tokens, self._vocabulary, may_share=True, every=_EVERY)
        of_empty = [] if empty is None else [(empty, b"")]
        not_ordinary = [*of_empty, *self._special_matchers.not_ordinary]
        decoder = Decoder(self._vocabulary, not_ordinary, joins=empty is not None, takes_bools=True)
        #: The vocabulary that merges: with tokens for the missing bytes, which `_vocabulary` lacks.
        self._merging = self._vocabulary
        if missing:
            self.__class__ = _partial(type(self))  # the same methods, with a check; __init__ stores its `_own`
            self._merging = _with_bytes(self._vocabulary, missing, self.n_vocab)
        super().__init__(self._merging, self._splitter, decoder, self._special_matchers)

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        tables = self._vocabulary.sections()
        return ranks_of_tables(bytes(tables["token_bytes"]), bytes(tables["token_ends"]))

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # Encoding. The methods that are called most are in Methods.

    def encode_with_unstable(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Encode the beginning of a text that may continue.

        Args:
            text, allowed_special, disallowed_special: as in `encode`.

        Returns:
            (stable ids, completions): no continuation of the text changes the stable ids. Each completion is a
            list of ids that may follow them; its bytes begin with the rest of the text and may continue it.

        Raises:
            ValueError: as in `encode`.
        """
        own = self._own
        ids = own.encode(self, text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        data = to_utf8(text)
        allowed, _ = self._special_matchers.choose(allowed_special, ())
        last = last_piece(self._splitter, allowed, data)
        n = self._n_unstable(ids, last)
        return (ids[:-n], self._completions.of(own.decode_bytes(self, ids[-n:]))) if n else (ids, [])

    @cached_property
    def _completions(self) -> Completions:
        return Completions(self._merging, self._splitter)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of the ordinary or special token that equals a text.

        Args:
            text_or_bytes: str, or bytes.

        Raises:
            KeyError: there is no such token.
            TypeError: text_or_bytes is neither str nor bytes.
            UnicodeEncodeError: a str has a surrogate.
        """
        found = None
        if type(text_or_bytes) is bytes:  # the common types first
            found = self._vocabulary.find(text_or_bytes)
        elif type(text_or_bytes) is str:
            found = self._vocabulary.find(text_or_bytes if text_or_bytes.isascii() else text_or_bytes.encode())
        if found is not None:
            return found
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(token, bytes):
            raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
        token = plain(token)
        found = self._vocabulary.find(token) if token else self._empty
        if found is None:
            found = self._special_matchers.ids_of_bytes.get(token)
        if found is None:
            raise InvalidTokenError(token)
        return found

    # Properties

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all ordinary tokens, sorted by their bytes."""
        return list(self._sorted_tokens)

    @cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """Return the id of `<|endoftext|>`.

        Raises:
            KeyError: there is no such token.
        """
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """Return the texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Tell whether an id belongs to a special token. Raises AssertionError if it is not an int."""
        if type(token) is not int and not isinstance(token, int):
            raise CheckError(f"an id is an int, not {type(token).__name__}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """Return the greatest id plus one."""
        return self.max_token_value + 1

    # Private methods of tiktoken that programs use

    def _encode_single_piece(self, text_or_bytes: str | Buffer) -> list[int]:
        if self._empty is not None and len(text_or_bytes) == 0:
            return [self._empty]
        return super()._encode_single_piece(text_or_bytes)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self._own.encode_ordinary(self, text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Encode bytes that need not be UTF-8.

        The bytes from the first invalid byte on are one piece, together with the bytes of the ids before them that
        `_n_unstable` counts.
        """
        if not isinstance(text, bytes):
            raise TypeError(f"expected bytes, not {type(text).__name__}")
        own, text = self._own, plain(text)
        sound = text[: n_valid(text)]
        ids = own.encode_ordinary(self, sound)
        if len(sound) == len(text):
            return ids
        last = last_piece(self._splitter, None, sound)
        n_stable = len(ids) - self._n_unstable(ids, last)
        rest = own.decode_bytes(self, ids[n_stable:]) + text[len(sound) :]
        return ids[:n_stable] + own._encode_single_piece(self, rest)

    def _n_unstable(self, ids: Sequence[int], last: bytes) -> int:
        """Count the last ids of a text that may change when text is added to it. last: bytes of its last piece.

        As in tiktoken, these are the ids of the last piece, and, if its first token is white space, the ids of the
        white space before it: if text follows, patterns cut a run of white space elsewhere.
        """
        token, special = partial(self._own.decode_single_token_bytes, self), self._special_token_values
        n = n_bytes = 0
        while n_bytes < len(last):
            n += 1
            n_bytes += len(token(ids[-n]))
        if n and not token(ids[-n]).strip(_BLANKS):
            while n < len(ids) and ids[-n - 1] not in special and not token(ids[-n - 1]).strip(_BLANKS):
                n += 1
        return n

    @cached_property
    def _core_bpe(self) -> CoreBPE:
        """Counterpart of tiktoken's `Encoding._core_bpe`, with the same methods and arguments."""
        return CoreBPE(self._mergeable_ranks, self._special_tokens, self._pat_str, _of=self)

    # Pickling

    @staticmethod
    def _made_by_name(encoding: Encoding) -> Callable[[str], Encoding] | None:
        """Return a function from a name to the registered encoding; None if this encoding is not registered.

        The registry replaces this method.
        """
        return None

    @staticmethod
    def _by_name(name: str) -> Encoding:
        """Return the registered encoding of a name. The registry replaces this method."""
        raise VocabularyError(f"no encoding is registered as {name!r}")

    def __setstate__(self, state: str | dict[str, Any]) -> None:
        """Restore a pickle that tiktoken wrote, if this class replaces tiktoken's class.

        Args:
            state: name of a registered encoding, or the arguments of `__init__`.
        """
        if isinstance(state, str):
            state = self._by_name(state)._arguments()
        Encoding.__init__(self, **state)

    def _arguments(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __reduce__(self) -> tuple[Callable[..., Encoding], tuple[Any, ...]]:
        by_name = self._made_by_name(self)
        if by_name is not None:
            return by_name, (self.name,)
        return _with_arguments, (getattr(type(self), "_whole", type(self)), self._arguments())


class _PartialEncoding(Encoding):
    """Encoding in which some bytes have no token. In its core, they have tokens with ids beyond all others."""

    def _check(self, ids: Sequence[int]) -> None:
        """Raise MissingByteError if an id is the core's id of a missing byte."""
        # In parts: one call of max() for millions of ids would stop all other threads.
        starts = range(0, len(ids), _IDS_PER_CHECK)
        greatest = max((max(ids[start : start + _IDS_PER_CHECK]) for start in starts), default=0)
        if greatest >= self.n_vocab:
            missing = self._merging.tokens()[greatest]
            raise MissingByteError(
                f"the text contains the byte 0x{missing[0]:02x}, which is not a token of {self.name!r}; add all "
                "256 single bytes to mergeable_ranks"
            )

    def _check_all(self, batch: list[list[int]]) -> None:
        for start in range(0, len(batch), _LISTS_PER_CHECK):
            self._check([*chain.from_iterable(batch[start : start + _LISTS_PER_CHECK])])

    def encode_ordinary(self, text: str | bytes) -> list[int]:  # type: ignore[override]
        ids = super().encode_ordinary(text)
        self._check(ids)
        return ids

    def encode(self, text: str | bytes, **options: Any) -> list[int]:
        ids = super().encode(text, **options)
        self._check(ids)
        return ids

    def _encode_to_buffer(self, *arguments: Any) -> Array:
        array = super()._encode_to_buffer(*arguments)
        self._check(memoryview(array))
        return array

    def encode_ordinary_batch(  # type: ignore[override]
        self, text: Iterable[str | bytes], **options: Any
    ) -> list[list[int]]:
        batch = super().encode_ordinary_batch(text, **options)
        if not self._is_replaced("encode_ordinary"):  # an override gets its ids from a method that checks them
            self._check_all(batch)
        return batch

    def encode_batch(self, text: Iterable[str | bytes], **options: Any) -> list[list[int]]:  # type: ignore[override]
        batch = super().encode_batch(text, **options)
        if not self._is_replaced("encode"):  # an override gets its ids from a method that checks them
            self._check_all(batch)
        return batch

    def _encode_single_piece(self, text_or_bytes: str | Buffer) -> list[int]:
        ids = super()._encode_single_piece(text_or_bytes)
        self._check(ids)
        return ids

    def encode_with_unstable(
        self, text: str, *, allowed_special: Allowed = frozenset(), disallowed_special: Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        ids, completions = super().encode_with_unstable(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        return ids, [found for found in completions if max(found) < self.n_vocab]


Encoding._own, _PartialEncoding._own = Encoding, _PartialEncoding


def _partial(kind: type[Encoding]) -> type[Encoding]:
    """Return a class with the methods of `kind` for an encoding in which some bytes have no token.

    Pickles refer to `kind`, by the attribute `_whole`, because the class has no name in a module.
    """
    if kind is Encoding:
        return _PartialEncoding
    if issubclass(kind, _PartialEncoding):  # of an object whose __init__ is called again
        return kind
    return type(kind.__name__, (kind, _PartialEncoding), {"__module__": kind.__module__, "_whole": kind})


def _missing_bytes(ranks: Mapping[bytes, int]) -> list[bytes]:
    return [byte for byte in map(_BYTE.pack, range(256)) if byte not in ranks]


def _with_bytes(vocabulary: Vocabulary, missing: Sequence[bytes], first: int) -> Vocabulary:
    """Return a vocabulary with added tokens for the missing bytes; their ids begin at `first`.

    Merging needs an id for each byte: tiktoken also merges bytes that have no rank.
    """
    tokens = vocabulary.tokens()
    tokens += [b""] * (first - len(tokens)) + [*missing]
    return Vocabulary(**build_tables(tokens), whole_piece_first=True, drops_bytes=False)


class CoreBPE:
    """Counterpart of tiktoken's CoreBPE (`Encoding._core_bpe`), with the same methods and arguments."""

    def __init__(
        self,
        encoder: dict[bytes, int],
        special_tokens_encoder: dict[str, int],
        pattern: str,
        *,
        _of: Encoding | None = None,
    ) -> None:
        self._encoding = _of or Encoding(
            "", pat_str=pattern, mergeable_ranks=encoder, special_tokens=special_tokens_encoder
        )
        self._own = self._encoding._own

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode a text in which special tokens are plain text."""
        return self._own.encode_ordinary(self._encoding, text)

    def encode(self, text: str, allowed_special: Set[str]) -> list[int]:
        """Encode a text; special tokens that are not allowed are plain text."""
        return self._own.encode(
            self._encoding, text, allowed_special=_as_set(allowed_special), disallowed_special=()
        )

    def encode_to_tiktoken_buffer(self, text: str, allowed_special: Set[str]) -> Array:
        """Encode a text as `encode` does, into an array of uint32 with the buffer protocol."""
        return self._own._encode_to_buffer(self._encoding, text, _as_set(allowed_special), ())

    def encode_with_unstable(self, text: str, allowed_special: Set[str]) -> tuple[list[int], list[list[int]]]:
        """See `Encoding.encode_with_unstable`."""
        allowed = _as_set(allowed_special)
        return self._own.encode_with_unstable(self._encoding, text, allowed_special=allowed, disallowed_special=())

    def encode_single_token(self, piece: bytes) -> int:
        """See `Encoding.encode_single_token`."""
        return self._own.encode_single_token(self._encoding, piece)

    def encode_single_piece(self, piece: bytes) -> list[int]:
        """Encode bytes as one piece, without splitting them."""
        return self._own._encode_single_piece(self._encoding, piece)

    def _encode_bytes(self, bytes: bytes) -> list[int]:
        return self._own._encode_bytes(self._encoding, bytes)

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Decode ids to bytes."""
        return self._own.decode_bytes(self._encoding, tokens)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id."""
        return self._own.decode_single_token_bytes(self._encoding, token)

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all ordinary tokens, sorted by their bytes."""
        return self._own.token_byte_values(self._encoding)


def _as_set(allowed_special: Set[str]) -> Set[str]:
    """Return the argument of a method of CoreBPE, which, unlike Encoding, does not know "all"."""
    if not isinstance(allowed_special, (set, frozenset)):
        raise TypeError(f"allowed_special={short_repr(allowed_special)}: pass a set, such as {_EVERY}")
    return allowed_special


def _with_arguments(cls: type[Encoding], arguments: dict[str, Any]) -> Encoding:
    return cls(**arguments)


def _check_size(expected: int, n_tokens: int, greatest: int) -> None:
    if n_tokens != expected:
        raise CheckError(
            f"explicit_n_vocab={expected} is not {n_tokens}, the number of tokens, special ones included"
        )
    if greatest != expected - 1:
        raise CheckError(
            f"explicit_n_vocab={expected}, but the greatest id is {greatest}: ids have gaps or repeat"
        )


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the ValueError for a text that contains a disallowed special token."""
    raise SpecialTokenError.disallowed(token, _EVERY)
