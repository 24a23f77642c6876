"""CodePointTokenizer: a Tokenizer over a code-point vocabulary, as sentencepiece's BPE models are."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.stream_decoder import StreamDecoder
from fastbpe._core.decode.tokenizer_methods import check_errors
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.caching import cached_property
from fastbpe._utils.choices import DecodeErrors, Unit, UnknownIds
from fastbpe._utils.threads import ForkSafeLock
from fastbpe.formats import detect, native
from fastbpe.formats.huggingface import write_llama
from fastbpe.model import AddedToken, Chat, CodePointModel, Conventions, Model, PieceType, Templates
from fastbpe.tokenizer import adding, codepoint_properties, own_tokens
from fastbpe.tokenizer.codepoint_huggingface import Decoding
from fastbpe.tokenizer.codepoint_properties import NoTokens
from fastbpe.tokenizer.codepoint_tables import (
    EACH_BYTE,
    METASPACE_UTF8,
    Parts,
    build,
    make_denormalizer,
    make_names,
    make_normalizer,
)
from fastbpe.tokenizer.flat_ids import sequences
from fastbpe.tokenizer.special_tokens import Ordinary, SpecialTokens
from fastbpe.tokenizer.tokenizer import (
    CACHE_BYTES,
    Batch,
    Ids,
    Special,
    Text,
    Tokenizer,
    _compiled,
    checked_cache_bytes,
)

if TYPE_CHECKING:
    from fastbpe.tokenizer.completing import CharacterCompleter
    from fastbpe.tokenizer.exportable import Files
    from fastbpe.tokenizer.merged_tokens import MergedTokens
    from fastbpe.tokenizer.removing import Remover
    from fastbpe.tokenizer.stream_cuts import PairCuts
    from fastbpe.vocabularies.between import Entry, Speller
    from fastbpe.vocabularies.material import Material

_NO_BYTES = (
    "CodePointTokenizer.{0}: {1} are of bytes; Tokenizer.{0} makes a byte-level tokenizer of them, "
    'fastbpe.load and fastbpe.train(mode="codepoint") make code-point ones'
)
_MAX_PIECES_UNCHECKED = 1 << 20  # up to this number, pieces never make more symbols than the tables can hold


class CodePointTokenizer(Tokenizer):
    """Code-point BPE tokenizer, with the ids of sentencepiece. Made by `train` and `load`.

    This class documents the methods that differ from `Tokenizer`'s.

    The control symbols of the model (`<s>` and so on) are special tokens, with the rules of byte mode: an error,
    an id or any text, as the call says. (sentencepiece never finds them in text.) The text between two of them is
    encoded like a text of its own. Decoding leaves control symbols out; the special tokens of a tokenizer.json
    decode to their text.

    >>> from fastbpe import train
    >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
    >>> tokenizer.encode("ab abc"), tokenizer.decode([4, 5])
    ([4, 5], 'ab abc')
    """

    def __init__(self, model: CodePointModel, *, cache_bytes: int = CACHE_BYTES) -> None:
        """Make a tokenizer of a model. Use `load` or `train` instead."""
        cache_bytes = checked_cache_bytes(cache_bytes)
        if not isinstance(model, CodePointModel):
            raise TypeError(
                f"model must be a CodePointModel, not {type(model).__name__}; fastbpe.load reads a file"
            )
        self._pattern_name, self._pattern = None, None
        self._source = model
        self._cache_bytes = cache_bytes
        self._lock = ForkSafeLock()  # reentrant: _prepare needs _parts
        is_plain = model.conventions is not None and not model.conventions.escapes
        self._special = SpecialTokens(
            codepoint_properties.special_tokens_of(model),
            NoTokens(),
            model.added_tokens,
            None if is_plain else _NameNormalizer(self),
        )
        # Check the model now. Its tables take most of the time: the first call that needs them builds them.
        if model.normalizer["precompiled_charsmap"]:
            make_normalizer(model)
        if model.merges:
            codepoint_properties.check_merges(model)
        if model.n_pieces > _MAX_PIECES_UNCHECKED:
            self._prepare()

    @classmethod
    def from_ranks(cls, ranks: object, **options: object) -> NoReturn:
        """Raise TypeError, for ranks are of bytes.

        >>> CodePointTokenizer.from_ranks({})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: CodePointTokenizer.from_ranks: ranks are of bytes; ...
        """
        raise TypeError(_NO_BYTES.format("from_ranks", "ranks"))

    @classmethod
    def from_merges(cls, merges: object, **options: object) -> NoReturn:
        """Raise TypeError, for merges are of bytes.

        >>> CodePointTokenizer.from_merges([])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: CodePointTokenizer.from_merges: merges are of bytes; ...
        """
        raise TypeError(_NO_BYTES.format("from_merges", "merges"))

    # Encoding

    @_compiled(Encoder.encode_with_offsets)
    def encode_with_offsets(
        self,
        text: Text,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        unit: Unit = "char",
        as_numpy: bool = False,
    ) -> Any:
        """Encode a text, and give the (start, end) of each id, by default in characters of the text.

        Two rules of `Tokenizer.encode_with_offsets` differ:

        - A space that the model puts before a text has an empty span, as in sentencepiece; with a tokenizer.json,
          the span of the first character, as in tokenizers.
        - Of the byte ids of a character, all but the last have an empty span; with a tokenizer.json, each spans
          the character.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).encode_with_offsets("ab abc")
        ([4, 5], [(0, 2), (2, 6)])
        """
        raise NotImplementedError

    def pieces(self, text: Text) -> list[tuple[int, int]]:
        """Give (0, number of characters) for a text, which no split pattern splits; [] if it is empty.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).pieces("ab abc")
        [(0, 6)]
        """
        n = len(text if isinstance(text, str) else to_utf8(text).decode())
        return [(0, n)] if n else []

    # Decoding

    def decode(
        self,
        ids: Ids,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> str:
        """Decode ids to text, with the arguments and errors of `Tokenizer.decode`.

        Control symbols of a sentencepiece model decode to nothing. Special tokens of a tokenizer.json decode to
        their text, unless skip_special_tokens leaves them out.

        errors="replace" gives one U+FFFD for each byte that belongs to no character, as sentencepiece does. With a
        tokenizer.json it does as tokenizers: if consecutive byte ids are not UTF-8 together, each becomes U+FFFD.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).decode([1, 4, 5, 2])
        'ab abc'
        """
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        if decoding is not None:
            if errors != "replace":
                check_errors(errors)
            return decoding.decode(ids, errors, num_threads, unknown_ids)
        as_sentencepiece = EACH_BYTE if errors == "replace" else errors
        return self._denormalized(
            super().decode(ids, errors=as_sentencepiece, num_threads=num_threads, unknown_ids=unknown_ids)
        )

    def decode_batch(
        self,
        batch: Batch,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does.

        Takes the arguments and raises the errors of `decode`.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).decode_batch([[4], [4, 5]])
        ['ab', 'ab abc']
        """
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        if decoding is not None:
            check_errors(errors)
            listed = [ids if hasattr(ids, "__len__") else list(ids) for ids in sequences(batch)]
            return decoding.decode_batch(listed, errors, num_threads, unknown_ids)
        as_sentencepiece = EACH_BYTE if errors == "replace" else errors
        texts = super().decode_batch(
            batch, errors=as_sentencepiece, num_threads=num_threads, unknown_ids=unknown_ids
        )
        return texts if self._denormalizer is None else [self._denormalized(text) for text in texts]

    def decoder(
        self,
        *,
        errors: DecodeErrors = "replace",
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> StreamDecoder:
        """Make a stream that decodes ids as they come, as `Tokenizer.decoder` does.

        With a tokenizer.json, consecutive byte ids that are not UTF-8 become one U+FFFD each. The stream cannot
        take back text: if the first bytes of such a run made characters, only the ids after them become U+FFFD.

        Raises:
            ValueError: the model changes decoded text by rules, which need the whole text.
            LookupError: no error handler has this name.

        >>> from fastbpe import train
        >>> stream = train(["ab ab abc"], mode="codepoint", vocab_size=10).decoder()
        >>> [stream.push(token_id) for token_id in (4, 5)]
        ['ab', ' abc']
        """
        if self._denormalizer is not None:
            raise ValueError("this model changes decoded text by rules, which need all of it: use decode")
        check_errors(errors)
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        return StreamDecoder(
            self._decoder if decoding is None else decoding.decoder,
            EACH_BYTE if errors == "replace" else errors,
            unknown_ids,
            joins=decoding is not None,
            leading=self._parts.leading,
            space_keepers=self._parts.space_keepers,
            byte_ids=decoding.byte_ids if decoding is not None and errors == "replace" else None,
            first_texts=None if decoding is None else decoding.first_texts,
        )

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes of UTF-8. Raises InvalidTokenError (a KeyError) if an id has no token.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).decode_bytes([4, 5])
        b'ab abc'
        """
        return super().decode_bytes(ids) if self._decoding is None else self._decoding.decode_bytes(ids)

    # Tokens and ids

    def token_to_id(self, token: bytes | str) -> int | None:
        """Find the id of a piece, by its bytes or its text, with U+2581 or spaces for it; None if there is none.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> tokenizer.token_to_id(" abc"), tokenizer.token_to_id("\u2581abc"), tokenizer.token_to_id("x")
        (5, 5, None)
        """
        if type(token) is str:
            try:
                return self._ids_by_text[token]
            except KeyError:
                pass
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        data = token.encode("utf-8", "replace") if isinstance(token, str) else token
        found = self._ids.get(data)
        return self._ids.get(data.replace(b" ", METASPACE_UTF8)) if found is None else found

    def id_to_token(self, token_id: int) -> bytes:
        """Give the bytes of an id; for control symbols and the unknown piece, their text in the model.

        Raises InvalidTokenError (a KeyError) if the id has no token.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> tokenizer.id_to_token(5), tokenizer.id_to_token(1)
        (b' abc', b'<s>')
        """
        return self._names.token(token_id)

    @property
    def vocab(self) -> list[bytes]:
        """New list of the bytes that each id adds to a decoded text, b"" for control symbols. Making it is slow.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).vocab[3:6]
        [b'ab', b' ab', b' abc']
        """
        return self._decoder.tokens(range(self.n_vocab))

    @property
    def vocab_size(self) -> int:
        """Number of ids; each has a token.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).vocab_size
        10
        """
        return self._source.n_pieces

    @property
    def n_vocab(self) -> int:
        """Greatest id + 1, the same as `vocab_size`.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).n_vocab
        10
        """
        return self._source.n_pieces

    @property
    def merges(self) -> list[tuple[int, int]]:
        """New list of the pairs of ids that make each merged piece, best first.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).merges
        [(6, 7), (8, 3), (4, 9)]
        """
        return list(recover_merges(self._parts.vocabulary).values())

    # Origin and rules

    @property
    def name(self) -> str | None:
        """Name of the vocabulary, if it has one.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).name is None
        True
        """
        return self._source.name

    @property
    def mode(self) -> str:
        """Kind of base symbols: "codepoint".

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).mode
        'codepoint'
        """
        return "codepoint"

    @property
    def normalizers(self) -> list[dict[str, Any]]:
        """Changes of a text before merging, in the terms of a tokenizer.json.

        Precompiled holds the model's rules; Strip and Replace remove extra white space; Prepend puts a space
        before a text; Replace puts U+2581 in place of spaces. A space put after a text has no such term.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> [step["type"] for step in tokenizer.normalizers]
        ['Precompiled', 'Strip', 'Replace', 'Prepend', 'Replace']
        """
        return codepoint_properties.normalizers_of(self._source)

    @property
    def pre_tokenizers(self) -> list[dict[str, Any]]:
        """Steps that split text, as a tokenizer.json describes them; [] if nothing does.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).pre_tokenizers
        []
        """
        step = write_llama.pre_tokenizer(self._source.conventions or Conventions())
        return [] if step is None else [step]

    @property
    def training_report(self) -> dict[str, Any]:
        """Options and findings of `train`; empty for a tokenizer that fastbpe did not train.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).training_report["n_merges"]
        3
        """
        return dict(self._source.training)

    @property
    def training_options(self) -> dict[str, Any]:
        """Options that the trainer was given, also in sentencepiece's `.model` files: keywords for `train`.

        Left out are options that change no model, such as the input's paths. {}: a tokenizer.json or GGUF file.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> tokenizer.training_options["normalization_rule_name"]
        'nmt_nfkc'
        >>> train(["ab ab abc"], **tokenizer.training_options) == tokenizer
        True
        """
        return codepoint_properties.training_options_of(self._source)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides ids: pieces, their scores and types, rules, white space.

        >>> from fastbpe import train
        >>> train(["ab ab abc"], mode="codepoint", vocab_size=10).fingerprint[:12]
        '0fc0c71c3ebc'
        """
        return codepoint_properties.fingerprint_of(self._source)

    # Extending

    def with_tokens(self, tokens: Mapping[str, int] | Sequence[str | AddedToken]) -> CodePointTokenizer:
        """Make a tokenizer with more tokens that are found in any text. This tokenizer does not change.

        In a sentencepiece model they are user-defined pieces, without flags, which sentencepiece finds too.

        Args:
            tokens: as in `Tokenizer.with_tokens`. The ids of a mapping must follow the last id, without a gap.

        Raises:
            SpecialTokenError: a text is empty or a piece already, ids leave a gap, or the model cannot hold a
                flag.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> extended = tokenizer.with_tokens(["bc"])
        >>> extended.encode("abc"), extended.id_to_token(10)
        ([8, 6, 10], b'bc')
        """
        return cast("CodePointTokenizer", super().with_tokens(tokens))

    def with_special_tokens(
        self,
        special_tokens: Mapping[str, int] | Sequence[str | AddedToken],
        *,
        reserved: int = 0,
        reserved_name: str = "<|reserved_special_token_{}|>",
        pad_to_multiple_of: int | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> CodePointTokenizer:
        """Make a tokenizer with more control symbols. This tokenizer does not change.

        Args:
            special_tokens: as in `Tokenizer.with_special_tokens`. The ids of a mapping must follow the last id,
                without a gap.
            reserved, reserved_name, pad_to_multiple_of, roles: as there.

        Raises:
            SpecialTokenError: a text is empty or another piece, a known one has another id, ids leave a gap, or
                the model cannot hold a flag.

        >>> from fastbpe import train
        >>> tokenizer = train(["ab ab abc"], mode="codepoint", vocab_size=10)
        >>> tokenizer.with_special_tokens(["<pad>"]).special_tokens
        {'<s>': 1, '</s>': 2, '<pad>': 10}
        """
        extended = super().with_special_tokens(
            special_tokens,
            reserved=reserved,
            reserved_name=reserved_name,
            pad_to_multiple_of=pad_to_multiple_of,
            roles=roles,
        )
        return cast("CodePointTokenizer", extended)

    def _with_roles(self, roles: Mapping[str, str]) -> CodePointTokenizer:
        names = self.special_tokens | {
            self.id_to_token(i).decode(): i for i in (self.unk_token_id,) if i is not None
        }
        checked = own_tokens.check_roles(roles, names.__contains__)
        model = codepoint_properties.with_roles(self._source, checked, names)
        return type(self)(model, cache_bytes=self._cache_bytes)

    # Being a value

    def __reduce__(self) -> tuple[Callable[[bytes], CodePointTokenizer], tuple[bytes]]:
        return unpickle_codepoint, (native.dump_code_points(self._source),)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"<fastbpe.CodePointTokenizer {name}{self.mode} mode, {self.vocab_size} tokens "
            f"({len(self._special.ids)} special), split by {self._splitter!r}, {self.fingerprint[:12]}>"
        )

    # Parts that Tokenizer has otherwise. The first call that needs them builds them.

    def _prepare(self) -> None:
        parts = self._parts
        with self._lock:
            if self._pipeline is None:
                Encoder.__init__(
                    self,
                    parts.vocabulary,
                    parts.splitter,
                    special=self._special,
                    cache_bytes=self._cache_bytes,
                    normalizing=parts.normalizing,
                )

    _built: Parts | None = None

    @property
    def _parts(self) -> Parts:
        if self._built is None:
            with self._lock:
                if self._built is None:
                    self._built = build(self._source)
        return self._built

    @property
    def _vocabulary(self) -> Vocabulary:  # type: ignore[override]
        return self._parts.surfaces

    @property
    def _splitter(self) -> Splitter:  # type: ignore[override]
        return self._parts.splitter

    @cached_property
    def _decoder(self) -> Decoder:
        return self._parts.decoder

    @cached_property
    def _names(self) -> Decoder:
        """Decoder of single ids that gives control symbols and the unknown piece their text."""
        return make_names(self._source, self._parts)

    @cached_property
    def _decoding(self) -> Decoding | None:
        """Decoding by the rules of a tokenizer.json; None: by sentencepiece's."""
        return None if self._source.conventions is None else Decoding(self._source, self._parts, skips=False)

    @cached_property
    def _skipping_decoding(self) -> Decoding | None:
        """The same, leaving special tokens out."""
        return None if self._source.conventions is None else Decoding(self._source, self._parts, skips=True)

    @cached_property
    def _denormalizer(self) -> Normalizer | None:
        """Rules for decoded text; None for most models."""
        return make_denormalizer(self._source)

    def _denormalized(self, text: str) -> str:
        return text if self._denormalizer is None else self._denormalizer.normalize(text.encode()).decode()

    @cached_property
    def _normalizer(self) -> Normalizer:
        # Models of a tokenizer.json always keep U+2581: no need to build parts to know it.
        marks = self._source.conventions is not None or self._parts.marks_spaces
        return make_normalizer(self._source, marks_to_spaces=marks)

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {piece: i for i, piece in enumerate(self._source.pieces)}

    @cached_property
    def _ids_by_text(self) -> dict[str, int]:
        return codepoint_properties.ids_by_text(self._source)

    @cached_property
    def _templates(self) -> Templates:
        return self._source.templates

    def _chat(self) -> Chat | None:
        return self._source.chat

    def _named_roles(self) -> Mapping[str, str]:
        return codepoint_properties.named_roles(self._source)

    def _cutter(self, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        return None  # a document may begin with a space that a part in its middle must not have

    @cached_property
    def _pair_cuts(self) -> PairCuts | None:
        from fastbpe.tokenizer.stream_cuts import code_point_cuts  # here: few programs encode streams

        self._prepare()
        return code_point_cuts(self._pipeline, self._source)

    @cached_property
    def _completer(self) -> CharacterCompleter:
        from fastbpe.tokenizer.completing import CharacterCompleter  # here: few programs complete texts

        self._prepare()
        return CharacterCompleter(self._source, self._parts, self._merged_tokens, self._pipeline)

    @cached_property
    def _merged_tokens(self) -> MergedTokens:
        from fastbpe.tokenizer.merged_tokens import of_characters

        return of_characters(self._source, self._parts)

    def _adding(
        self, tokens: adding.Tokens, argument: str
    ) -> tuple[adding.Tokens, str, Mapping[str, AddedToken], Ordinary, int]:
        return (
            tokens,
            argument,
            adding.known_tokens(self._special, self._source),
            NoTokens(),
            self._source.n_pieces,
        )

    def _with_added(self, new: Sequence[AddedToken], argument: str) -> CodePointTokenizer:
        return type(self)(adding.add_to_code_points(self._source, new, argument), cache_bytes=self._cache_bytes)

    def _remover(self) -> Remover[Any]:
        from fastbpe.tokenizer.removing import Remover  # here, as the next: few programs need them
        from fastbpe.tokenizer.removing_pieces import PieceRemoval

        names = adding.known_tokens(self._special, self._source)
        removal = PieceRemoval(self._source, self._parts, {name: token.id for name, token in names.items()})
        return Remover(removal, lambda model: type(self)(model, cache_bytes=self._cache_bytes))

    def _entries(self) -> Iterator[tuple[int, Entry]]:
        from fastbpe.tokenizer.entries import codepoint_entries

        return codepoint_entries(self._source, self._special)

    def _speller(self) -> Speller:
        from fastbpe.tokenizer.entries import codepoint_speller

        return codepoint_speller(self._source, self._parts)

    def _spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.untrusted_text import spelled_characters  # here: only `encode_parts` needs it

        return spelled_characters(self._source, self._parts)

    # For `vocabularies`: see `Described`

    def _material(self) -> Material:
        from fastbpe.tokenizer.material import codepoint_material  # here: few programs ask about their vocabulary

        return codepoint_material(self.special_tokens, self._source, self._parts)

    # For `export`: see `Exportable`

    def _dump(self, format: str) -> Files:
        from fastbpe.tokenizer.export import dump_code_points  # here: it imports all formats

        return dump_code_points(self._source, format)

    def _remake(self, model: Model | CodePointModel | None = None) -> CodePointTokenizer:
        if model is None:
            model = self._source
        assert isinstance(model, CodePointModel)
        return CodePointTokenizer(model, cache_bytes=0)

    def _whole_model(self) -> Model | CodePointModel:
        return self._source

    def _control_tokens(self) -> dict[str, int]:
        """Give the special tokens but the unknown one, which only a tokenizer.json counts among them."""
        types = self._source.types
        return {name: i for name, i in self.special_tokens.items() if types[i] != PieceType.UNKNOWN}


class _NameNormalizer:
    """Function that normalizes the name of a token as the pipeline normalizes text.

    It holds the tokenizer weakly: the tokenizer holds it, and is freed with its last reference.
    """

    def __init__(self, tokenizer: CodePointTokenizer) -> None:
        self._tokenizer, self._model = weakref.ref(tokenizer), tokenizer._source

    def __call__(self, name: str) -> str:
        tokenizer = self._tokenizer() or CodePointTokenizer(self._model)
        return tokenizer._normalizer.normalize(name.encode()).decode()


def unpickle_codepoint(state: bytes) -> CodePointTokenizer:
    """Make a tokenizer from the state that `CodePointTokenizer.__reduce__` gives."""
    model = detect.read(state)
    assert isinstance(model, CodePointModel)
    return CodePointTokenizer(model)
