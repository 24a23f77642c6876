"""Tokenizer: text to ids and back with one vocabulary. All its public methods are in this file.

`tokenizer_base` contains its private methods. `families` implements the differences between byte-level,
character-level and code-point vocabularies. Longer methods call functions in other modules of this folder. The
compiled core encodes and decodes.

Methods marked `@compiled` are declarations: signature and help for readers, editors and `help()`. Compiled code
replaces their bodies, because a Python frame would cost as much time as encoding a short text.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from fastbpe._core.decode import tokenizer_methods
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import integer, not_a_tokenizer
from fastbpe._utils.batches import OneText
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.model import AddedToken, Buffer
from fastbpe.patterns import Pattern, PatternLike
from fastbpe.tokenizer import flat_ids, numpy_output, own_tokens, plain_models
from fastbpe.tokenizer.surgery import adding
from fastbpe.tokenizer.tokenizer_base import CACHE_BYTES, TokenizerBase, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal, TypeAlias, overload

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self, Unpack

    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe._utils.choices import (
        Boundary,
        ChunkOptions,
        CutOptions,
        DecodeErrors,
        DocumentFormat,
        EncodeOptions,
        Format,
        Header,
        IdType,
        OnError,
        ReadErrors,
        Side,
        SpanOptions,
        Special,
        Unit,
        UnknownIds,
    )
    from fastbpe._utils.progress import Progress
    from fastbpe.corpus.corpora import Source
    from fastbpe.corpus.file_encoding import FilesSummary
    from fastbpe.corpus.listing import Path_
    from fastbpe.tokenizer.cutting.truncation import Chunk
    from fastbpe.tokenizer.export.verify_export import Verification
    from fastbpe.tokenizer.shown.explaining import Explanation
    from fastbpe.tokenizer.streams.conversation import Conversation
    from fastbpe.tokenizer.streams.interval_counts import IntervalCounter
    from fastbpe.tokenizer.streams.stream_encoder import StreamEncoder
    from fastbpe.vocabularies.changes import Change, RemovalReport
    from fastbpe.vocabularies.id_map import IdMap

    NumpyArray: TypeAlias = npt.NDArray[Any]
    DType: TypeAlias = npt.DTypeLike | None

Text = str | bytes
Span = tuple[int, int]  # (start, end)
Ids = Sequence[int] | Buffer
Batch = Iterable[Ids] | tuple[Buffer, Buffer]  # the tuple: ids and offsets


class Tokenizer(TokenizerBase):
    """BPE tokenizer. `train`, `load`, `Tokenizer.from_ranks` and `Tokenizer.from_merges` create one.

    A tokenizer never changes, so threads may share it. It can be pickled. Tokenizers with the same `fingerprint`
    are equal, whatever their names and file formats, and have the same hash.

    `mode` is the kind of its base symbols:

    - "byte": bytes, as in tiktoken, GPT-2, Llama 3 and Qwen.
    - "codepoint": code points, with the ids of sentencepiece, as in Llama 2. The control symbols of the model
      (`<s>` and so on) are its special tokens; with a sentencepiece model they decode to nothing. Text between two
      of them is encoded like a separate text.
    - "character": characters, spelled as in a tokenizer.json, as in CLIP. It returns the same ids as Hugging
      Face's tokenizers.

    ========== ==================================================================================================
    Group      Names
    ========== ==================================================================================================
    make       `from_ranks` `from_merges` `with_tokens` `with_special_tokens` `without_tokens` `prune`
    encode     `encode` `encode_ordinary` `encode_parts` `encode_with_template` `encode_with_offsets`; batches:
               `encode_batch` `encode_ordinary_batch` `encode_batch_with_offsets`; arrays: `encode_to_numpy`
               `encode_batch_to_numpy` `to_arrow`
    decode     `decode` `decode_batch` `decode_bytes` `decode_tokens_bytes`
    count, cut `count` `count_batch` `count_messages` `fits` `truncate` `truncate_batch` `chunk` `interval_counter`
    streams    `encoder` `decoder` `conversation`
    examine    `explain` `is_lossless` `pieces` `completions`
    tokens     `token_to_id` `id_to_token` `vocab` `vocab_size` `n_vocab` `merges` `special_tokens` `added_tokens`
               `roles` `bos_token_id` `eos_token_id` `pad_token_id` `unk_token_id` `template` `id_map`
    origin     `name` `mode` `model_type` `pattern` `training_report` `fingerprint`
    files      `save` `export` `encode_files`
    ========== ==================================================================================================

    >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abc": 257}
    >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
    >>> tokenizer.encode("abcab")
    [257, 256]
    >>> tokenizer.decode([257, 256])
    'abcab'
    """

    # Making a tokenizer

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: PatternLike,
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Tokenizer:
        """Create a tokenizer from token bytes and their ranks, which become their ids, as in tiktoken's Encoding.

        Args:
            ranks: every single byte and every token, with its rank. Gaps are allowed, and so is an empty token,
                which no text produces.
            pattern: split pattern: a name in `PATTERNS`, any regex, a list of regexes (each splits the pieces of
                the one before), or None for no splitting.
            special_tokens: text to id. No id may be a rank.
            name: shown in the repr, and saved.
            cache_bytes: maximum memory, in bytes, for the piece caches of all threads.

        Raises:
            VocabularyError: a byte is missing; a rank is given twice, is negative or too large.
            SpecialTokenError: a special token is empty, or clashes with another token.
            PatternError: the split pattern cannot be used.
            ValueError: cache_bytes is negative.

        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={"<|end|>": 257}).encode("ab c")
        [256, 32, 99]
        """
        return cls(plain_models.of_ranks(ranks, pattern, special_tokens, name), cache_bytes=cache_bytes)

    @classmethod
    def from_merges(
        cls,
        merges: Iterable[tuple[int, int]],
        *,
        pattern: PatternLike,
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Tokenizer:
        """Create a tokenizer from merges, as in minbpe: ids 0–255 are the bytes, merge i makes 256 + i.

        Encoding merges only the listed pairs, in the order of the list. It does not look up whole pieces first.

        Args:
            merges: pairs of ids. VocabularyError if a pair appears twice, or contains an id that is neither a
                byte nor made by an earlier merge.
            pattern, special_tokens, name, cache_bytes: as in `from_ranks`.

        >>> Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None).encode("abcab")
        [257, 256]
        """
        return cls(plain_models.of_merges(merges, pattern, special_tokens, name), cache_bytes=cache_bytes)

    # Encoding

    @compiled(Encoder.encode)
    def encode(
        self,
        text: Text,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        num_threads: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> list[int]:
        """Encode a text. A special token in the text is an error, unless the call allows it.

        Added tokens of a tokenizer.json that are not special (`<think>`) become ids in any text, as in tokenizers.
        Use `encode_parts` for text that you do not trust.

        Args:
            text: str, or UTF-8 as bytes, bytearray or memoryview.
            allowed_special: special tokens to encode as their ids: a set, or "all".
            disallowed_special: special tokens to refuse: a set; "all", for all that are not allowed; or (), to
                encode them like any text.
            num_threads: maximum number of threads, for a long text. None: FASTBPE_NUM_THREADS, or one per usable
                core.
            dropout: BPE dropout (Provilkov et al. 2020): probability of skipping a merge, 0 to 1, by the rule of
                sentencepiece for code points, of tokenizers otherwise. Special and added tokens stay whole. Only
                for BPE models; VocabularyError for others.
            seed: seed of the random numbers for dropout, 0 to 2**64 - 1. None: one from the operating system.
            with_template: add the ids of `template` before and after, such as `<s>` and `</s>`.

        Raises:
            SpecialTokenError (a ValueError): the text contains a disallowed special token.
            ValueError: the bytes are not UTF-8, num_threads, dropout or seed is out of range, or seed is given
                without dropout.
            TypeError: the text is of another type.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<|end|>": 257})
        >>> tokenizer.encode("abc"), tokenizer.encode("ab<|end|>", allowed_special="all")
        ([256, 99], [256, 257])
        >>> tokenizer.encode("abababc", dropout=0.5, seed=1)
        [256, 97, 98, 97, 98, 99]
        """

    @compiled(Encoder.encode_ordinary)
    def encode_ordinary(self, text: Text, *, num_threads: int | None = None) -> list[int]:
        """Encode a text in which special tokens are plain text; the rest is as in `encode`.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<b>": 257})
        >>> tokenizer.encode_ordinary("ab<b>")
        [256, 60, 98, 62]
        """

    @compiled(Encoder.encode_parts)
    def encode_parts(self, parts: Iterable[tuple[Text, bool]]) -> list[int]:
        """Encode a prompt of parts, with special and added tokens only within trusted parts.

        Use this to put text that you do not trust into a template. Text of an untrusted part never becomes the id
        of a special token, an added token (`<think>`) or a user-defined symbol of sentencepiece. If merging makes
        such an id, ids of smaller tokens replace it. There are three exceptions: white space that is not a special
        token, single bytes and characters (no other ids represent them), and the unknown token.

        Args:
            parts: (text, trusted) pairs; text is str, or bytes of UTF-8. TypeError for anything else.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None, special_tokens={"<b>": 256})
        >>> tokenizer.encode_parts([("a<b>", True), ("<b>", False)])
        [97, 256, 60, 98, 62]
        """

    def encode_with_template(self, text: Text, pair: Text | None = None) -> list[int]:
        """Encode a text, or two, and put the model's template around them (for one text, `template`).

        The ids equal `encode(text, pair, add_special_tokens=True)` in tokenizers: special tokens in the texts
        become their ids. For text that you do not trust, put the ids of `encode_parts` into `template` yourself.

        >>> Tokenizer.from_merges([], pattern=None).encode_with_template("ab", "c")
        [97, 98, 99]
        """
        return own_tokens.fill_template(self._family.templates, self.encode, text, pair)

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def encode_with_offsets(
            self, text: Text, *, as_numpy: Literal[False] = ..., **options: Unpack[SpanOptions]
        ) -> tuple[list[int], list[Span]]: ...
        @overload
        def encode_with_offsets(
            self, text: Text, *, as_numpy: Literal[True], **options: Unpack[SpanOptions]
        ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...

    @compiled(Encoder.encode_with_offsets)
    def encode_with_offsets(
        self,
        text: Text,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        unit: Unit = "char",
        as_numpy: bool = False,
    ) -> Any:
        r"""Encode a text, and return the (start, end) of each id, by default in characters of the text.

        If several tokens share a character's bytes, each spans that character, as in tokenizers. If a
        tokenizer.json normalizes text, spans tell where in the original text the tokens come from; if it trims
        offsets, they leave out the white space of tokens. With a sentencepiece model, the span is empty for a
        space that it puts before the text, and for all byte ids of a character except the last, as in
        sentencepiece.

        Args:
            text, allowed_special, disallowed_special: as in `encode`. For bytes, a span counts the characters of
                the decoded text.
            unit: "char", "byte" (of UTF-8) or "utf16" (16-bit units, as in JavaScript and Java). Spans cover the
                same characters in all units.
            as_numpy: return arrays: ids uint32 of shape (n,), spans int64 of shape (n, 2).

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> tokenizer.encode_with_offsets("ab\u00e9c")
        ([256, 195, 169, 99], [(0, 2), (2, 3), (2, 3), (3, 4)])
        >>> tokenizer.encode_with_offsets("ab\u00e9c", unit="byte")[1]
        [(0, 2), (2, 4), (2, 4), (4, 5)]
        """

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def encode_batch_with_offsets(
            self, texts: Iterable[Text], *, as_numpy: Literal[False] = ..., **options: Unpack[SpanOptions]
        ) -> list[tuple[list[int], list[Span]]]: ...
        @overload
        def encode_batch_with_offsets(
            self, texts: Iterable[Text], *, as_numpy: Literal[True], **options: Unpack[SpanOptions]
        ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

    @compiled(Encoder.encode_batch_with_offsets)
    def encode_batch_with_offsets(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        unit: Unit = "char",
        as_numpy: bool = False,
    ) -> Any:
        """Encode each text, in order, as `encode_with_offsets` does, on the calling thread.

        Args:
            texts, allowed_special, disallowed_special: as in `encode_batch`.
            unit: as in `encode_with_offsets`.
            as_numpy: return three arrays instead of a list of (ids, spans): ids of all texts, concatenated, uint32
                of shape (n,); spans, int64 of shape (n, 2); offsets, int64 of shape (len(texts) + 1,). The ids and
                spans of texts[i] go from offsets[i] up to offsets[i + 1].

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).encode_batch_with_offsets(["ab", "ca"])
        [([256], [(0, 2)]), ([99, 97], [(0, 1), (1, 2)])]
        """

    def explain(
        self, text: Text, *, allowed_special: Special = frozenset(), disallowed_special: Special = ()
    ) -> Explanation:
        """Encode a text step by step: normalized text, pieces, their merges and ids, and what decoding changes.

        For inspection only: it takes about a thousand times as long as `encode`. `print` shows a table. Special
        tokens are plain text, unless they are allowed, as in `count`.

        >>> tokenizer = Tokenizer.from_merges([(98, 99), (97, 98)], pattern="gpt2")
        >>> explanation = tokenizer.explain("abc ab")
        >>> [(piece.text, piece.ids) for piece in explanation.pieces]
        [('abc', (97, 256)), (' ab', (32, 257))]
        >>> explanation.pieces[0].merges
        (Merge(left=b'b', right=b'c', priority=0),)
        """
        from fastbpe.tokenizer.shown.explaining import explain  # here: few programs explain

        return explain(self, text, allowed_special, disallowed_special)

    def is_lossless(
        self, text: Text, *, allowed_special: Special = frozenset(), disallowed_special: Special = ()
    ) -> bool:
        """Tell whether decoding the ids of a text restores it. `explain(text).changes` shows the differences.

        A normalizer, unknown characters, or bytes without a token may change it; a lone surrogate of a str is
        lost. Special tokens are plain text, unless they are allowed, as in `count`.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None)
        >>> tokenizer.is_lossless("any text"), tokenizer.is_lossless(chr(0xD800))
        (True, False)
        """
        from fastbpe.tokenizer.shown.explaining import joined  # here: few programs need it

        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return self.decode(ids) == joined(text)

    @compiled(Encoder.encode_batch)
    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> list[list[int]]:
        """Encode each text, in order, as `encode` does. An error names the index of the text.

        Args:
            texts: iterable of str, or of bytes of UTF-8.
            num_threads, allowed_special, disallowed_special, with_template: as in `encode`.
            dropout, seed: as in `encode`. Seed and index of a text decide its random numbers: equal texts of a
                batch may get different ids; the first text gets the ids that `encode` returns.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).encode_batch(["ab", "abc"])
        [[256], [256, 99]]
        """

    @compiled(Encoder.encode_ordinary_batch)
    def encode_ordinary_batch(self, texts: Iterable[Text], *, num_threads: int | None = None) -> list[list[int]]:
        """Encode each text, in order, as `encode_ordinary` does; the rest is as in `encode_batch`.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).encode_ordinary_batch(["ab", "abc"])
        [[256], [256, 99]]
        """

    if TYPE_CHECKING:

        @overload
        def encode_to_numpy(
            self, text: Text, *, dtype: None = ..., out: None = ..., **options: Unpack[EncodeOptions]
        ) -> npt.NDArray[np.uint32]: ...
        @overload
        def encode_to_numpy(
            self, text: Text, *, dtype: DType = ..., out: NumpyArray | None = ..., **options: Unpack[EncodeOptions]
        ) -> NumpyArray: ...

    def encode_to_numpy(
        self,
        text: Text,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        num_threads: int | None = None,
        dtype: DType = None,
        out: NumpyArray | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> NumpyArray:
        """Encode a text into an array of shape (n_ids,), by default a new one of dtype uint32.

        Args:
            text and others: as in `encode`, with the same ids and errors.
            dtype: integer dtype, such as "uint16". None: the dtype of `out`, or uint32.
            out: array of one dimension whose first items become the ids; the view of them is returned.

        Raises:
            ValueError: `out` is too small, read-only or of another dtype, or the dtype is too small for an id.
                Nothing is written then.
            ImportError: numpy is not installed.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> tokenizer.encode_to_numpy("abc"), tokenizer.encode_to_numpy("abc", dtype="uint16")
        (array([256,  99], dtype=uint32), array([256,  99], dtype=uint16))
        """
        facts = ("encode_to_numpy", self, self.n_vocab, self.template if with_template else None)
        special = allowed_special, disallowed_special
        return numpy_output.encode(*facts, OneText((text,)), dtype, out, dropout, seed, *special, num_threads)[0]

    if TYPE_CHECKING:

        @overload
        def encode_batch_to_numpy(
            self, texts: Iterable[Text], *, dtype: None = ..., out: None = ..., **options: Unpack[EncodeOptions]
        ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
        @overload
        def encode_batch_to_numpy(
            self,
            texts: Iterable[Text],
            *,
            dtype: DType = ...,
            out: NumpyArray | None = ...,
            **options: Unpack[EncodeOptions],
        ) -> tuple[NumpyArray, npt.NDArray[np.int64]]: ...

    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        dtype: DType = None,
        out: NumpyArray | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        with_template: bool = False,
    ) -> tuple[NumpyArray, npt.NDArray[np.int64]]:
        """Encode texts into one concatenated array of ids. `decode_batch` accepts the result.

        Args:
            texts and others: as in `encode_batch`, with the same ids and errors.
            dtype, out: of the ids, as in `encode_to_numpy`.

        Returns:
            (ids, offsets): shape (n_ids,), by default uint32; int64 of shape (len(texts) + 1,). The ids of
            texts[i] are ids[offsets[i]:offsets[i + 1]].

        >>> ids, offsets = Tokenizer.from_merges([(97, 98)], pattern=None).encode_batch_to_numpy(["ab", "abc"])
        >>> ids.tolist(), offsets.tolist()
        ([256, 256, 99], [0, 1, 3])
        """
        facts = ("encode_batch_to_numpy", self, self.n_vocab, self.template if with_template else None)
        special = allowed_special, disallowed_special
        return numpy_output.encode(*facts, texts, dtype, out, dropout, seed, *special, num_threads)

    def to_arrow(
        self,
        texts: Any,
        *,
        dtype: npt.DTypeLike = "uint32",
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
    ) -> Any:
        """Encode texts into a pyarrow ListArray of ids. No row of Arrow texts becomes a Python object.

        Args:
            texts: pyarrow array or ChunkedArray of strings (or of binary that is UTF-8), or an iterable of str,
                bytes and None. Null texts become null lists.
            dtype: integer dtype of the ids, such as "uint16". ValueError if it is too small for an id.
            num_threads, allowed_special, disallowed_special: as in `encode_batch`.

        Returns:
            A ListArray; a LargeListArray from 2**31 ids on; a ChunkedArray of them for a ChunkedArray.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).to_arrow(["ab", None, "abc"]).to_pylist()
        [[256], None, [256, 99]]
        """
        from fastbpe.tokenizer.arrow import to_arrow  # here: it needs pyarrow

        return to_arrow(self, texts, dtype, allowed_special, disallowed_special, num_threads, self.n_vocab)

    def encode_files(
        self,
        inputs: Path_ | Iterable[Path_],
        out: Path_,
        *,
        separator: str | None = None,
        text_field: str = "text",
        format: DocumentFormat | None = None,
        document_start: str | None = None,
        document_end: str | None = None,
        dtype: IdType | None = None,
        num_threads: int | None = None,
        progress: Progress = None,
        overwrite: bool = False,
        shard: tuple[int, int] | None = None,
        on_error: OnError = "raise",
        errors: ReadErrors = "strict",
        header: Header | None = None,
    ) -> FilesSummary:
        r"""Encode the documents of files into one file of ids. Files are streamed.

        Special tokens in the texts are treated as plain text, because files are not trusted. The output appears
        whole or not at all. To resume a run that was stopped, call again with the same arguments: the result is
        byte for byte the same. A text file that is one document may be kept whole in memory if the tokenizer
        normalizes text, puts a space before it or works on code points. The same holds if the split pattern is
        None, "superbpe_lines" or one without a scanner: `repr` does not show "split by scanner". It also holds if
        an added token has the flag single_word or rstrip, or contains a letter or number before a space ("a b").
        docs/many-machines.md describes shards.

        Args:
            inputs: a path, a folder, a glob pattern ("data/*.jsonl"), or an iterable of these. A text file is one
                document; JSON lines have one per line, parquet and Arrow one per row.
            out: file of ids, in the format of its extension. .bin: the ids, little-endian; .npy: a numpy array of
                shape (n_ids,). Two files are written next to either: OUT.json (dtype, count, tokenizer), and
                OUT.offsets, little-endian int64: document i has the ids from offsets[i] up to offsets[i + 1].
                .idx: a .bin, and the index that Megatron-LM reads. .parquet, .arrow: one row per document, with
                lists in the column "input_ids".
            separator: string that ends each document in a text file; it is dropped. "\n": one document per line; a
                line may also end with "\r\n". Refused if no input is text.
            text_field: field of a JSON line, or column of a table, that contains the text; "doc.text" is the field
                "text" of the field "doc". Refused if no input has fields.
            format: format of all inputs, as for `train`. None: by name, or else by content.
            document_start, document_end: special tokens to put before and after each document, as parts of it.
            dtype: "uint16" or "uint32". None: the smaller one that fits every id of the vocabulary.
            num_threads: as in `encode`.
            progress: True: a bar on stderr; None: a bar if stderr is a terminal. Or a function, called as
                progress("encoding", done, total) with bytes of the inputs as stored.
            overwrite: replace an existing output, and the remains of an unfinished run with other arguments.
            shard: (number, number of shards): encode one part of the inputs, numbered from 0, into
                train-00003-of-00010.bin for (3, 10) and out="train.bin". Pass the same inputs to every call.
                `merge_shards` joins the shards into one file.
            on_error: "skip": leave out documents that cannot be read: lines and rows without text or not UTF-8,
                the rest of a damaged file; the summary counts and names them. "raise": they raise FormatError.
            errors: "replace": bytes that are not UTF-8 become U+FFFD. "strict": on_error decides.
            header: "llm.c": write llm.c's header of 1,024 bytes before the ids of a .bin; for uint32, the header
                of its files for Llama 3.

        Raises:
            FileExistsError: the output exists, or an unfinished run with other arguments has left files.
            FormatError: an input is damaged, not UTF-8, or lacks the field; the message names file and position.
            FileNotFoundError, SpecialTokenError, ValueError, ImportError: see the message; nothing is written.

        >>> import pathlib, tempfile
        >>> tokenizer = Tokenizer.from_merges([], pattern=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     text, out = pathlib.Path(folder, "a.txt"), pathlib.Path(folder, "a.bin")
        ...     _ = text.write_text("a\nb\n")
        ...     summary = tokenizer.encode_files(text, out, separator="\n", progress=False)
        ...     summary.n_documents, out.read_bytes()
        (2, b'a\x00b\x00')
        """
        from fastbpe.id_files import shards  # here: few programs encode files
        from fastbpe.tokenizer.files.file_jobs import job_of

        job = job_of(
            *(self.fingerprint, self.n_vocab, self._special.ids),
            dtype=dtype,
            document_start=document_start,
            document_end=document_end,
            separator=separator,
            text_field=text_field,
            format=format,
            on_error=on_error,
            errors=errors,
            header=header,
        )
        cut, running = self._family.cutter(self), (num_threads, progress)
        return shards.encode_files(inputs, out, job, self, cut, *running, overwrite=overwrite, shard=shard)

    def encoder(
        self, *, allowed_special: Special = frozenset(), disallowed_special: Special = "all"
    ) -> StreamEncoder:
        """Create a stream that encodes text as it arrives, to the same ids as `encode` of the whole text.

        Its `push` takes text and returns the ids that no later text can change; its `finish` returns the rest.
        With most tokenizers, it holds back the text after the last letter or number that a space, a newline, or a
        CJK comma or full stop follows: a few words. At byte level without a split pattern, or with a pattern of
        sets (`[a-z]+|[0-9]`), it holds back the text after the last place between two bytes that are adjacent in
        no token. With all others (Unigram models, "superbpe_lines", regexes without a scanner), it holds back all
        text. It also does so if a normalizer, an allowed special token or an added token may cross such a place.

        >>> stream = Tokenizer.from_merges([(97, 98)], pattern="gpt2").encoder()
        >>> [stream.push(text) for text in ("a", "b a", "b c")], stream.finish()
        ([[], [256], [32, 256]], [32, 99])
        """
        from fastbpe.tokenizer.streams.stream_encoder import StreamEncoder  # here: few programs encode streams

        chosen = self._special.choose(allowed_special, disallowed_special)
        return StreamEncoder(self, lambda: self._pair_cuts, *chosen)

    def conversation(
        self, *, allowed_special: Special = frozenset(), disallowed_special: Special = "all"
    ) -> Conversation:
        """Create a text that can grow and be edited, and whose ids always equal `encode`'s for the whole text.

        `append(text)` encodes only the end of the text again, and `replace(start, end, text)` only the text around
        the edit. `truncate_to(n)` drops text at the end (or at the start) so that at most n ids are left. Each
        returns the ids that changed. The time for an append does not grow with the text, except where `encoder`
        holds back all text: then each append encodes the whole text.

        >>> conversation = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="gpt2").conversation()
        >>> conversation.append("ab ab"), conversation.append("c")
        ((0, [256, 32, 256]), (2, [257]))
        >>> conversation.truncate_to(2), conversation.text, conversation.ids
        ((2, 3, []), 'ab ', [256, 32])
        """
        from fastbpe.tokenizer.streams.conversation import Conversation  # here: few programs keep conversations

        chosen = self._special.choose(allowed_special, disallowed_special)
        return Conversation(self, lambda: self._pair_cuts, *chosen)

    def completions(self, prefix: bytes | str) -> list[int]:
        """List the ids of the tokens whose bytes begin with a prefix (bytes, or a str), in the order of the bytes.

        For token healing: drop the last ids of a prompt, and let the model choose among the completions of their
        bytes. Special and added tokens are not included. For character-level tokens, the decoded bytes count.

        >>> tokenizer = Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
        >>> tokenizer.completions(b"ab"), tokenizer.completions("x")
        ([256, 257], [120])
        """
        if not isinstance(prefix, (bytes, str)):
            raise TypeError(f"prefix must be bytes or str, not {type(prefix).__name__}")
        return self._sorted_tokens.beginning_with(to_utf8(prefix) if isinstance(prefix, str) else prefix)

    def pieces(self, text: Text) -> list[tuple[int, int]]:
        """Split a text with the split pattern, and list the (start, end) of each piece in characters.

        No merge crosses a boundary of pieces, except the merges of whole words (BoundlessBPE).

        >>> Tokenizer.from_merges([], pattern="gpt2").pieces("It's 5 o'clock")
        [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9), (9, 14)]
        """
        return self._family.pieces(self, text)

    # Counting and cutting. By default, special tokens are text like any other, as in `encode_ordinary`.

    @compiled(Encoder.count)
    def count(
        self,
        text: Text,
        *,
        max_tokens: int | None = None,
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> int:
        """Count the ids of a text without making a list of them. By default, special tokens are plain text.

        Args:
            text, num_threads: as in `encode`.
            max_tokens: stop counting beyond it and return max_tokens + 1. The rest of a long text is not encoded.
            allowed_special: special tokens that count as one id: a set, or "all".
            disallowed_special: special tokens to refuse: a set, or "all" for all that are not allowed.

        Raises:
            SpecialTokenError (a ValueError): the text contains a disallowed special token.
            ValueError: max_tokens is negative, or the bytes are not UTF-8.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<s>": 257})
        >>> tokenizer.count("ababab"), tokenizer.count("ababab", max_tokens=1)
        (3, 2)
        >>> tokenizer.count("ab<s>"), tokenizer.count("ab<s>", allowed_special="all")
        (4, 2)
        """

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> npt.NDArray[np.int64]:
        """Count the ids of each text, as `count` does, into an int64 array of shape (len(texts),).

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).count_batch(["ab", "abc"]).tolist()
        [1, 2]
        """
        numpy = require_numpy("count_batch")
        encoder, texts = self._finding_in_all(texts, allowed_special, disallowed_special)
        counts = encoder._count_to_array(texts, num_threads)
        return numpy.frombuffer(counts, dtype=numpy.int64)  # type: ignore[no-any-return]

    def count_messages(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> int:
        """Count the tokens of a chat, including the tokens that mark roles and messages.

        A tokenizer from a model's folder has the model's own chat template, which needs jinja2 (the extra "chat"):
        the count is the number of ids of `apply_chat_template` in transformers. `load("gpt-oss-20b")` needs no
        template: its published format, harmony, is built in, but not for tools. For OpenAI's closed models, such
        as `load("gpt-4o")`, the result is an `EstimatedCount`, by OpenAI's published overhead.

        Args:
            messages: dicts with "role" and "content", as in chat APIs.
            tools: JSON schemas of functions, as in chat APIs.
            template: instead of the model's: a template in jinja2's language, the name of another template of the
                model, "harmony", or "openai". A template is a program: it runs in jinja2's sandbox.
            add_generation_prompt: also count the beginning of the assistant's next message, as in a request. An
                estimate always counts it, so False is then an error.

        Raises ChatError (a ValueError) if there is no template, or it has an error or cannot render these
        messages.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None, name="o200k_base")
        >>> tokenizer.count_messages([{"role": "user", "content": "Hi"}])
        EstimatedCount(12)
        """
        from fastbpe.chats.message_counts import count_messages  # here: few programs need it

        return count_messages(self, self._family.chat, messages, tools, template, add_generation_prompt)

    def interval_counter(
        self, text: str, *, allowed_special: Special = frozenset(), disallowed_special: Special = ()
    ) -> IntervalCounter:
        """Create a function of (start, end) that returns `count(text[start:end])`. The text must be a str.

        This makes one pass over the text; then each call takes microseconds. If `encoder` would hold back all
        text, each call encodes the whole slice instead.

        >>> counter = Tokenizer.from_merges([(97, 98)], pattern="gpt2").interval_counter("ab ab ab")
        >>> counter(0, 8), counter(1, 5)
        (5, 3)
        """
        from fastbpe.tokenizer.streams.interval_counts import IntervalCounter  # here: few programs count intervals

        return IntervalCounter(self, text, lambda: self._pair_cuts, allowed_special, disallowed_special)

    def fits(
        self,
        text: Text,
        max_tokens: int,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> bool:
        """Tell whether a text has at most max_tokens ids. Encodes only as much of the text as needed.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).fits("ababab", 3)
        True
        """
        n, allowed, disallowed = integer("max_tokens", max_tokens), allowed_special, disallowed_special
        return self.count(text, max_tokens=n, allowed_special=allowed, disallowed_special=disallowed) <= n

    if TYPE_CHECKING:

        @overload
        def truncate(
            self, text: Text, max_tokens: int, *, with_total: Literal[False] = ..., **options: Unpack[CutOptions]
        ) -> str: ...
        @overload
        def truncate(
            self, text: Text, max_tokens: int, *, with_total: Literal[True], **options: Unpack[CutOptions]
        ) -> tuple[str, int]: ...

    def truncate(
        self,
        text: Text,
        max_tokens: int,
        *,
        side: Side = "right",
        boundary: Boundary = "token",
        with_total: bool = False,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> str | tuple[str, int]:
        """Return the longest beginning of a text (with side="left", the longest end) of at most max_tokens ids.

        The cut is between characters, and never within an allowed special token. Encoded by itself, the part has
        at most max_tokens ids. It may be a few characters shorter than the longest if the text has no space after
        a letter or digit for more than 64 characters, or if the split pattern has no scanner (see `encode_files`).
        Without with_total, the time depends on the length of the part, not of the text.

        Args:
            text, allowed_special, disallowed_special: as in `count`.
            max_tokens: maximum number of ids of the part, 0 or more.
            side: side to cut off: "right", or "left" for the longest part up to the end.
            boundary: place of the cut: "token" (anywhere), or the end of a "word", "sentence" or "line", by the
                rules of `chunk`. If the part contains no such boundary, the next finer kind is used.
            with_total: also return the number of ids of the whole text, found in the same pass.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> tokenizer.truncate("ababab", 2), tokenizer.truncate("éa", 2, side="left")
        ('abab', 'a')
        >>> tokenizer.truncate("ab abab", 4, boundary="word", with_total=True)
        ('ab abab', 4)
        """
        from fastbpe.tokenizer.cutting.truncation import truncate  # here: few programs cut texts

        encoder = self._finding((text,), allowed_special, disallowed_special)
        return truncate(encoder, text, max_tokens, side, boundary, with_total=with_total)

    def truncate_batch(
        self,
        texts: Iterable[Text],
        max_tokens: int,
        *,
        side: Side = "right",
        boundary: Boundary = "token",
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> list[str]:
        """Truncate each text, in order, as `truncate` does. An error names the index of the text.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).truncate_batch(["ababab", "c"], 2)
        ['abab', 'c']
        """
        from fastbpe.tokenizer.cutting.truncation import truncate_batch

        encoder, texts = self._finding_in_all(texts, allowed_special, disallowed_special)
        return truncate_batch(encoder, texts, max_tokens, side, boundary)

    if TYPE_CHECKING:

        @overload
        def chunk(
            self, text: Text, max_tokens: int, *, with_spans: Literal[False] = ..., **options: Unpack[ChunkOptions]
        ) -> Iterator[str]: ...
        @overload
        def chunk(
            self, text: Text, max_tokens: int, *, with_spans: Literal[True], **options: Unpack[ChunkOptions]
        ) -> Iterator[Chunk]: ...

    def chunk(
        self,
        text: Text,
        max_tokens: int,
        *,
        overlap: int = 0,
        boundary: Boundary = "token",
        with_spans: bool = False,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = (),
    ) -> Iterator[str] | Iterator[Chunk]:
        """Cut a text into consecutive chunks of at most max_tokens ids, each as long as `truncate` would return.

        Boundaries: "line" is after a line break; "sentence" also after `.`, `!`, `?` and similar; "word" after
        white space, and around each ideograph and kana (docs/cutting-and-offsets.md has all rules). A line longer
        than max_tokens is cut between sentences, a sentence between words, a word anywhere.

        Args:
            text, allowed_special, disallowed_special: as in `truncate`.
            max_tokens: maximum number of ids of a chunk, 1 or more. Iterating raises ValueError if a single
                character has more, or NoUnknownTokenError if the text needs an unknown token that the model lacks.
            overlap: maximum number of ids at the end of a chunk that the next chunk repeats, from a boundary on;
                fewer if no new character would fit. 0 or more, less than max_tokens.
            boundary: places of the cuts: "token" (anywhere between characters), "word", "sentence" or "line".
            with_spans: yield a named tuple (text, start, end, n_tokens) for each chunk: its position in the text,
                in characters, and its number of ids when encoded by itself.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None)
        >>> list(tokenizer.chunk("abcdefg", 3)), list(tokenizer.chunk("abcdef", 3, overlap=1))
        (['abc', 'def', 'g'], ['abc', 'cde', 'ef'])
        >>> [tuple(chunk) for chunk in tokenizer.chunk("one two", 6, boundary="word", with_spans=True)]
        [('one ', 0, 4, 4), ('two', 4, 7, 3)]
        """
        from fastbpe.tokenizer.cutting.truncation import chunk

        encoder = self._finding((text,), allowed_special, disallowed_special)
        return chunk(encoder, text, max_tokens, overlap, boundary, with_spans=with_spans)

    # Decoding

    @compiled(tokenizer_methods.decode)
    def decode(
        self,
        ids: Ids,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> str:
        """Decode ids to text, including special tokens. Control symbols of sentencepiece decode to nothing.

        Args:
            ids: a list, an array or any sequence of integers.
            errors: treatment of bytes that are not UTF-8: "replace" (by U+FFFD), "strict", "ignore", or the name
                of another error handler of `codecs`. "replace" gives the same text as tiktoken, sentencepiece or
                tokenizers. With a sentencepiece model, each byte that is not part of a character becomes U+FFFD;
                with a tokenizer.json of code points, each byte id of a run that is not UTF-8 as a whole.
            num_threads: maximum number of threads, for a long list. None: as in `encode`.
            unknown_ids: treatment of ids without a token, negative ones included: "raise", "skip" or "replace" (by
                U+FFFD each).
            skip_special_tokens: leave special tokens out. Added tokens that are not special stay.

        Raises:
            InvalidTokenError (a KeyError): an id has no token, and unknown_ids is "raise".
            UnicodeDecodeError: the bytes are not UTF-8, and errors is "strict".
            LookupError: no error handler has this name.
            TypeError: ids are not integers; True and False are refused.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None, special_tokens={"<end>": 256})
        >>> tokenizer.decode([72, 105, 256])
        'Hi<end>'
        >>> tokenizer.decode([72, 105, 256, 300], unknown_ids="skip", skip_special_tokens=True)
        'Hi'
        """

    def decode_batch(
        self,
        batch_of_ids: Batch,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does. An error names the index of the sequence.

        Args:
            batch_of_ids: an iterable of sequences of ids; a tuple (ids, offsets) of two arrays, as
                returned by `encode_batch_to_numpy`, where sequence i is ids[offsets[i]:offsets[i + 1]]; or a
                pyarrow array of lists. To decode two arrays as two sequences, pass a list of them.
            errors, num_threads, unknown_ids, skip_special_tokens: as in `decode`.

        Raises:
            ValueError: the offsets decrease, or do not go from 0 to the number of ids; or an Arrow list is null.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> tokenizer.decode_batch([[256], [256, 99]])
        ['ab', 'abc']
        >>> tokenizer.decode_batch(tokenizer.encode_batch_to_numpy(["ab", "abc"]))
        ['ab', 'abc']
        """
        tokenizer_methods.check_errors(errors)
        decoding = self._skipping if skip_special_tokens else self._decoding
        return decoding.decode_batch(flat_ids.sequences(batch_of_ids), errors, num_threads, unknown_ids)

    def decoder(
        self,
        *,
        errors: DecodeErrors = "replace",
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> StreamDecoder:
        """Create a stream that decodes ids as they arrive and never returns part of a character.

        Its `push` takes one id or several and returns the text that they complete; its `finish` returns the rest.
        Concatenated, the results equal the result of `decode` for all ids, with one exception. A stream cannot
        take back text: if the first byte ids of a run made characters, but the whole run is not UTF-8, the stream
        replaces only the later ids of the run by U+FFFD; `decode` replaces all.

        Args:
            errors, unknown_ids, skip_special_tokens: as in `decode`. A model with more rows than its tokenizer has
                tokens may sample an id without a token: with "skip" or "replace" the stream continues.

        Raises:
            ValueError: text depends on later ids, such as in a sentencepiece model with rules for decoded text.

        >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
        >>> [stream.push(token_id) for token_id in "né".encode()], stream.finish()
        (['n', '', 'é'], '')
        """
        tokenizer_methods.check_errors(errors)
        return self._family.stream(errors, unknown_ids, skips=skip_special_tokens)

    def decode_bytes(self, ids: Ids) -> bytes:
        r"""Decode ids to bytes. The ids of a text decode to exactly its UTF-8, if `is_lossless(text)`.

        Raises InvalidTokenError (a KeyError) if an id has no token.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).decode_bytes([256, 255])
        b'ab\xff'
        """
        return self._decoding.decode_bytes(ids)

    def decode_tokens_bytes(self, ids: Ids) -> list[bytes]:
        """List the bytes that each id adds to the text. Joined, they equal the result of `decode_bytes`.

        One exception: in code-point mode, the first id keeps the space that `decode_bytes` drops at the beginning.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).decode_tokens_bytes([256, 99])
        [b'ab', b'c']
        """
        return self._family.surfaces.tokens(ids)

    # Tokens and ids

    @compiled(tokenizer_methods.token_to_id)
    def token_to_id(self, token: bytes | str) -> int | None:
        """Find the id of a token, ordinary or special, by its bytes or its text; None if it is not a token.

        If several tokens have these bytes, the lowest id is returned. In code-point mode, a space also matches
        U+2581.

        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> tokenizer.token_to_id("ab"), tokenizer.token_to_id(b"abc")
        (256, None)
        """

    @compiled(tokenizer_methods.id_to_token)
    def id_to_token(self, token_id: int) -> bytes:
        """Return the bytes of an id; for a control symbol or the unknown piece, its text in the model.

        Raises InvalidTokenError (a KeyError) if the id has no token.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).id_to_token(256)
        b'ab'
        """

    @property
    def vocab(self) -> list[bytes]:
        """New list of the bytes of every id below n_vocab, b"" for an id without a token. Creating it is slow.

        Code points: the bytes that each id adds to a decoded text, b"" for control symbols of a sentencepiece
        model.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None).vocab[254:]
        [b'\\xfe', b'\\xff', b'ab']
        """
        return self._family.vocab()

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including special tokens.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<s>": 300}).vocab_size
        258
        """
        return self._family.n_tokens

    @property
    def n_vocab(self) -> int:
        """Greatest id + 1: number of rows of an embedding. Ids below it may have no token.

        >>> Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<s>": 300}).n_vocab
        301
        """
        return self._family.n_ids

    @property
    def merges(self) -> list[tuple[int, int]]:
        """New list of pairs of ids in the order of merging: the given merges, or the merges that the ranks imply.

        A token has no merge if merging its bytes leaves several tokens, which may happen with ranks.

        >>> Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None).merges
        [(97, 98), (256, 99)]
        """
        return self._family.merges()

    @property
    def added_tokens(self) -> list[AddedToken]:
        """New list of added tokens: all tokens found in any text, and some special tokens.

        Special tokens are listed if they have flags or are also ordinary tokens; for a tokenizer.json of code
        points, all are listed. Empty for a sentencepiece model: its user-defined pieces are not listed here.

        >>> Tokenizer.from_merges([], pattern=None).added_tokens
        []
        """
        return list(self._special.added)

    @property
    def special_tokens(self) -> dict[str, int]:
        """New dict of special tokens and their ids, in the order of ids.

        >>> Tokenizer.from_merges([], pattern=None, special_tokens={"<s>": 256}).special_tokens
        {'<s>': 256}
        """
        return dict(self._special.ids)

    @property
    def bos_token_id(self) -> int | None:
        """Id of the token that begins a text, such as `<s>`; None if no token has this role: see `roles`.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None, special_tokens={"<|endoftext|>": 256})
        >>> tokenizer.bos_token_id, tokenizer.eos_token_id
        (None, 256)
        """
        return self._roles["bos"]

    @property
    def eos_token_id(self) -> int | None:
        """Id of the token that ends a text, such as `</s>`; None if no token has this role: see `roles`.

        >>> Tokenizer.from_merges([], pattern=None, special_tokens={"</s>": 256}).eos_token_id
        256
        """
        return self._roles["eos"]

    @property
    def roles(self) -> dict[str, str]:
        """New map of roles ("bos", "eos", "unk", "sep", "pad", "cls" and "mask") to tokens, as far as they exist.

        A role goes to the first of these that is a token of this tokenizer:

        1. the token in the argument roles=, or in its files: `tokenizer_config.json`, `special_tokens_map.json` or
           `generation_config.json` of a folder, else the control symbol of a sentencepiece model or the
           `unk_token` of a tokenizer.json;
        2. bos: the first id that `template` puts before a text; eos: the last id that it puts after a text;
        3. the first of these special tokens. bos: `<s>`, `<|begin_of_text|>`, `<｜begin▁of▁sentence｜>`, `<bos>`,
           `<|bos|>`, `<|startoftext|>`, `[BOS]`; eos: `</s>`, `<|end_of_text|>`, `<｜end▁of▁sentence｜>`, `<eos>`,
           `<|eos|>`, `<|endoftext|>`, `[EOS]`; pad: `<pad>`, `<|pad|>`, `<｜▁pad▁｜>`,
           `<|finetune_right_pad_id|>`, `[PAD]`; the others: `<unk>`, `<|unk|>`, `[UNK]`, and so on.

        Roles change no ids: `encode` and `fingerprint` do not depend on them.

        >>> Tokenizer.from_merges([], pattern=None, special_tokens={"<|bos|>": 256, "[SEP]": 257}).roles
        {'bos': '<|bos|>', 'sep': '[SEP]'}
        """
        names = self._special.names
        found = ((role, token_id) for role, token_id in self._roles.items() if token_id is not None)
        return {role: names.get(i) or self.id_to_token(i).decode(errors="replace") for role, i in found}

    @property
    def pad_token_id(self) -> int | None:
        """Id of the padding token, which fills up a batch, or None. See `roles` for the rules.

        >>> Tokenizer.from_merges([], pattern=None, special_tokens={"<pad>": 256}).pad_token_id
        256
        """
        return self._roles["pad"]

    @property
    def unk_token_id(self) -> int | None:
        """Id for text that no other token covers; None if no token has this role: see `roles`.

        >>> Tokenizer.from_merges([], pattern=None, special_tokens={"<unk>": 256}).unk_token_id
        256
        """
        return self._roles["unk"]

    @property
    def template(self) -> tuple[list[int], list[int]]:
        """Ids before a text, and ids after it, such as `<s>` and `</s>`; `encode` does not add them by default.

        A tokenizer.json contains them. A sentencepiece `.model` does not: its template is the bos token before a
        text and nothing after it. In a folder with a `tokenizer_config.json`, the template is as in transformers:
        its class has one, as T5's, or `add_bos_token` and `add_eos_token` decide, which are false by default.

        >>> Tokenizer.from_merges([], pattern=None).template
        ([], [])
        """
        return self._template_ids()

    # Origin and rules

    @property
    def name(self) -> str | None:
        """Name given to `from_ranks` or `from_merges`, or name under which the vocabulary is published.

        >>> Tokenizer.from_merges([], pattern=None, name="bytes").name
        'bytes'
        """
        return self._family.own.name

    @property
    def mode(self) -> str:
        """Kind of base symbols: "byte", "codepoint" or "character".

        >>> Tokenizer.from_merges([], pattern=None).mode
        'byte'
        """
        return self._family.mode

    @property
    def model_type(self) -> str:
        """Method by which pieces of text become tokens, with the name used in a tokenizer.json.

        "BPE": neighbours merge; "Unigram": the tokens with the greatest sum of scores; "WordPiece": the longest
        token at each place; "WordLevel": a piece is a token; "Char" (sentencepiece's): a character is a token.

        >>> Tokenizer.from_merges([], pattern=None).model_type
        'BPE'
        """
        return self._family.model_type

    @property
    def pattern(self) -> Pattern:
        r"""Split pattern: a regex, or a tuple of regexes: each splits the pieces of the one before.

        None: no splitting, or splitting that no regex can express: see `fastbpe.steps`.

        >>> Tokenizer.from_merges([], pattern=r"\w+|\W").pattern
        '\\w+|\\W'
        """
        return self._family.pattern

    @property
    def training_report(self) -> dict[str, Any]:
        """Options and statistics of `train`; empty if fastbpe did not train it, or its file does not store them.

        >>> Tokenizer.from_merges([], pattern=None).training_report
        {}
        """
        return dict(self._family.own.training)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) of all that decides the ids of `encode`: tokens, merges, split pattern and rules.

        Equal fingerprints mean equal ids. The same ids may have different fingerprints: a list of merges differs
        from the ranks that lead to the same ids.

        >>> Tokenizer.from_merges([], pattern=None).fingerprint[:12]
        '118bb2f1d15b'
        """
        return self._family.fingerprint

    # Extending and writing

    def with_tokens(self, tokens: Mapping[str, int] | Sequence[str | AddedToken]) -> Tokenizer:
        """Return a tokenizer with more added tokens, which are found in any text. This tokenizer does not change.

        All ids stay. Text becomes an added token before it is split and merged, as in the tokenizers library: the
        leftmost match wins, and the longest of several there. In untrusted parts, `encode_parts` finds only added
        tokens that consist of white space. In a sentencepiece model, added tokens become user-defined pieces: they
        have no flags, and sentencepiece finds them, too.

        Args:
            tokens: text to id; for code points, ids that follow the last one without a gap. Or a list of texts and
                `AddedToken`s, which have flags: those that are added tokens already keep their ids, others get ids
                from n_vocab on, in order. One with special=True becomes a special token. An ordinary token with
                exactly this text becomes the added token if its id is passed.

        Raises SpecialTokenError if a text is empty, is a special token, is an ordinary token but passed without
        its id, or already has another id, or if an id is taken.

        >>> from fastbpe import AddedToken
        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> extended = tokenizer.with_tokens(["<x>", AddedToken("abc", single_word=True)])
        >>> extended.encode("ab<x>"), extended.encode("abcd abc")
        ([256, 257], [256, 99, 100, 32, 258])
        """
        new = self._new_tokens(tokens, "tokens", special=False)
        return self._of(self._family.with_added(new, "tokens"))

    def with_special_tokens(
        self,
        special_tokens: Mapping[str, int] | Sequence[str | AddedToken],
        *,
        reserved: int = 0,
        reserved_name: str = "<|reserved_special_token_{}|>",
        pad_to_multiple_of: int | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Tokenizer:
        """Return a tokenizer with more special tokens. This tokenizer does not change.

        Args:
            special_tokens: as `tokens` of `with_tokens`, with its errors; each becomes a special token.
            reserved: int – number of further special tokens, reserved for later use.
            reserved_name: str – their name, with {} for their number, which counts from 0 and skips names that are
                taken.
            pad_to_multiple_of: int – reserve more tokens until n_vocab is a multiple of this number.
            roles: "bos", "eos", "unk", "sep", "pad", "cls" or "mask" to its special token, old or new; see
                `roles`. SpecialTokenError for another role, or a token that is not special.

        >>> tokenizer = Tokenizer.from_merges([], pattern=None)
        >>> tokenizer.with_special_tokens(["<s>"], reserved=2, reserved_name="<r{}>").special_tokens
        {'<s>': 256, '<r0>': 257, '<r1>': 258}
        >>> tokenizer.with_special_tokens(["<s>"], pad_to_multiple_of=128).n_vocab
        384
        >>> tokenizer.with_special_tokens(["<go>"], roles={"bos": "<go>"}).bos_token_id
        256
        """
        new = self._new_tokens(special_tokens, "special_tokens", special=True)
        known, n_vocab = self._special, self.n_vocab
        new = adding.with_reserved(new, known, self._find, n_vocab, reserved, reserved_name, pad_to_multiple_of)
        extended = self._of(self._family.with_added(new, "special_tokens"))
        return extended if roles is None else extended._with_roles(roles)

    def without_tokens(
        self, tokens: Iterable[int | str | bytes], *, keep_ids: bool = False
    ) -> Change[Self, RemovalReport]:
        """Return a tokenizer without some tokens. This tokenizer does not change.

        Each token is made by a merge of two tokens: its makers. A token is made as before if its makers, their
        makers and so on all stay. So a text keeps its ids (with their new numbers) if no token of the text is
        removed, or made from a removed one. A token made from a removed one is remade from others, or removed too.
        Decoding the ids of a text still restores it as before. docs/vocabularies.md has the rules, and lists the
        tokens that cannot be removed.

        Args:
            tokens: ids, texts or bytes. A text is first looked up among special and added tokens.
            keep_ids: bool – keep the ids of the other tokens, with gaps for the removed ones; False: number all
                from 0, in the old order, without gaps. Must be False in code-point mode.

        Returns:
            The tokenizer and the `IdMap` from its old ids: a pair with attributes tokenizer, id_map and report.

        Raises ValueError if a token is unknown, cannot be removed (VocabularyError), or for keep_ids=True in
        code-point mode.

        >>> old = Tokenizer.from_merges([(97, 98), (256, 99), (98, 99)], pattern=None)
        >>> new, id_map = old.without_tokens(["bc"])
        >>> old.encode("abc bc"), new.encode("abc bc")
        ([257, 32, 258], [257, 32, 98, 99])
        >>> changed = old.without_tokens(["ab"])
        >>> changed.tokenizer.encode("abc"), changed.report.lost, changed.report.remade
        ([256], (), {256: (97, 257)})
        """
        return self._remover().without_tokens(tokens, keep_ids)

    def prune(
        self,
        *,
        keep: int | None = None,
        corpus: Source | None = None,
        min_count: int | None = None,
        keep_ids: bool = False,
        separator: str | None = None,
        text_field: str = "text",
        format: DocumentFormat | None = None,
    ) -> Change[Self, RemovalReport]:
        """Return a tokenizer with only the best tokens, or the tokens that a corpus uses. This one stays the same.

        The base (bytes, characters, byte fallback, unknown piece) and special and added tokens always stay. The
        tokens from which a kept token is made also stay. So a text keeps its ids if all its tokens stay.

        Args:
            keep: int – number of tokens that stay, including base and special tokens: the tokens that a corpus
                uses most. Among equals, or without a corpus, the tokens that merge first (by rank, score or list)
                stay.
            corpus: paths or texts, as for `train`; encoded as with `encode_ordinary`.
            min_count: int – without keep: keep the tokens that occur at least this often in the corpus; None: 1.
            keep_ids: bool – as in `without_tokens`.
            separator, text_field, format: options for reading the corpus, as for `train`.

        Returns:
            As for `without_tokens`. report.makers has the tokens that stay only because tokens of the corpus are
            made from them.

        Raises:
            ValueError: the arguments contradict each other; keep is less than the number of tokens that always
                stay, or more than all; the corpus contains no tokens; keep_ids=True in code-point mode; an
                option has no effect (OptionError).

        >>> old = Tokenizer.from_merges([(97, 98), (256, 99), (98, 99)], pattern=None)
        >>> new, id_map = old.prune(corpus=["abc"])
        >>> new.vocab[256:], old.prune(corpus=["abc"]).report.makers
        ([b'ab', b'abc'], (256,))
        >>> old.prune(keep=257).tokenizer.vocab_size
        257
        """
        from fastbpe.corpus.corpora import Corpus  # here, like the next import: few programs prune
        from fastbpe.tokenizer.surgery.removing import check_prune, count_ids

        n_kept, least_count = check_prune(keep, corpus, min_count)
        read = Corpus.given(corpus, separator=separator, text_field=text_field, format=format)
        counts = None if read is None else count_ids(read, self.encode_ordinary_batch, self._family.cutter(self))
        return self._remover().prune(n_kept, counts, least_count, keep_ids)

    def id_map(self, old: Tokenizer) -> IdMap:
        """Return the map from the ids of another tokenizer, of any mode, to the ids of this one.

        Tokens are the same if their bytes are equal, and both are found by name (special and added tokens), both
        are bytes of byte fallback, or both are ordinary tokens. If the other tokenizer lacks a token, it merges
        the token's bytes (without splitting, and without the unknown id). The token's embedding row starts as the
        mean of the rows of the resulting ids.

        Raises TypeError if the other tokenizer is not a Tokenizer.

        >>> old = Tokenizer.from_merges([(97, 98)], pattern=None)
        >>> new = Tokenizer.from_merges([(98, 99), (97, 98), (257, 99)], pattern=None)
        >>> id_map = new.id_map(old)
        >>> id_map, id_map.init_from[256:]
        (<fastbpe.IdMap from 257 ids to 259: 257 kept, 0 removed, 2 new>, ((98, 99), (256,), (256, 99)))
        """
        from fastbpe.tokenizer.surgery.entries import map_families  # here: few programs need it

        if not isinstance(old, Tokenizer):
            raise not_a_tokenizer("old", old)
        return map_families(old._family, self._family)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole tokenizer into a file for `load`, in the format of the file's extension, as in `export`.

        A FormatError names a part that decides ids and that the format cannot store. Formats other than `.fbpe`
        may leave out roles, tokens around texts, chat templates and the training report. The file is written
        atomically; a read-only file is kept (PermissionError).

        >>> import pathlib, tempfile
        >>> from fastbpe import load
        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "ab.fbpe")
        ...     tokenizer.save(path)
        ...     load(path) == tokenizer
        True
        """
        from fastbpe.tokenizer.export.export import LOSSY, check_holds_all, format_for

        format = format_for(path, self)
        if format in LOSSY:
            check_holds_all(path, self, format)
        self.export(path, format=format)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Format | None = None,
        verify: bool = True,
        verify_text: str | None = None,
        drop: Iterable[str] = (),
        roles: Mapping[str, str] | None = None,
    ) -> Verification | None:
        """Write the vocabulary in a format; `load` reads them all. If an error occurs, no file is written.

        Formats, with the extensions of path that choose them if `format` is None:

        - "native" (`.fbpe`, or no extension): everything.
        - "huggingface" (`.json`): a tokenizer.json, with which tokenizers returns the ids of
          allowed_special="all".
        - "gguf" (`.gguf`): llama.cpp's format, only metadata without tensors.
        - "sentencepiece" (`.model`): code points and Unigram only.
        - byte level only: "tiktoken" (`.tiktoken`), without split pattern and special tokens; "gpt2" (a folder):
          vocab.json and merges.txt, without split pattern; "minbpe" (`.model`); "tekken": Mistral's tekken.json,
          whose special tokens have the first ids; "boundless" (`.model` for superwords of whole words): the format
          of BoundlessBPE's second version. Only this format and "native" can store such superwords.

        Args:
            path: file to write; for "gpt2" a folder, which is created if it does not exist. For "huggingface", a
                path without `.json` is a folder for transformers, with a tokenizer.json and a
                tokenizer_config.json. The parent folder must exist.
            format: one of the formats, or None.
            verify: before writing, read the new files back and compare ids on the text of every token and on many
                pairs of tokens: up to a second for the largest vocabularies. If the format lacks the split pattern
                or the special tokens, the comparison supplies them.
            verify_text: additional text to compare, line by line, also with the library that owns the format
                (tokenizers, tiktoken, sentencepiece) if it is installed.
            drop: ["normalizer"]: leave the normalizer out, even if the ids of some texts change. Use this for
                formats that cannot store it, and normalize texts before you encode them with the file.
            roles: as in `with_special_tokens`. Only "native", "huggingface" (a folder), "gguf" and "sentencepiece"
                can store them.

        Returns:
            A named tuple: number of texts compared, the library that took part, the dropped parts, the number of
            texts for which ids differ, and the first 8 of these texts. Ids may differ only because of drop, or
            because libraries add a unigram model's scores differently. None if nothing was compared.

        Raises:
            FormatError: the format cannot store this vocabulary, or ids would differ; nothing is written. The
                message names the loss, or a text with both lists of ids and the first tokens that differ. (Two
                cases lead only to a FormatWarning that some texts may get other ids: a unigram model for another
                library, and a GGUF file of a WordPiece or SuperBPE model.)

        >>> import pathlib, tempfile
        >>> tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tokenizer.json")
        ...     verified = tokenizer.export(path, format="huggingface", verify_text="abc ab")
        >>> verified.owner
        'tokenizers'
        """
        from fastbpe.tokenizer.export.export import export  # here: it imports all formats

        named, has_roles = self if roles is None else self._with_roles(roles), roles is not None
        return export(path, named, format, verify=verify, verify_text=verify_text, drop=drop, has_roles=has_roles)
