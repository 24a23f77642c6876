"""Facts about a tokenizer that the functions of this folder need, in the same form for all modes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.arguments import not_a_tokenizer
from fastbpe._utils.caching import cached_property
from fastbpe.patterns import Pattern


class Kind(Enum):
    """Kind of an id: the step that produces it from text."""

    TEXT = "text"  # merging makes it, or it is a piece as a whole
    NAME = "name"  # found by its name: special tokens, added tokens, user-defined symbols
    BYTE = "byte"  # represents a byte of a character that has no piece (byte fallback)
    UNKNOWN = "unknown"  # represents a character that has no piece
    UNUSED = "unused"  # a piece that merging passes through and that is split again
    NONE = "none"  # the id has no token


@dataclass(frozen=True)
class Material:
    """Tokens of a tokenizer, and the tables that merge them.

    tokens: list of bytes – token of each id, as it appears in a text; b"" for ids without a token.
    kinds: list of Kind – kind of each id.
    names: id → text by which a token of kind NAME is found.
    vocabulary: symbols that are merged. In byte mode they are the ids.
    halves: function that returns a map from an id to the two ids that its merge joins; it may lack some ids.
    symbol_ids: list of int or None – id of each symbol, or a number above all ids if the symbol stands for several
        ids; None: symbols are ids.
    symbols_of: function that lists the symbols that a token joins; None: they are its bytes or characters. With
        it, `symbol_ids` is None.
    prefix: bytes – mark at the start of every symbol of a piece except the first, not part of the text; b"": no
        mark.
    suffix: bytes – mark at the end of the last symbol of a piece, not part of the text; b"": no mark.
    in_characters: bool – merging begins with characters; False: with bytes.
    escapes_spaces: bool – U+2581 replaces each space before merging.
    marks_stand_for_spaces: bool – symbols contain U+2581 for a space.
    whole_piece_first: bool – a piece that is a token becomes it without merging.
    drops_bytes: bool – bytes without a token are left out of texts.
    pattern: the split pattern. Its pieces consist of whole characters.
    is_split_otherwise: bool – text is split by steps that no pattern expresses; then `pattern` is None.
    always_found: tokens of kind NAME that are found in normalized text before merging,
        wherever their bytes occur.
    superwords: ids of tokens that merge two or more whole pieces.
    make_keeps: function that returns the value of the property `keeps`; called once, when it is first read.
    """

    tokens: list[bytes]
    kinds: list[Kind]
    names: Mapping[int, str]
    vocabulary: Vocabulary
    halves: Callable[[], Mapping[int, tuple[int, ...]]]
    symbol_ids: Sequence[int] | None = None
    symbols_of: Callable[[bytes], list[bytes]] | None = None
    prefix: bytes = b""
    suffix: bytes = b""
    in_characters: bool = False
    escapes_spaces: bool = False
    marks_stand_for_spaces: bool = False
    whole_piece_first: bool = False
    drops_bytes: bool = False
    pattern: Pattern = None
    is_split_otherwise: bool = False
    always_found: Sequence[bytes] = ()
    superwords: Collection[int] = ()
    make_keeps: Callable[[], Callable[[str], bool] | None] = lambda: None

    @cached_property
    def keeps(self) -> Callable[[str], bool] | None:
        """Function that tells whether a text may occur unchanged within normalized text.

        None: this is not known, or normalizing changes nothing.
        """
        return self.make_keeps()

    def holds_name(self, token: bytes) -> bool:
        """Tell whether a token contains a name found before merging, so that merging never makes the token."""
        return any(name in token for name in self.always_found)

    @cached_property
    def symbols(self) -> dict[int, int]:
        """Symbol of each id that has one, except ids for unknown characters."""
        if self.symbol_ids is None:
            return {i: i for i, kind in enumerate(self.kinds) if kind is Kind.TEXT}
        n = len(self.tokens)
        return {
            i: symbol for symbol, i in enumerate(self.symbol_ids) if i < n and self.kinds[i] is not Kind.UNKNOWN
        }

    @cached_property
    def symbol_bytes(self) -> list[bytes]:
        """Bytes of each symbol, in the form used in merging."""
        return self.vocabulary.tokens()


def material_of(tokenizer: Described) -> Material:
    """Collect the facts about a tokenizer. Raises TypeError if it does not work on text."""
    family: _Family | None = getattr(tokenizer, "_family", None)
    if family is None:
        raise not_a_tokenizer("tokenizer", tokenizer)
    return family.material()


def surface_of(tokenizer: Described, token_id: int) -> bytes:
    """Return the bytes that an id adds to a text. Raises InvalidTokenError if it has no token."""
    return tokenizer._family.surfaces.token(token_id)


def cutter_of(tokenizer: Described) -> Callable[[bytes], int] | None:
    """Return a function that finds safe cuts of long documents; None if no cut is safe."""
    return tokenizer._family.cutter(tokenizer)


def shown_token(token: bytes) -> str:
    r"""Format a token for people, in quotes; as bytes if it contains a part of a character.

    >>> print(shown_token(" é\n".encode()), shown_token(b" \xc3"))
    ' é\n' b' \xc3'
    """
    text = decoded(token)
    return repr(token if text is None else text)


def decoded(token: bytes) -> str | None:
    """Return the text of bytes; None if they are not UTF-8."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


class _Surfaces(Protocol):
    def token(self, token_id: int) -> bytes: ...


class _Family(Protocol):
    @property
    def surfaces(self) -> _Surfaces: ...
    def material(self) -> Material: ...
    def cutter(self, encoder: Any) -> Callable[[bytes], int] | None: ...


class Described(Protocol):
    """The parts of a Tokenizer that the functions of this folder need."""

    @property
    def mode(self) -> str: ...
    @property
    def model_type(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    def encode(self, text: str, *, allowed_special: Any) -> list[int]: ...
    def encode_ordinary_batch(self, texts: Iterable[str | bytes]) -> list[list[int]]: ...
    def token_to_id(self, token: bytes | str) -> int | None: ...
    @property
    def _family(self) -> _Family: ...
