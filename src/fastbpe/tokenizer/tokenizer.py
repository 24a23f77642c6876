"""Tokenizer: the facade over one vocabulary, one splitter and some special tokens."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.decoding_encoder import check_errors
from fastbpe._core.merge.table_builder import build_look_ups, build_tables
from fastbpe._core.merge.vocabulary import MAX_IDS, Vocabulary
from fastbpe._utils.caching import cached_property
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.errors import SpecialTokenError, VocabularyError
from fastbpe.formats import native
from fastbpe.model import TEXT, Buffer, Model, Templates, pack_merges
from fastbpe.patterns import PatternLike, shown_pattern
from fastbpe.tokenizer import components
from fastbpe.tokenizer.own_tokens import OwnTokens
from fastbpe.tokenizer.properties import Described
from fastbpe.tokenizer.special_tokens import SpecialTokens, number
from fastbpe.tokenizer.truncation import MeasuringEncoder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe._utils.progress import Progress
    from fastbpe.corpus.encode_files import FilesSummary
    from fastbpe.corpus.sources import Path_
    from fastbpe.tokenizer.verify_export import Verification

CACHE_BYTES = 64 << 20  # by default

Text = str | bytes
Special = str | Collection[str]  # "all" or a set of special tokens


class Tokenizer(MeasuringEncoder, Described, OwnTokens):
    """Byte-level BPE: text to ids and back. Made by `train`, `load` or `Tokenizer.from_ranks`.

    Immutable, so any thread may use it; picklable, and equal to and hashed like another of the same tokens,
    merges, special tokens and split pattern (as it is spelt), whatever files they come from.

    >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abc": 257}
    >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
    >>> tokenizer.encode("abcab")
    [257, 256]
    >>> tokenizer.decode([257, 256])
    'abcab'
    """

    def __init__(self, model: Model, *, cache_bytes: int = CACHE_BYTES) -> None:
        if not isinstance(cache_bytes, int) or cache_bytes < 0:
            raise ValueError(f"cache_bytes={cache_bytes!r}: give the bytes that piece caches may take")
        if not isinstance(model, Model):
            raise TypeError(f"model must be a Model, not {type(model).__name__}; fastbpe.load reads a file")
        model, self._pattern_name, self._pattern, self._splitter = components.splitting(model)
        tables = model.tables
        merges = model.merges if model.merges_rule == "merges" else None
        if tables is None:
            tables = build_tables(model.tokens or [], merges)
        elif "pieces" not in tables or not {"pairs", "pair_lines"} & tables.keys():
            tables = build_look_ups(tables["token_bytes"], tables["token_ends"], merges)
        self._vocabulary = Vocabulary(
            **tables, whole_piece_first=model.whole_piece_first, drops_bytes=model.drops_bytes, code_points=None
        )
        self._model = replace(model, tokens=None, tables=None)
        front, normalize = components.front(model)
        self._special = SpecialTokens(model.special_tokens, self._vocabulary, model.added_tokens, normalize)
        self._decoder = Decoder(self._vocabulary, [*self._special.decoded.items()])
        self._cache_bytes = cache_bytes
        super().__init__(
            self._vocabulary,
            self._splitter,
            special=self._special,
            front=front,
            cache_bytes=cache_bytes,
            trimmer=components.trimmer(model, self._vocabulary.tokens),
        )

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
        """A tokenizer from token bytes and their ranks, which are their ids, as tiktoken's Encoding takes them.

        Args:
            ranks: every single byte and every token, with its rank; gaps are allowed.
            pattern: a name in `PATTERNS`, any regex, a list of regexes (each cuts the pieces of the one before),
                or None for no splitting.
            special_tokens: text to id; no id may be a rank.
            name: shown in the repr, saved, and without effect on ids.
            cache_bytes: what its piece caches may take, those of all threads together; without effect on ids.

        Raises:
            VocabularyError: a byte is missing, a rank is given twice, is negative or too large.
            SpecialTokenError: a special token is empty, or clashes with another token.
        """
        for token, rank in ranks.items():
            if not isinstance(token, bytes) or not token:
                raise VocabularyError(f"token {token!r} must be bytes, and not empty")
            if not (type(rank) is int or hasattr(rank, "__index__")) or not 0 <= rank < MAX_IDS:
                raise VocabularyError(f"token {token!r} has the rank {rank!r}: not in 0..{MAX_IDS - 1}")
        tokens = [b""] * (int(max(ranks.values(), default=-1)) + 1)  # numpy's ints are ranks, too
        for token, rank in ranks.items():
            if tokens[rank]:
                raise VocabularyError(f"tokens {tokens[rank]!r} and {token!r} have the same rank {rank}")
            tokens[rank] = token
        model = Model(tokens=tokens, pattern=pattern, special_tokens=special_tokens or {}, name=name)
        return cls(model, cache_bytes=cache_bytes)

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
        """A tokenizer from a list of merges, as minbpe has them: ids 0–255 are the bytes, merge i makes 256 + i.

        Only the listed pairs are ever merged, in the order of the list; a whole piece is not looked up first.

        Args:
            merges: pairs of ids.
            pattern, special_tokens, name, cache_bytes: as in `from_ranks`.

        Raises:
            VocabularyError: a merge names an id that is made later or never, or a pair stands twice.
        """
        tokens = [bytes([byte]) for byte in range(256)]
        triples: list[tuple[int, int, int]] = []
        for left, right in merges:
            if not (0 <= left < len(tokens) and 0 <= right < len(tokens)):
                raise VocabularyError(
                    f"merge {len(triples)}: ({left}, {right}) names an id that no earlier merge makes"
                )
            triples.append((left, right, len(tokens)))
            tokens.append(tokens[left] + tokens[right])
        model = Model(
            tokens=tokens,
            pattern=pattern,
            special_tokens=special_tokens or {},
            merges=pack_merges(triples),
            merges_rule="merges",
            whole_piece_first=False,
            name=name,
        )
        return cls(model, cache_bytes=cache_bytes)

    # Encoding: what is not here is the MeasuringEncoder's and the Encoder's. What it tells of itself: Described

    def encode_to_numpy(
        self,
        text: Text,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
        num_threads: int | None = None,
    ) -> npt.NDArray[np.uint32]:
        """`encode` into a new array of shape (n,), dtype uint32. Needs numpy."""
        numpy = require_numpy("encode_to_numpy")
        ids, _ = self._encode_to_array((text,), allowed_special, disallowed_special, num_threads)
        return numpy.frombuffer(ids, dtype=numpy.uint32)  # type: ignore[no-any-return]

    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        num_threads: int | None = None,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """(ids, offsets): the ids of all texts end to end, uint32, and where each text's begin and the last end.

        ids[offsets[i]:offsets[i + 1]] are the ids of texts[i]; offsets has shape (len(texts) + 1,), dtype int64.
        num_threads: as in `encode_batch`. Needs numpy.
        """
        numpy = require_numpy("encode_batch_to_numpy")
        ids, offsets = self._encode_to_array(texts, allowed_special, disallowed_special, num_threads)
        return numpy.frombuffer(ids, dtype=numpy.uint32), numpy.frombuffer(offsets, dtype=numpy.int64)

    def count_batch(self, texts: Iterable[Text], *, num_threads: int | None = None) -> npt.NDArray[np.int64]:
        """`count` for each text: shape (len(texts),), dtype int64. num_threads: as in `encode_batch`.

        Needs numpy.
        """
        numpy = require_numpy("count_batch")
        counts = self._count_to_array(texts, num_threads)
        return numpy.frombuffer(counts, dtype=numpy.int64)  # type: ignore[no-any-return]

    def encode_files(
        self,
        inputs: Path_ | Iterable[Path_],
        out: Path_,
        *,
        separator: str | None = None,
        text_field: str = "text",
        document_start: str | None = None,
        document_end: str | None = None,
        dtype: str | None = None,
        num_threads: int | None = None,
        progress: Progress = None,
        overwrite: bool = False,
    ) -> FilesSummary:
        r"""Encode the documents of files into one file of ids, as a stream: memory does not grow with the files.

        Special tokens in the texts are just text, as in `encode_ordinary`, for files are not to be trusted; only
        document_start and document_end put some in. Added tokens that are not special are found, as there.

        The output appears whole or not at all. A run that was stopped goes on where it was when it is called again
        with the same arguments, and ends with the same bytes; until then the folder OUT.partial keeps what that
        takes. An input that was found damaged may be replaced meanwhile: the run goes on from before it.

        What must fit into memory: a piece (without a split pattern, or with one that has no scanner, a document),
        a line of jsonl, a row of parquet; for parquet output also the ids of a document.

        Args:
            inputs: a path, a folder (all .txt, .jsonl and .parquet files below it), a pattern ("data/*.jsonl"), or
                several of these. A txt file is one document; jsonl has one a line, parquet one a row. Files other
                than parquet may also be .gz or .zst. As in `train`, but that every str is a path: texts are not
                taken here (`encode_batch` takes them).
            out: where the ids go, by its ending. .bin: nothing but ids, little-endian; .npy: the same as a numpy
                array of shape (n_ids,). Either has a small OUT.json beside it (dtype, count, tokenizer) and
                OUT.offsets, little-endian int64: the ids of document i are those from offsets[i] up to
                offsets[i + 1]. .parquet: a row a document, the column "input_ids" of lists.
            separator: what ends a document within a txt file and belongs to none; "\n": a document a line, which
                may also end with "\r\n".
            text_field: where a line of jsonl or a row of parquet holds its text.
            document_start, document_end: special tokens to put before and after each document, as parts of it.
            dtype: "uint16" or "uint32"; None: the smaller that holds every id of the vocabulary.
            num_threads: as in `encode_batch`.
            progress: a bar on stderr: True, False, or None for only where stderr is a terminal. Or a function that
                is called as progress("encoding", done, total), in bytes of the inputs as they are stored.
            overwrite: replace an output that exists, and what an unfinished run with other arguments has left.

        Raises:
            FileExistsError: the output exists, or the remains of a run with other arguments do.
            FormatError: an input is damaged, not UTF-8, or lacks the field; with file and place.
            FileNotFoundError, SpecialTokenError, ValueError, ImportError: as the message says; nothing is written.

        >>> import pathlib, tempfile
        >>> tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     text, out = pathlib.Path(folder, "a.txt"), pathlib.Path(folder, "a.bin")
        ...     _ = text.write_text("a\nb\n")
        ...     summary = tokenizer.encode_files(text, out, separator="\n", progress=False)
        ...     summary.n_documents, out.read_bytes()
        (2, b'a\x00b\x00')
        """
        from fastbpe.corpus.encode_files import Job, encode_files
        from fastbpe.corpus.sinks import choose_dtype
        from fastbpe.corpus.sources import check_separator

        check_separator(separator)
        if not isinstance(text_field, str):
            raise TypeError(f"text_field must be str, not {type(text_field).__name__}")
        job = Job(
            identity={"fingerprint": self.fingerprint, "n_vocab": self.n_vocab},
            dtype=choose_dtype(dtype, self.n_vocab),
            before=self._marker("document_start", document_start),
            after=self._marker("document_end", document_end),
            separator=separator,
            text_field=text_field,
        )
        return encode_files(
            inputs,
            out,
            job,
            self,
            self._cutter(),
            num_threads=num_threads,
            progress=progress,
            overwrite=overwrite,
        )

    def _cutter(self, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        """Make the function that finds where a long document may be cut; None if nothing is known of that.

        special: the special tokens that are looked for.
        """
        from fastbpe.splitting.cutting import make_cutter

        finder, _ = self._special.choose(special, ())
        if self._pipeline.front is not None or (finder is not None and not finder.cuttable):
            return None
        added = [token.content for token in self._special.added if not token.special]
        return make_cutter(self._splitter, [*added, *special])

    def _marker(self, argument: str, name: str | None) -> tuple[int, ...]:
        if name is None:
            return ()
        if name not in self._special.ids:
            has = ", ".join(map(repr, self._special.ids)) or "none"
            raise SpecialTokenError(f"{argument}={name!r} is no special token of this tokenizer; it has: {has}")
        return (self._special.ids[name],)

    def _spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.untrusted_text import spelled_bytes  # here: few tokenizers have added tokens

        return spelled_bytes(self._vocabulary, {token.id for token in self._special.added})

    # Decoding: what is not here is the DecodingEncoder's

    def decoder(
        self, *, errors: str = "replace", unknown_ids: str = "raise", skip_special_tokens: bool = False
    ) -> StreamDecoder:
        """Make a stream that decodes ids as they come.

        Its `push` gives text, never half a character, and its `finish` what is left. A model with more rows than
        its tokenizer has tokens may give ids that are no token: with unknown_ids="skip" or "replace" the stream
        goes on.

        Args:
            errors, unknown_ids, skip_special_tokens: as in `decode`.
        """
        from fastbpe._core.decode.stream_decoder import StreamDecoder

        check_errors(errors)
        return StreamDecoder(self._skipping if skip_special_tokens else self._decoder, errors, unknown_ids)

    @cached_property
    def _skipping(self) -> Decoder:
        """The decoder that leaves special tokens out."""
        left_out = self._special.left_out
        if not left_out:
            return self._decoder
        decoded = {**self._special.decoded, **dict.fromkeys(left_out, b"")}
        return Decoder(self._vocabulary, [*decoded.items()], joins=True)

    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """The bytes of ids; a text's ids give back its UTF-8 exactly. Raises InvalidTokenError (a KeyError)."""
        return self._decoder.decode_bytes(ids)

    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | Buffer],
        *,
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does. num_threads: as in `encode_batch`."""
        check_errors(errors)
        decoder = self._skipping if skip_special_tokens else self._decoder
        return decoder.decode_batch(batch, errors, num_threads, unknown_ids)

    def decode_single_token_bytes(self, token_id: int) -> bytes:
        """The bytes of one id. Raises InvalidTokenError (a KeyError)."""
        return self._decoder.token(token_id)

    def decode_tokens_bytes(self, ids: Sequence[int] | Buffer) -> list[bytes]:
        """The bytes of each id, in order. Raises InvalidTokenError (a KeyError)."""
        return self._decoder.tokens(ids)

    def decode_with_offsets(self, ids: Sequence[int] | Buffer) -> tuple[str, list[int]]:
        """(text, offsets): `decode`, and for each id the place in it of the first character that it has a part in.

        Bytes that are not UTF-8 become U+FFFD. Raises InvalidTokenError (a KeyError).

        >>> tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None)
        >>> tokenizer.decode_with_offsets([0x61, 0xC3, 0xA9, 0x62])
        ('aéb', [0, 1, 1, 2])
        """
        return self._decoder.decode_with_offsets(ids)

    # A model's own tokens: see OwnTokens

    @property
    def _templates(self) -> Templates:
        before, behind = self._model.template
        return Templates((*before, TEXT, *behind), self._model.pair_template)

    def _said_roles(self) -> Mapping[str, str]:
        return self._model.roles

    def _special_ids(self) -> Mapping[str, int]:
        return self._special.ids

    def _id_of_token(self, name: str) -> int | None:
        token_id = self._special.ids.get(name)
        return self.token_to_id(name) if token_id is None else token_id

    def _encode_trusted(self, text: Text) -> list[int]:
        return self.encode(text, allowed_special="all")

    # Making others

    def with_special_tokens(self, special_tokens: Mapping[str, int] | Sequence[str]) -> Tokenizer:
        """Make a tokenizer with these special tokens besides its own; this one stays as it is.

        special_tokens: text to id; or a list of texts, of which new ones get the ids from n_vocab on, in order,
            and those that are special tokens already keep theirs.

        Raises SpecialTokenError: a text is empty or another token, or an id is taken (VocabularyError: a special
        token has another id).

        >>> tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None)
        >>> tokenizer.with_special_tokens(["<s>", "</s>"]).special_tokens
        {'<s>': 256, '</s>': 257}
        """
        special_tokens = number(special_tokens, self._special.ids, self._special.added, self.n_vocab)
        for name, token_id in special_tokens.items():
            if self._special.ids.get(name, token_id) != token_id:
                raise VocabularyError(f"special token {name!r} has the id {self._special.ids[name]} already")
        merged = {**self._special.ids, **special_tokens}
        return type(self)(
            replace(self._model, tables=self._vocabulary.sections(), special_tokens=merged, fingerprint=""),
            cache_bytes=self._cache_bytes,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that the tokenizer is, for `load` to read. The file appears whole or not at all.

        path: its ending decides the format, as in `export`; one without an ending becomes a native file.

        Raises FormatError: no format has this ending, or its format would lose something, which the message names.
        """
        from fastbpe.formats.endings import format_of
        from fastbpe.tokenizer.export import LOSSY, check_holds_all

        format = format_of(path, self.mode)
        if format in LOSSY:
            check_holds_all(path, self, format)
        self.export(path, format=format)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        verify: bool = True,
        verify_text: str | None = None,
    ) -> Verification | None:
        """Write the vocabulary in a format; `load` reads them all. All files are written, or none.

        Args:
            path: a file; for "gpt2" a folder, which is made if it is not there. For "huggingface" either: a folder
                that is there, or a path that ends with a slash, is one made for transformers, with a
                tokenizer_config.json beside the tokenizer.json.
            format: "native" (all there is), "tiktoken" (neither pattern nor special tokens), "gpt2" (vocab.json
                and merges.txt, without the pattern), "minbpe", or "huggingface" (a tokenizer.json, with which
                tokenizers gives the ids that allowed_special="all" gives). None: by the ending of path, `.fbpe`
                native, `.tiktoken`, `.json` huggingface, `.model` minbpe, a folder (that is there, or is written
                with a slash at its end) gpt2; native where it has none.
            verify: read what is to be written, and compare ids on every token's text and many pairs of tokens,
                before any file is written: up to a second for the largest vocabularies. The split pattern and the
                special tokens are given where the format has no place for them.
            verify_text: a text to compare besides, line by line, also with the format's owner (tokenizers,
                tiktoken, sentencepiece) where that is installed.

        Returns:
            How many texts were compared, and with which owner; None without verify and verify_text.

        Raises:
            FormatError: the format cannot hold this vocabulary, or ids differ; the message names what would be
                lost, or a text with both ids and the first token that differs. Nothing is written then.

        >>> import pathlib, tempfile
        >>> tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)} | {b"ab": 256}, pattern="gpt2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tokenizer.json")
        ...     verified = tokenizer.export(path, format="huggingface", verify_text="abc ab")
        >>> verified.owner
        'tokenizers'
        """
        from fastbpe.formats.endings import format_of, is_folder
        from fastbpe.formats.huggingface import tokenizer_config
        from fastbpe.tokenizer.export import export  # here: it knows all formats

        format = format_of(path, self.mode) if format is None else format
        if format == "huggingface" and is_folder(path):
            return tokenizer_config.write_folder(
                path,
                self._roles,
                lambda file: export(file, self, format, verify=verify, verify_text=verify_text),
            )
        return export(path, self, format, verify=verify, verify_text=verify_text)

    def _full_model(self) -> Model:
        return replace(
            self._model,
            tables=self._vocabulary.sections(),
            special_tokens=self._special.ids,
            fingerprint=self.fingerprint,
        )

    # Being a value

    def __reduce__(self) -> tuple[Callable[[bytes], Tokenizer], tuple[bytes]]:
        # Level 1: cl100k takes 15 ms and 549 KB, level 6 takes 63 ms and 522 KB.
        return _unpickle, (zlib.compress(native.dump(self._full_model(), look_ups=False), 1),)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        pattern = f"pattern {self._pattern_name or shown_pattern(self._pattern, 40)}"
        if self._model.pre_tokenizers:
            pattern = f"{len(self._model.pre_tokenizers)} pre-tokenizers"
        return (
            f"<fastbpe.Tokenizer {name}{self.mode} mode, {self.vocab_size} tokens ({len(self._special.ids)} "
            f"special), {pattern} (split by {self._splitter!r}), {self.fingerprint[:12]}>"
        )


def _unpickle(state: bytes) -> Tokenizer:
    model = native.parse(zlib.decompress(state), "<pickle>")
    assert isinstance(model, Model)
    return Tokenizer(model)
