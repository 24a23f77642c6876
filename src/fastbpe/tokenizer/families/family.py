"""Family: what a `Tokenizer` asks of its kind of vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import AddedToken, Buffer, Chat, CodePointModel, Model, Templates
from fastbpe.patterns import Pattern
from fastbpe.tokenizer.special_tokens import SpecialTokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any, Protocol

    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe._utils.choices import DecodeErrors, UnknownIds
    from fastbpe.tokenizer.export.exportable import Exportable, Files
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.special_tokens import Ordinary
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing import Removal
    from fastbpe.vocabularies.between import Entry, Speller
    from fastbpe.vocabularies.material import Material

    class Decoding(Protocol):
        """Decoding of ids. Arguments and errors are those that `Tokenizer.decode` describes."""

        def decode(
            self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
        ) -> str: ...
        def decode_batch(
            self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
        ) -> list[str]: ...
        def decode_bytes(self, ids: Ids) -> bytes: ...

    class Surfaces(Protocol):
        """The bytes that ids add to a text. `decode_with_offsets` gives (text, place of each id in it)."""

        def token(self, token_id: int) -> bytes: ...
        def tokens(self, ids: Ids) -> list[bytes]: ...
        def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]: ...

    class SortedTokens(Protocol):
        """Tokens in the order of their bytes."""

        def beginning_with(self, prefix: bytes) -> list[int]: ...


Ids = Sequence[int] | Buffer


class Family:
    """One vocabulary, and the functions in which its kind differs from others.

    It does not know its `Tokenizer`: a function that needs the compiled encoder takes it as `encoder`.

    mode: kind of base symbols, `Tokenizer.mode`.
    model_type: way in which pieces become tokens, `Tokenizer.model_type`.
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
        """Tokens by id; for code points, as they decode."""
        raise NotImplementedError

    def prepare(self, encoder: Encoder, cache_bytes: int) -> None:
        """Call `Encoder.__init__`. A family may leave that to the first use: see `is_lazy`."""
        raise NotImplementedError

    #: The tables take most of the time of loading: the first call that needs them makes them.
    is_lazy = False

    def pieces(self, encoder: Encoder, text: str | bytes) -> list[tuple[int, int]]:
        """Split a text. See `Tokenizer.pieces`."""
        raise NotImplementedError

    def cutter(self, encoder: Encoder, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        """Make a function that finds a safe cut of a long document; None if no cut is known to be safe.

        special: special tokens that will be looked for.
        """
        raise NotImplementedError

    def pair_cuts(self, encoder: Encoder) -> PairCuts | None:
        """Find the cuts of texts that the vocabulary allows; None if no cuts are known."""
        raise NotImplementedError

    def spelled_out(self) -> dict[int, list[int]]:
        """Give, for each id that untrusted text must not become, the ids to put in its place."""
        raise NotImplementedError

    # Decoding

    def decoding(self, *, skips: bool) -> Decoding:
        """Make the decoding of ids. skips: leave special tokens out."""
        raise NotImplementedError

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds, *, skips: bool) -> StreamDecoder:
        """Make a stream that decodes ids. See `Tokenizer.decoder`."""
        raise NotImplementedError

    @property
    def surfaces(self) -> Surfaces:
        """Bytes that each id adds to a text."""
        raise NotImplementedError

    # Tokens and ids

    @property
    def names(self) -> Decoder:
        """Decoder that gives each id its token, as `Tokenizer.id_to_token` does."""
        raise NotImplementedError

    @property
    def find(self) -> Callable[[bytes | str], int | None]:
        """Function of `Tokenizer.token_to_id`."""
        raise NotImplementedError

    @property
    def n_tokens(self) -> int:
        """Number of tokens, special tokens included."""
        raise NotImplementedError

    @property
    def n_ids(self) -> int:
        """Greatest id + 1."""
        raise NotImplementedError

    def vocab(self) -> list[bytes]:
        """List the bytes of every id, b"" for an id without a token."""
        raise NotImplementedError

    def merges(self) -> list[tuple[int, int]]:
        """List the merges as pairs of ids, best first."""
        raise NotImplementedError

    def merged_tokens(self, encoder: Encoder) -> MergedTokens:
        """Give the tokens as merging makes them."""
        raise NotImplementedError

    def sorted_tokens(self) -> SortedTokens:
        """Sort the ordinary tokens by the bytes that they add to a text."""
        raise NotImplementedError

    def material(self) -> Material:
        """Gather the facts that the functions of `vocabularies` read."""
        raise NotImplementedError

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Give each id with its kind and token, for maps between vocabularies."""
        raise NotImplementedError

    def speller(self) -> Speller:
        """Make a function that gives the ids of the bytes of tokens."""
        raise NotImplementedError

    # Origin and rules

    @property
    def model(self) -> Model | CodePointModel:
        """Model with all that decides ids."""
        raise NotImplementedError

    @property
    def own(self) -> Model | CodePointModel:
        """Model that the family was made of; its tables may be left out."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides ids. See `Tokenizer.fingerprint`."""
        raise NotImplementedError

    def normalizers(self) -> list[dict[str, Any]]:
        """Describe the changes of text as a tokenizer.json does."""
        raise NotImplementedError

    def pre_tokenizers(self) -> list[dict[str, Any]]:
        """Describe the splitting as a tokenizer.json does, unless `pattern` expresses it."""
        raise NotImplementedError

    def training_options(self) -> dict[str, Any]:
        """Give the options that a trainer of sentencepiece was given."""
        return {}

    def splitting(self) -> str:
        """Describe the splitting for a repr."""
        raise NotImplementedError

    @property
    def templates(self) -> Templates:
        """Ids around one text, and around two."""
        raise NotImplementedError

    @property
    def chat(self) -> Chat | None:
        """Chat template of the model."""
        return self.own.chat

    def named_roles(self) -> Mapping[str, str]:
        """Give the token of each role that the file names."""
        raise NotImplementedError

    # Other tokenizers, as models of them

    def known_tokens(self) -> dict[str, AddedToken]:
        """Give the special and added tokens, by name."""
        raise NotImplementedError

    @property
    def ordinary(self) -> Ordinary:
        """Ordinary tokens, with which added ones may clash."""
        raise NotImplementedError

    def with_added(self, new: Sequence[AddedToken], argument: str) -> Model | CodePointModel:
        """Make a model with more tokens. argument: name of the argument that has them, for errors."""
        raise NotImplementedError

    def with_roles(self, roles: Mapping[str, str]) -> Model | CodePointModel:
        """Return a copy of the model with other tokens for some roles."""
        raise NotImplementedError

    def removal(self, encoder: Encoder) -> Removal[Any]:
        """Make the object that makes models with fewer tokens."""
        raise NotImplementedError

    # Writing

    def dump(self, tokenizer: Exportable, format: str) -> Files:
        """Make the contents of the files of a format. Raises FormatError if it cannot hold the tokenizer."""
        raise NotImplementedError

    def control_tokens(self) -> dict[str, int]:
        """Give the special tokens that every format must keep as such."""
        return dict(self.special.ids)

    def state(self) -> bytes:
        """Give the bytes of a native file, without what the reader can build."""
        raise NotImplementedError
