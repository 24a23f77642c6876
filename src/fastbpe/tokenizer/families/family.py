"""Family: the interface between a `Tokenizer` and its kind of vocabulary."""

# A method without a body belongs to the subclasses: each of them overrides it.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import InvalidTokenError
from fastbpe.model import AddedToken, Buffer, Chat, CodePointModel, Model, Templates
from fastbpe.patterns import Pattern
from fastbpe.tokenizer.special_token_rules import SpecialTokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any, Literal, Protocol

    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe._utils.choices import DecodeErrors, UnknownIds
    from fastbpe.tokenizer.export.exportable import Exportable, Files
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.special_token_rules import Ordinary
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing import Removal
    from fastbpe.vocabularies.between import Entry, Speller
    from fastbpe.vocabularies.material import Material

    class Decoding(Protocol):
        """Decoding of ids. Arguments and errors are described in `Tokenizer.decode`."""

        def decode(
            self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
        ) -> str: ...
        def decode_batch(
            self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
        ) -> list[str]: ...
        def decode_bytes(self, ids: Ids) -> bytes: ...

    class Surfaces(Protocol):
        """The bytes that ids add to a text. `decode_with_offsets` returns (text, position of each id in it)."""

        def token(self, token_id: int) -> bytes: ...
        def tokens(self, ids: Ids) -> list[bytes]: ...
        def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]: ...

    class SortedTokens(Protocol):
        """Tokens in the order of their bytes."""

        def beginning_with(self, prefix: bytes) -> list[int]: ...


Ids = Sequence[int] | Buffer

_INTEGERS = frozenset("bBhHiIlLqQnN")  # formats of integers; lower case: signed


def listed(ids: Ids) -> Ids:
    """Convert ids without a length to a list, and a memoryview that Python cannot iterate over.

    Such a view has a byte order in its format: its array is of ctypes, or in a foreign order. The core refuses
    anything that is not iterable.
    """
    if isinstance(ids, memoryview) and ids.ndim == 1 and ids.format[0] in "<>!" and ids.format[1:] in _INTEGERS:
        data, size, is_signed = ids.tobytes(), ids.itemsize, ids.format.islower()
        order: Literal["little", "big"] = "little" if ids.format[0] == "<" else "big"
        return [int.from_bytes(data[i : i + size], order, signed=is_signed) for i in range(0, len(data), size)]
    return ids if hasattr(ids, "__len__") or not hasattr(ids, "__iter__") else [*ids]


class Family:
    """One vocabulary, with the functions in which its kind differs from others.

    It has no reference to its `Tokenizer`: a function that needs the compiled encoder takes it as `encoder`.

    mode: kind of base symbols, `Tokenizer.mode`.
    model_type: how pieces become tokens, `Tokenizer.model_type`.
    special: special and added tokens.
    pattern, pattern_name: split pattern, and its name in PATTERNS.
    """

    mode: str
    model_type: str = "BPE"
    special: SpecialTokens
    pattern: Pattern = None
    pattern_name: str | None = None

    # Encoding

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens by id; in code-point mode, the bytes that each id adds to a decoded text."""

    def prepare(self, encoder: Encoder, cache_bytes: int) -> None:
        """Call `Encoder.__init__`. A family may postpone this to the first use: see `is_lazy`."""

    #: True: the first call that needs the tables makes them, because they take most of the time of loading.
    is_lazy = False

    def pieces(self, encoder: Encoder, text: str | bytes) -> list[tuple[int, int]]:
        """Split a text. See `Tokenizer.pieces`."""

    def cutter(self, encoder: Encoder, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        """Return a function that finds safe cuts of long documents; None if none are known.

        special: special tokens that the documents may contain.
        """

    def pair_cuts(self, encoder: Encoder) -> PairCuts | None:
        """Return the cuts between bytes that are adjacent in no token; None if no cuts are known."""

    def spelled_out(self) -> dict[int, list[int]]:
        """Map each id that untrusted text must not produce to the ids of smaller pieces that replace it."""

    # Decoding

    def decoding(self, *, skips: bool) -> Decoding:
        """Return the object that decodes ids. skips: leave special tokens out."""

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds, *, skips: bool) -> StreamDecoder:
        """Return a stream that decodes ids. See `Tokenizer.decoder`."""

    @property
    def surfaces(self) -> Surfaces:
        """Bytes that each id adds to a text."""

    def text_within(self, token_id: int) -> str | None:
        """Return the text that an id adds wherever it is not the first.

        None: the text depends on the other ids, the id adds part of a character or nothing, or it has no token.
        """
        try:
            return self.surfaces.token(token_id).decode() or None
        except (InvalidTokenError, UnicodeDecodeError):
            return None

    # Tokens and ids

    @property
    def names(self) -> Decoder:
        """Decoder of single ids to tokens, for `Tokenizer.id_to_token`."""

    @property
    def find(self) -> Callable[[bytes | str], int | None]:
        """Function that implements `Tokenizer.token_to_id`."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens, including special tokens."""

    @property
    def n_ids(self) -> int:
        """Greatest id + 1."""

    def vocab(self) -> list[bytes]:
        """List the bytes of every id, b"" for an id without a token."""

    def merges(self) -> list[tuple[int, int]]:
        """List the merges as pairs of ids, best first."""

    def merged_tokens(self, encoder: Encoder) -> MergedTokens:
        """Return the tokens in the form in which merging makes them."""

    def sorted_tokens(self) -> SortedTokens:
        """Sort the ordinary tokens by the bytes that they add to a text."""

    def material(self) -> Material:
        """Collect the facts that the functions in `vocabularies` need."""

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Return each id with its kind and token, for maps between vocabularies."""

    def speller(self) -> Speller:
        """Return a function from the bytes of tokens to ids."""

    # Origin and rules

    @property
    def model(self) -> Model | CodePointModel:
        """Model with all that decides ids."""

    @property
    def own(self) -> Model | CodePointModel:
        """Model from which the family was made; it may lack its tables."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides ids. See `Tokenizer.fingerprint`."""

    def normalizers(self) -> list[dict[str, Any]]:
        """Describe the normalizers as in a tokenizer.json."""

    def pre_tokenizers(self) -> list[dict[str, Any]]:
        """Describe the splitting as in a tokenizer.json, unless `pattern` expresses it."""

    def splitting(self) -> str:
        """Describe the splitting for a repr."""

    @property
    def templates(self) -> Templates:
        """Ids around one text, and around two."""

    @property
    def chat(self) -> Chat | None:
        """Chat templates of the model; None: there is no template."""
        return self.own.chat

    def named_roles(self) -> Mapping[str, str]:
        """Return the token of each role that the file sets."""

    # Models of changed tokenizers

    def known_tokens(self) -> dict[str, AddedToken]:
        """Return the special and added tokens, by name."""

    @property
    def ordinary(self) -> Ordinary:
        """Ordinary tokens, with which added ones may clash."""

    def with_added(self, new: Sequence[AddedToken], argument: str) -> Model | CodePointModel:
        """Return a model with more tokens. argument: name of the caller's argument, for errors."""

    def with_roles(self, roles: Mapping[str, str]) -> Model | CodePointModel:
        """Return a copy of the model with other tokens for some roles."""

    def removal(self, encoder: Encoder) -> Removal[Any]:
        """Return the object that creates models with fewer tokens."""

    # Writing

    def dump(self, tokenizer: Exportable, format: str) -> Files:
        """Return the contents of the files in a format. Raises FormatError if it cannot store the tokenizer."""

    def control_tokens(self) -> dict[str, int]:
        """Return the special tokens that must stay special tokens in every format."""
        return dict(self.special.ids)

    def state(self) -> bytes:
        """Return the bytes of a native file, without the tables that the reader can build."""
