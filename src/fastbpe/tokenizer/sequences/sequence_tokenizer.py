"""SequenceTokenizer: sequences of integers to ids and back."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._utils.arguments import integer
from fastbpe._utils.caching import cached_property
from fastbpe._utils.optional_imports import require_numpy
from fastbpe._utils.plurals import counted
from fastbpe.errors import FormatError, SpecialTokenError, VocabularyError
from fastbpe.formats import sequence_tokenizer_file as file
from fastbpe.formats.atomic_files import map_file, write
from fastbpe.tokenizer.sequences.sequence_batches import (
    expand_batch,
    expand_id,
    expand_one,
    find_id,
    merge_batch,
    merge_one,
)
from fastbpe.tokenizer.sequences.sequence_models import (
    check_base_size,
    checked_special,
    extension_map,
    model_of_pairs,
    with_more_special,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from fastbpe._utils.progress import Progress
    from fastbpe.corpus.file_encoding import FilesSummary
    from fastbpe.tokenizer.export.verify_export import Verification
    from fastbpe.vocabularies.id_map import IdMap

    Made = TypeVar("Made", bound="SequenceTokenizer")

# A list, tuple, range, or anything with the buffer protocol or __array__ in one dimension.
Integers = Any


class SequenceTokenizer:
    """BPE tokenizer for sequences of integers (image or audio codes, MIDI, DNA), from `train` with mode="ids".

    The symbols of a sequence are integers from 0 to base_size - 1, and are their own ids. Merge i makes the id
    base_size + i. Each sequence is one piece: no merge crosses from one to another, and no pattern cuts them.

    A sequence is a list, a tuple, a range, bytes, or any one-dimensional array of integers (numpy, array.array, a
    tensor on the CPU). A batch is an iterable of sequences, or a two-dimensional array whose rows are the
    sequences.

    A tokenizer never changes, so threads may share it. It can be pickled. It is equal to any tokenizer with the
    same base size, merges and special tokens, and has the same hash.

    >>> from fastbpe import train
    >>> tokenizer = train([[3, 1, 3, 1, 2]], mode="ids", base_size=4, vocab_size=5)
    >>> tokenizer.encode([3, 1, 3, 1, 2]), tokenizer.decode([4, 4, 2])
    ([4, 4, 2], [3, 1, 3, 1, 2])
    """

    # Making a tokenizer

    def __init__(self, model: file.SequenceModel) -> None:
        """Create a tokenizer from a model. Use `train`, `load` or `SequenceTokenizer.from_merges` instead.

        Raises TypeError for an object that is not a SequenceModel, VocabularyError or SpecialTokenError if the
        model contradicts itself.
        """
        if not isinstance(model, file.SequenceModel):
            raise TypeError(
                f"model must be a SequenceModel, not {type(model).__name__}; fastbpe.load reads a file"
            )
        self._model = model
        self._vocabulary = SequenceVocabulary(check_base_size(model.base_size), model.merges)
        self._special = checked_special(model.special_tokens, self._vocabulary.n_ids)

    @classmethod
    def from_merges(
        cls,
        merges: Iterable[tuple[int, int]],
        *,
        base_size: int,
        special_tokens: Mapping[str, int] | Iterable[str] = (),
    ) -> Self:
        """Create a tokenizer from merges: merge i makes the id base_size + i. The first in the list has priority.

        Args:
            merges: pairs of ids. VocabularyError if a pair appears twice, or contains an id that is neither a
                symbol nor made by an earlier merge.
            base_size: number of symbols. VocabularyError if it is out of range.
            special_tokens: as for `with_special_tokens`.

        >>> SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4).encode([0, 1, 2, 3, 0, 1])
        [5, 3, 4]
        """
        made = cls(model_of_pairs(base_size, merges))
        return made.with_special_tokens(special_tokens) if special_tokens else made

    @classmethod
    def load(cls, path_or_bytes: str | os.PathLike[str] | bytes) -> Self:
        """Load a tokenizer from a file that `save` wrote, or from its bytes. `fastbpe.load` loads all kinds.

        Raises FormatError if the file is damaged or contains no sequence tokenizer, OSError if it cannot be
        opened.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     SequenceTokenizer.from_merges([(0, 1)], base_size=4).save(f"{folder}/codes.fbpe")
        ...     SequenceTokenizer.load(f"{folder}/codes.fbpe").encode([0, 1, 2])
        [4, 2]
        """
        data: Any = path_or_bytes
        where = "<bytes>"
        if not isinstance(data, (bytes, bytearray, memoryview)):
            where = os.fspath(data)
            data = map_file(where)
        try:
            return cls(file.parse(data, where))
        except (VocabularyError, SpecialTokenError) as error:
            raise FormatError(f"{where}: {error}") from error

    # Encoding

    def encode(self, sequence: Integers, *, num_threads: int | None = None) -> list[int]:
        """Encode a sequence.

        Args:
            sequence: the symbols.
            num_threads: maximum number of threads, for a long sequence. None: FASTBPE_NUM_THREADS, or one per
                usable core.

        Raises:
            ValueError: a symbol is negative, or not below base_size (the message contains its position); an array
                has several dimensions; or num_threads is out of range.
            TypeError: the symbols are not integers, or not a sequence.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).encode([0, 1, 0, 2])
        [4, 0, 2]
        """
        return merge_one(self._vocabulary, sequence, num_threads).lists()[0]

    def encode_to_numpy(self, sequence: Integers, *, num_threads: int | None = None) -> npt.NDArray[np.uint32]:
        """Encode a sequence, as `encode` does, into a new array of shape (n_ids,), dtype uint32.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).encode_to_numpy([0, 1, 2])
        array([4, 2], dtype=uint32)
        """
        numpy = require_numpy("encode_to_numpy")
        ids, _ = merge_one(self._vocabulary, sequence, num_threads).arrays()
        return numpy.frombuffer(ids, dtype=numpy.uint32)  # type: ignore[no-any-return]

    def encode_batch(self, batch: Iterable[Integers], *, num_threads: int | None = None) -> list[list[int]]:
        """Encode each sequence of a batch, in order, as `encode` does; an error also contains its index.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).encode_batch([[0, 1], (2, 0, 1)])
        [[4], [2, 4]]
        """
        return merge_batch(self._vocabulary, batch, num_threads).lists()

    def encode_batch_to_numpy(
        self, batch: Iterable[Integers], *, num_threads: int | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Encode sequences, as `encode_batch` does, into one concatenated array of ids.

        Returns:
            (ids, offsets): uint32 of shape (n_ids,), int64 of shape (n_sequences + 1,). The ids of sequence i are
            ids[offsets[i]:offsets[i + 1]].

        >>> tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
        >>> ids, offsets = tokenizer.encode_batch_to_numpy([[0, 1], [2, 0, 1]])
        >>> ids.tolist(), offsets.tolist()
        ([4, 2, 4], [0, 1, 3])
        """
        numpy = require_numpy("encode_batch_to_numpy")
        ids, offsets = merge_batch(self._vocabulary, batch, num_threads).arrays()
        return numpy.frombuffer(ids, dtype=numpy.uint32), numpy.frombuffer(offsets, dtype=numpy.int64)

    def count(self, sequence: Integers, *, num_threads: int | None = None) -> int:
        """Count the ids that `encode` returns for a sequence.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).count([0, 1, 2])
        2
        """
        return merge_one(self._vocabulary, sequence, num_threads).n_ids

    # Decoding

    def decode(self, ids: Integers, *, skip_special_tokens: bool = False) -> list[int]:
        """Decode ids to the symbols of a sequence.

        Args:
            ids: a sequence of ids, in the forms that `encode` accepts.
            skip_special_tokens: leave special tokens out; otherwise they are an error, because they represent no
                symbols.

        Raises:
            InvalidTokenError (a KeyError): an id has no token, and the message contains its position; or it
                belongs to a special token that is not left out.
            TypeError: ids are not integers.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).decode([4, 2])
        [0, 1, 2]
        """
        return expand_one(self._vocabulary, self._special, ids, skip_special_tokens).lists()[0]

    def decode_to_numpy(self, ids: Integers, *, skip_special_tokens: bool = False) -> npt.NDArray[np.uint32]:
        """Decode ids, as `decode` does, into a new array of symbols, dtype uint32.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).decode_to_numpy([4, 2])
        array([0, 1, 2], dtype=uint32)
        """
        numpy = require_numpy("decode_to_numpy")
        symbols, _ = expand_one(self._vocabulary, self._special, ids, skip_special_tokens).arrays()
        return numpy.frombuffer(symbols, dtype=numpy.uint32)  # type: ignore[no-any-return]

    def decode_batch(self, batch: Iterable[Integers], *, skip_special_tokens: bool = False) -> list[list[int]]:
        """Decode each sequence of ids, in order, as `decode` does; an error also contains its index.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).decode_batch([[4], [2, 4]])
        [[0, 1], [2, 0, 1]]
        """
        return expand_batch(self._vocabulary, self._special, batch, skip_special_tokens).lists()

    # Tokens and ids

    def id_to_token(self, token_id: int) -> tuple[int, ...]:
        """Return the symbols of an id. Raises InvalidTokenError (a KeyError) if the id has no symbols.

        >>> SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4).id_to_token(5)
        (0, 1, 2)
        """
        return expand_id(self._vocabulary, self._special, token_id)

    def token_to_id(self, token: Integers | str) -> int | None:
        """Find the id of a token by its symbols: the lowest id if there are several, None if no token has them.

        A str is the name of a special token. A symbol that cannot be in a sequence is an error, as in `encode`.

        >>> tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
        >>> tokenizer.token_to_id([0, 1]), tokenizer.token_to_id([1, 0])
        (4, None)
        """
        if isinstance(token, str):
            return self._special.get(token)
        return find_id(self._vocabulary, token)

    @property
    def base_size(self) -> int:
        """Number of symbols, whose ids are 0 to base_size - 1.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).base_size
        4
        """
        return self._vocabulary.base_size

    @property
    def vocab_size(self) -> int:
        """Number of tokens: symbols, merges and special tokens.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).vocab_size
        5
        """
        return self._vocabulary.n_ids + len(self._special)

    @property
    def n_vocab(self) -> int:
        """Greatest id + 1: number of rows of an embedding.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).n_vocab
        5
        """
        return max((self._vocabulary.n_ids - 1, *self._special.values())) + 1

    @property
    def special_tokens(self) -> dict[str, int]:
        """New dict of the special tokens, name to id.

        >>> SequenceTokenizer.from_merges([], base_size=4, special_tokens=["<end>"]).special_tokens
        {'<end>': 4}
        """
        return dict(self._special)

    def is_special_token(self, token_id: int) -> bool:
        """Tell whether an id belongs to a special token.

        >>> SequenceTokenizer.from_merges([], base_size=4, special_tokens=["<end>"]).is_special_token(4)
        True
        """
        return integer("token_id", token_id) in self._special.values()

    def with_special_tokens(self, special_tokens: Mapping[str, int] | Iterable[str]) -> Self:
        """Return a tokenizer with more special tokens; encoding never returns their ids.

        Args:
            special_tokens: names, which get ids after all others; or a mapping of names to ids, which must be
                greater than the ids of all symbols and merges.

        Raises:
            SpecialTokenError (a ValueError): a name already exists or is empty, or an id is taken or out of range.
            TypeError: special_tokens is a str, or an id is not an integer.

        >>> tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4).with_special_tokens(["<end>"])
        >>> tokenizer.special_tokens, tokenizer.vocab_size, tokenizer.decode([4, 5], skip_special_tokens=True)
        ({'<end>': 5}, 6, [0, 1])
        """
        more = with_more_special(self._special, special_tokens, self.n_vocab)
        return type(self)(self._model._replace(special_tokens=more))

    @property
    def merges(self) -> list[tuple[int, int]]:
        """New list of the merges (pairs of ids), in the order of merging.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).merges
        [(0, 1)]
        """
        return self._vocabulary.merges()

    @property
    def mode(self) -> str:
        """Kind of base symbols: "ids".

        >>> SequenceTokenizer.from_merges([], base_size=4).mode
        'ids'
        """
        return "ids"

    @property
    def training_report(self) -> dict[str, Any]:
        """Options and statistics of `train`; empty if `train` did not create the tokenizer.

        >>> SequenceTokenizer.from_merges([], base_size=4).training_report
        {}
        """
        return dict(self._model.training)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides ids: base size, merges and special tokens.

        >>> SequenceTokenizer.from_merges([(0, 1)], base_size=4).fingerprint[:12]
        '3dcfceb194cf'
        """
        import hashlib  # here: importing it is slow

        special = repr(sorted(self._special.items())).encode() if self._special else b""
        return hashlib.sha256(repr(("ids", self.base_size)).encode() + self._model.merges + special).hexdigest()

    def id_map(self, old: SequenceTokenizer) -> IdMap:
        """Return the map from the ids of the tokenizer that this one extends, for its embedding rows.

        Symbols and old merges keep their ids. If both tokenizers have a special token, its new row is a copy of
        its old row, even if its id differs. The row of a new merge starts as the mean of the rows of the old ids
        into which it can be taken apart, or of the first 1,024 of them; an id that occurs twice counts twice.

        Args:
            old: the base that was passed to `train`, or a tokenizer with the same symbols and the first merges of
                this one; any other tokenizer raises ValueError, any other object TypeError.

        >>> old = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
        >>> new = SequenceTokenizer.from_merges([(0, 1), (4, 4), (5, 2)], base_size=4)
        >>> id_map = new.id_map(old)
        >>> id_map, id_map.init_from[5:]
        (<fastbpe.IdMap from 5 ids to 7: 5 kept, 0 removed, 2 new>, ((4, 4), (4, 4, 2)))
        """
        if not isinstance(old, SequenceTokenizer):
            raise TypeError(f"old must be a SequenceTokenizer, not {type(old).__name__}")
        if self.base_size != old.base_size or not self._model.merges.startswith(old._model.merges):
            raise ValueError(
                f"{self!r} does not extend old, {old!r}: it must have the same base_size, and its first merges "
                "must be the merges of old"
            )
        n_old = old._vocabulary.n_ids
        merges = self.merges[n_old - self.base_size :]
        return extension_map(n_old, old.n_vocab, self.n_vocab, merges, old._special, self._special)

    # Writing and comparing

    def encode_files(
        self,
        inputs: Any,
        out: str | os.PathLike[str],
        *,
        field: str = "input_ids",
        document_start: str | None = None,
        document_end: str | None = None,
        dtype: str | None = None,
        num_threads: int | None = None,
        progress: Progress = None,
        overwrite: bool = False,
        header: str | None = None,
    ) -> FilesSummary:
        """Encode the sequences of files into one file of ids, each a document, in bounded memory.

        The output appears only when complete; a run that was stopped must start again.

        Args:
            inputs: a path, a folder, a pattern, or an iterable of these. .npy: one sequence, or one per row; .bin,
                .idx and .npy from `encode_files`: one sequence per document; .jsonl, .ndjson (also .gz, .zst): a
                list of integers per line, or an object with a field that contains the list; .parquet, .arrow: a
                column of lists; other files (also .gz, .zst): one sequence per line, with integers separated by
                spaces.
            out, dtype, num_threads, progress, overwrite, header: as for `Tokenizer.encode_files`.
            field: field of a JSON line, or column of a table, that contains the sequence.
            document_start, document_end: special tokens to put before and after each sequence.

        Raises:
            FormatError, ValueError: an input contains something other than symbols; the message contains the
                place, and nothing is written.
            FileExistsError, FileNotFoundError, SpecialTokenError, ValueError, ImportError: see the message.

        >>> import fastbpe, pathlib, tempfile
        >>> tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     codes, out = pathlib.Path(folder, "a.jsonl"), pathlib.Path(folder, "a.bin")
        ...     _ = codes.write_text("[0, 1, 2]\\n[3]\\n")
        ...     summary = tokenizer.encode_files(codes, out, progress=False)
        ...     [ids.tolist() for ids in fastbpe.open_ids(out)]
        [[4, 2], [3]]
        """
        from fastbpe.tokenizer.sequences.sequence_jobs import encode_files  # here: few programs encode files

        job = {"document_start": document_start, "document_end": document_end, "dtype": dtype, "header": header}
        options: dict[str, Any] = {"num_threads": num_threads, "progress": progress, "overwrite": overwrite}
        return encode_files(self, self._vocabulary, inputs, out, field, job, **options)

    def export(
        self, path: str | os.PathLike[str], *, format: str | None = None, verify: bool = True
    ) -> Verification | None:
        """Write the tokenizer in a format, as `Tokenizer.export` does. Returns None for the native format.

        "native" stores everything. With base_size=256, the symbols can be the bytes, so all formats for byte-level
        vocabularies are available; with other sizes, only the native format is. Raises FormatError if the format
        cannot store this tokenizer; nothing is written.

        >>> import tempfile
        >>> from fastbpe import load
        >>> tokenizer = SequenceTokenizer.from_merges([(97, 98)], base_size=256)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = tokenizer.export(f"{folder}/ab.json")
        ...     load(f"{folder}/ab.json").encode("ab")
        [256]
        """
        from fastbpe.tokenizer.sequences.sequence_jobs import export  # here: it imports all formats

        return export(self, path, format, verify=verify)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tokenizer into a file, which `fastbpe.load` can read. The file is written atomically.

        >>> import pathlib, tempfile
        >>> from fastbpe import load
        >>> tokenizer = SequenceTokenizer.from_merges([(0, 1)], base_size=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "codes.fbpe")
        ...     tokenizer.save(path)
        ...     load(path) == tokenizer
        True
        """
        write(path, file.dump(self._model))

    def __reduce__(self) -> tuple[Callable[[type[Self], bytes], Self], tuple[type[Self], bytes]]:
        return _unpickle, (type(self), zlib.compress(file.dump(self._model), 1))  # level 1: as in byte_family

    def __copy__(self) -> SequenceTokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SequenceTokenizer:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceTokenizer):
            return NotImplemented
        return self is other or self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value()[:2])  # without the dict, which has no hash

    def _value(self) -> tuple[int, bytes, dict[str, int]]:
        return self.base_size, self._model.merges, self._special

    def __repr__(self) -> str:
        n_special = f" ({len(self._special)} special)" if self._special else ""
        return (
            f"<fastbpe.SequenceTokenizer of {counted(self.base_size, 'symbol')}, "
            f"{counted(self.vocab_size, 'token')}{n_special}, {self.fingerprint[:12]}>"
        )


def _unpickle(kind: type[Made], state: bytes) -> Made:
    return kind(file.parse(zlib.decompress(state), "<pickle>"))
