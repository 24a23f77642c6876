"""Content of a tokenizer file as plain data: `formats` reads and writes it, `tokenizer` runs it.

`CodePointModel` is a vocabulary of sentencepiece's kind, from a `.model` file or a tokenizer.json like Llama's.
`Model` is any other vocabulary: of bytes (GPT-2, tiktoken), or of characters in a tokenizer.json (as WordPiece).
"""

from __future__ import annotations

from array import array
from itertools import accumulate, chain

from fastbpe._utils.caching import cached_property
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import fields_repr
from fastbpe.patterns import PatternLike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

Buffer = bytes | bytearray | memoryview

BYTES_PER_MERGE = 12  # left id, right id, merged id: uint32

TEXT = -1  # in a template: position of the text
PAIR = -2  # in a template: position of the second text

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")  # in the order in which transformers adds their tokens

SUPERMERGES_KINDS = ("boundless", "superbpe")

METASPACE = "\u2581"  # sentencepiece's character for a space

N_BYTES = 256  # ids of the single bytes, the first ones of a byte-level vocabulary that fastbpe makes

_NONE: Mapping[Any, Any] = {}  # shared by all models: the type Mapping allows no changes

NEXT = -1  # id of an AddedToken: the next free one


class Templates(NamedTuple):
    """Ids that a post-processor puts around texts.

    single: sequence of int – ids around one text, and TEXT in its position.
    pair: sequence of int – ids around two texts, and TEXT and PAIR in their positions.
    """

    single: Sequence[int]
    pair: Sequence[int]


def around(before: Sequence[int], behind: Sequence[int]) -> Templates:
    """Return templates that put the same ids around each text.

    Args:
        before: ids before each text.
        behind: ids after each text.

    >>> around([1], [2])
    Templates(single=(1, -1, 2), pair=(1, -1, 2, 1, -2, 2))
    """
    return Templates((*before, TEXT, *behind), (*before, TEXT, *behind, *before, PAIR, *behind))


class Chat(NamedTuple):
    """Chat templates of a model, and the tokens to which they may refer.

    templates: name → template in jinja2's language; the default one is called "default".
    tokens: name in the templates ("bos_token", …) → token.
    """

    templates: Mapping[str, str]
    tokens: Mapping[str, str]


class AddedToken(NamedTuple):
    r"""Token that is found in text before the text is split, like an added token of a tokenizer.json.

    The flags mean the same as in the tokenizers library, but the default of `normalized` differs: there it is True
    for tokens that are not special.

    content: str – its text.
    id: int – its id. NEXT (-1), for `Tokenizer.with_tokens`: the next free one.
    special: bool – whether it is found only if the caller allows it; False: found everywhere.
    normalized: bool – True: found in normalized text, after all tokens with False; False: found in original text.
    lstrip: bool – whether it also matches the white space before it.
    rstrip: bool – whether it also matches the white space after it.
    single_word: bool – whether it is not found next to a letter, mark, decimal digit, `_` or joiner (Rust's `\w`).

    >>> AddedToken("<extra>", lstrip=True)[:2]
    ('<extra>', -1)
    """

    content: str
    id: int = NEXT
    special: bool = False
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


class Spelling(NamedTuple):
    """Spelling of base symbols if they are characters: options of a tokenizer.json under shorter names.

    With a kind other than "BPE", pieces are cut into tokens without merging. WordLevel uses only the unknown
    token, WordPiece also `prefix` and `longest`, and Unigram the unknown token, `fuses` and `byte_ids`.

    prefix: str – text before each character of a piece except the first: continuing_subword_prefix.
    suffix: str – text after the last character of a piece: end_of_word_suffix.
    unknown_token: str or None – unk_token, for characters without a token. None: they are left out.
    unknown: int – its id. -1: the vocabulary lacks it, and a text that needs it raises an error.
    fuses: bool – whether unknown characters in a row become one token: fuse_unk.
    byte_ids: sequence of int – byte_fallback: ids of the tokens of all bytes, -1 for a byte without one; empty:
        no byte fallback.
    kind: str – type of the model: "BPE", "Unigram", "WordPiece" or "WordLevel".
    longest: int – max_input_chars_per_word of WordPiece: a longer piece is unknown.
    """

    prefix: str = ""
    suffix: str = ""
    unknown_token: str | None = None
    unknown: int = -1
    fuses: bool = False
    byte_ids: Sequence[int] = ()
    kind: str = "BPE"
    longest: int = 0


class Symbols(NamedTuple):
    """Symbols that merging makes, if their spelling differs from the tokens', as in CTRL and PhoBERT.

    There, the symbol `ab</w>` at the end of a word is the token `ab`, and `ab` at any other place is `ab@@`.

    texts: sequence of str – text of each symbol; merges have indices of this sequence in place of ids.
    ids: sequence of int – the token of each symbol. Several may become the same one, such as the unknown token.
    lowers: bool – texts become lower case as in Python, after `Model.normalizers`.
    """

    texts: Sequence[str]
    ids: Sequence[int]
    lowers: bool = False


class Supermerges(NamedTuple):
    """Merges of whole words, which come after all other merges, as in BoundlessBPE.

    They are applied only within runs. A run consists of adjacent pieces. The other merges have made each of these
    pieces into one token, which is the left or the right part of one of the merges here.

    merges: bytes – as `Model.merges`.
    kind: str – "boundless" or "superbpe": method that learned them. BoundlessBPE's `.model` files name it. It does
        not affect ids.
    pattern: str – regex that matches in each word from which they were learned; does not affect ids.
    """

    merges: Buffer
    kind: str = "boundless"
    pattern: str = r"\p{L}"

    def merge_list(self) -> list[tuple[int, int, int]]:
        """Return the merges, (left id, right id, merged id), best first."""
        return unpack_merges(self.merges)


class Model(NamedTuple):
    """Byte-level or character-level vocabulary, with everything that decides ids.

    Attributes:
        tokens: list of bytes – the token of each ordinary id, b"" for other ids; None: they are in `tables`. With
            a spelling, the UTF-8 of the token as spelled in the file.
        pattern: the split pattern; several are applied in order; None: no splitting.
        special_tokens: name → id.
        merges: bytes – the merge list: uint32 triples (left id, right id, merged id), best first; numbers
            of a model have the byte order of the processor.
        merges_rule: str – "ranks": any two tokens merge if together they are a token, the smallest id first;
            "merges": the list decides.
        whole_piece_first: bool – a piece that is a token gets its id, without merging.
        drops_bytes: bool – bytes that are not a token are left out of text; False: every byte is a token.
        tables: name → ready-made buffer for the core: the tokens and their ends, or these and the tables for
            merging; None: `tokens` is given.
        name: str or None – name of the vocabulary.
        pre_tokenizers: steps of a tokenizer.json that split instead of `pattern`.
        normalizers: steps of a tokenizer.json that change text before it is split.
        prefix_space: bool – put a space before text that does not begin with one.
        added_tokens: special tokens with flags, and added tokens that are not special.
        template: (ids before a text, ids after it), for callers that ask for them.
        pair_template: ids around two texts, with TEXT and PAIR in their positions.
        roles: one of ROLES → token that the file sets for it; does not affect ids.
        huggingface: parts of a tokenizer.json that do not affect ids, kept for writing one; and "empty_token", the
            id of the empty token, which files of other formats may also have.
        chat: chat templates of the model's folder; None: it has no templates.
        fingerprint: str – fingerprint stored in the file; "": the file stores no fingerprint.
        training: the training report; {}: fastbpe did not train this vocabulary.
        spelling: spelling of base symbols that are characters; None: base symbols are bytes.
        scores: bytes – score of each id, float64, if the kind of the spelling is "Unigram".
        supermerges: merges of whole words after `merges` (merges_rule must be "merges"); None: no such merges.
        symbols: symbols that `merges` joins; None: `merges` joins tokens.
    """

    tokens: list[bytes] | None
    pattern: PatternLike
    special_tokens: Mapping[str, int]
    merges: Buffer = b""
    merges_rule: str = "ranks"
    whole_piece_first: bool = True
    drops_bytes: bool = False
    tables: Mapping[str, Buffer] | None = None
    name: str | None = None
    pre_tokenizers: Sequence[Mapping[str, Any]] = ()
    normalizers: Sequence[Mapping[str, Any]] = ()
    prefix_space: bool = False
    added_tokens: Sequence[AddedToken] = ()
    template: tuple[Sequence[int], Sequence[int]] = ((), ())
    pair_template: Sequence[int] = (TEXT, PAIR)
    roles: Mapping[str, str] = _NONE
    huggingface: Mapping[str, Any] = _NONE
    chat: Chat | None = None
    fingerprint: str = ""
    training: Mapping[str, Any] = _NONE
    spelling: Spelling | None = None
    scores: Buffer = b""
    supermerges: Supermerges | None = None
    symbols: Symbols | None = None

    def __repr__(self) -> str:
        return fields_repr(self)

    def list_tokens(self) -> list[bytes]:
        """Return the token of each ordinary id; b"" for other ids."""
        if self.tokens is not None:
            return self.tokens
        assert self.tables is not None
        flat, ends = bytes(self.tables["token_bytes"]), array("I", bytes(self.tables["token_ends"]))
        return [flat[start:end] for start, end in zip(chain((0,), ends), ends, strict=False)]

    def merge_list(self) -> list[tuple[int, int, int]] | None:
        """Return the merges, (left id, right id, merged id), best first; None: ranks decide."""
        if self.merges_rule == "ranks":
            return None
        return unpack_merges(self.merges)


class Spec:
    """Group of options of a sentencepiece model. `spec[name]` is the value set, or else the default.

    Attributes:
        values: name → value that the file sets.
        defaults: name → value of an option that is not set.
        unknown: bytes – fields unknown to fastbpe, as in the file.
    """

    __slots__ = ("defaults", "unknown", "values")

    def __init__(self, *, values: Mapping[str, Any], defaults: Mapping[str, Any], unknown: bytes = b"") -> None:
        self.values, self.defaults, self.unknown = values, defaults, unknown

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.defaults[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        return (self.values, self.defaults, self.unknown) == (other.values, other.defaults, other.unknown)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Spec(values={self.values!r}, defaults={self.defaults!r}, unknown={self.unknown!r})"

    def with_values(self, values: Mapping[str, Any]) -> Spec:
        """Return the same group with other values."""
        return Spec(values=values, defaults=self.defaults, unknown=self.unknown)


class PieceType:
    """Types of the pieces of a code-point vocabulary: the numbers used in model files.

    Not an enum: importing that module takes 1.1 ms (CPython 3.11, 2026-11-29).
    """

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


#: Name of each type.
TYPE_NAMES = {kind: name for name, kind in vars(PieceType).items() if name.isupper()}

#: Types of pieces that represent text. The text of all other pieces is only a name, such as <s> or <0x0A>.
TEXT_TYPES = frozenset({PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED})


#: Classes of transformers, which run in Python, for which a table gives the ids of pieces.
TABLE_DECODERS = ("Bartpho", "BertGeneration", "M2M100", "Marian", "PLBart", "Siglip", "Speech2Text", "SpeechT5")
#: Classes of transformers, which run in Python, with an id for each byte.
BYTE_DECODERS = ("ByT5", "Perceiver")
#: Classes of transformers, which run in Python, that encode texts between added tokens as sentencepiece does. The
#: second is the base of BertGeneration, for models that a table cannot describe.
SENTENCEPIECE_DECODERS = ("GPTSw3", "SentencePieceBackend")
#: All of these classes.
PYTHON_DECODERS = (*TABLE_DECODERS, *BYTE_DECODERS, *SENTENCEPIECE_DECODERS)


class Conventions(NamedTuple):
    """Differences from sentencepiece that a tokenizer.json sets.

    Attributes:
        prefix: str – where a space is put before text that does not begin with one: "first": at the start of the
            whole text; "always": also after an added token; "": nowhere.
        escapes: bool – spaces are already U+2581 when normalized added tokens are searched for.
        splits: bool – a U+2581 begins a new piece.
        fuses: bool – consecutive unknown characters become one id.
        decoder: str – "ByteFallback": ids of bytes are decoded; "Metaspace": they are written by name, such as
            <0x0A>; one of PYTHON_DECODERS: as the class of this name does.
        strips: bool – decoding removes a space at the start.
        symbols: bool – pieces of type USER_DEFINED that are not added tokens are found in normalized text.
        cleans_up: bool – decoding removes spaces before punctuation and in English contractions.
    """

    prefix: str = ""
    escapes: bool = True
    splits: bool = False
    fuses: bool = True
    decoder: str = "ByteFallback"
    strips: bool = False
    symbols: bool = False
    cleans_up: bool = False


class _CodePointFields(NamedTuple):
    # A class of its own: a named tuple has no __dict__, in which the subclass keeps its cached properties.
    piece_bytes: bytes
    piece_ends: bytes
    scores: bytes
    types: bytes
    trainer: Spec
    normalizer: Spec
    denormalizer: Spec | None = None
    self_test_data: bytes | None = None
    unknown: bytes = b""
    piece_extras: Mapping[int, bytes] = _NONE
    serialized: bytes = b""
    name: str | None = None
    training: Mapping[str, Any] = _NONE
    merges: Buffer = b""
    added_tokens: Sequence[AddedToken] = ()
    template: tuple[Sequence[int], Sequence[int]] | None = None
    pair_template: Sequence[int] | None = None
    roles: Mapping[str, str] = _NONE
    chat: Chat | None = None
    conventions: Conventions | None = None
    unnumbered: Sequence[tuple[str, float]] = ()


class CodePointModel(_CodePointFields):
    """Code-point vocabulary with everything that decides ids, such as the content of a sentencepiece `.model`.

    Attributes:
        piece_bytes: bytes – the pieces of all ids, concatenated, normally UTF-8. No piece is empty. No two are
            equal, except that in a model of another type than BPE a piece that is text (TEXT_TYPES) may equal a
            piece that is only a name.
        piece_ends: bytes – offset in piece_bytes of the end of each piece, uint32.
        scores: bytes – score of each id, float32. In a BPE model, the pair that makes the piece with the highest
            score merges first.
        types: bytes – the PieceType of each id, as one byte.
        trainer, normalizer: options of the model.
        denormalizer: options of its denormalizer; None: the file has no denormalizer.
        self_test_data, unknown: fields that fastbpe keeps only for writing.
        piece_extras: id → fields of its piece that fastbpe keeps only for writing.
        serialized: bytes – the `.model` file with exactly this content; b"": there is no such file.
        name: str or None – name of the vocabulary in a native file.
        training: the training report in a native file.
        merges: bytes – merge list as in Model, for merges that scores cannot express; b"": scores decide.
        added_tokens: as in Model; the text between added tokens is normalized by itself.
        template, pair_template: as in Model; None: the file does not define it. See `templates`.
        roles: as in Model, without the roles in the model's options.
        chat: as in Model.
        conventions: conventions of a tokenizer.json; None: sentencepiece's. With them, pieces of type USER_DEFINED
            are never merged. They are found in text if they are added tokens, or with `conventions.symbols`.
        unnumbered: (piece, score) of the sentencepiece pieces without an id in the table of ids (`has_table`):
            each becomes the unknown token. In such a model, pieces of type UNUSED are tokens that only the table
            has.
    """

    __repr__ = fields_repr

    @property
    def has_table(self) -> bool:
        """Tell whether a table, such as a vocab.json, gives the ids of sentencepiece's pieces, as for Marian."""
        return self.conventions is not None and self.conventions.decoder in TABLE_DECODERS

    @property
    def runs_in_python(self) -> bool:
        """Tell whether the model works like a class that transformers runs in Python."""
        return self.conventions is not None and self.conventions.decoder in PYTHON_DECODERS

    @property
    def changes_texts(self) -> bool:
        """Tell whether texts change before the rules of the model: see `normalization.text_rules`."""
        return self.conventions is not None and self.conventions.decoder in ("GPTSw3", "Siglip")

    @property
    def is_behind_unknown(self) -> bool:
        """Tell whether texts are encoded after the unknown token, whose ids are then dropped, as for SigLIP."""
        return self.conventions is not None and self.conventions.decoder == "Siglip"

    def as_sentencepiece(self) -> CodePointModel:
        """Return the model for texts between added tokens: this one, except for SENTENCEPIECE_DECODERS.

        For these classes, return the sentencepiece model without conventions and added tokens.
        """
        if self.conventions is None or self.conventions.decoder not in SENTENCEPIECE_DECODERS:
            return self
        types = bytearray(self.types)
        for token in self.added_tokens:
            if not token.special and types[token.id] == PieceType.USER_DEFINED:
                # Found before sentencepiece sees the text. A special token may be plain text: then sentencepiece
                # finds it, so it stays USER_DEFINED.
                types[token.id] = PieceType.CONTROL
        return self._replace(types=bytes(types), conventions=None, added_tokens=())

    @property
    def finds_symbols(self) -> bool:
        """Tell whether pieces of type USER_DEFINED are found in normalized text."""
        return self.conventions is None or self.conventions.symbols

    @cached_property
    def templates(self) -> Templates:
        """The ids around texts. Without a template: the bos control symbol before each text, if the model has it.

        Llama 2, Mistral and Gemma were trained on such texts, and their own programs encode them so.
        """
        if self.template is None:
            bos = self.control_id("bos")
            return around(() if bos is None else (bos,), ())
        made = around(*self.template)
        return made if self.pair_template is None else made._replace(pair=self.pair_template)

    def control_id(self, role: str) -> int | None:
        """Find the control symbol for a role; None if no control symbol has the role.

        Args:
            role: str – "bos", "eos" or "pad".
        """
        name = self.trainer[f"{role}_piece"].encode("utf-8", "surrogateescape")  # decoded so from the file
        # As in sentencepiece, only the name counts: the option bos_id may be the id of another piece.
        symbols = (i for i, kind in enumerate(self.types) if kind == PieceType.CONTROL)
        return next((i for i in symbols if self.piece(i) == name), None)

    @property
    def n_pieces(self) -> int:
        """Number of ids."""
        return len(self.types)

    def piece(self, i: int) -> bytes:
        """Return the piece of one id, without creating the list of all pieces."""
        ends = self._ends
        return self.piece_bytes[ends[i - 1] if i else 0 : ends[i]]

    @cached_property
    def _ends(self) -> array[int]:
        return array("I", self.piece_ends)

    @cached_property
    def pieces(self) -> list[bytes]:
        """The piece of each id."""
        ends = self._ends
        return [self.piece_bytes[start:end] for start, end in zip(chain((0,), ends), ends, strict=False)]

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """Dict from piece to id; of two equal pieces, as in sentencepiece, the id of the one that is not text."""
        ids = {piece: i for i, piece in enumerate(self.pieces)}
        if len(ids) < self.n_pieces:
            pairs = zip(self.pieces, self.types, strict=True)
            ids |= {piece: i for i, (piece, kind) in enumerate(pairs) if kind not in TEXT_TYPES}
        return ids


def pack_merges(merges: Iterable[tuple[int, int, int]]) -> bytes:
    """Pack merges, (left id, right id, merged id), in the form of `Model.merges`."""
    return array("I", chain.from_iterable(merges)).tobytes()


def unpack_merges(packed: Buffer) -> list[tuple[int, int, int]]:
    """Return packed merges as a list."""
    ids = iter(array("I", bytes(packed)))
    return list(zip(ids, ids, ids, strict=True))


def pack_pieces(pieces: Iterable[bytes]) -> tuple[bytes, bytes]:
    """Concatenate pieces; return the bytes, and the offset of the end of each piece as uint32."""
    listed = list(pieces)
    return b"".join(listed), array("I", accumulate(map(len, listed))).tobytes()
