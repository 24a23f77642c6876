"""Files of counted pieces (`PieceCounts.save`): a container (see container.py) with three or more sections.

"pieces": the bytes of all pieces, concatenated. "lengths": number of bytes of each piece, uint32. "counts": number
of occurrences of each piece, int64, 1 or more. No piece appears twice. Pieces are in the order of their first
appearance, which ties="first" needs. The header says how text was split, how many bytes were counted, and how much
was left out.

In code-point mode, the pieces are words of normalized sentences. The header contains the options with which they
were counted, and "charsmap" contains the rules of the normalizer. "characters" (uint32) and "character_counts"
(int64) are the characters of words that were pruned. In unigram mode, a byte 0xFF follows words that end a
sentence, and the header contains the word that ends the last sentence.

If runs of ids were counted, each piece is the ids of one run, three bytes per id. In the header, "runs_of" has the
fingerprint of the tokenizer with these ids and, if `count_pieces` got `Superwords`, the options of the count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import IO, Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._version import __version__
from fastbpe.errors import FormatError
from fastbpe.formats.atomic_files import write_with
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import Buffer
from fastbpe.patterns import Pattern

KIND = Kind(
    "pieces",
    1,
    "a file of counted pieces",
    {"lengths": 4, "counts": 8, "characters": 4, "character_counts": 8},
)
_PARQUET_ROWS = 1 << 16  # rows written at a time
_SECTIONS = ("pieces", "lengths", "counts")
_RUNS_OF = r"[0-9a-f]+( (lines|whole)( neighbours| cut( \d{1,19}){4})?)?"  # see `training.runs`
_WORD_SECTIONS = ("charsmap", "characters", "character_counts")
_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "pattern": (str, list, type(None)),
    "special_tokens": list,
    "n_bytes": int,
    "n_skipped": int,
    "n_pruned": int,
    "library": str,
}
#: Numbers about sentences in the header of counted words.
SENTENCE_NUMBERS = ("n_sentences", "n_empty", "n_too_long", "n_reserved", "n_bytes_left_out")
_REQUIRED_OF_WORDS = {
    **_REQUIRED,
    "options": dict,
    "normalizer": dict,
    "symbols": list,
    **dict.fromkeys(SENTENCE_NUMBERS, int),
}
_REQUIRED_OF_UNIGRAM = {**_REQUIRED_OF_WORDS, "last_word": str}


class Words(NamedTuple):
    """Plain data about counted words, for code-point and unigram mode.

    Attributes:
        options: name → value – options of the trainer with which words were counted.
        normalizer: name → value – options of the normalizer, without its rules.
        charsmap: rules of the normalizer.
        symbols: names at which words end, so that no word contains a part of one.
        numbers: name in SENTENCE_NUMBERS → number.
        characters, character_counts: the characters of pruned words, and their counts.
        last_word: the word that ends the last sentence; None: code-point mode.
    """

    options: Mapping[str, Any]
    normalizer: Mapping[str, Any]
    charsmap: Buffer
    symbols: Sequence[str]
    numbers: Mapping[str, int]
    characters: Buffer
    character_counts: Buffer
    last_word: str | None = None


class Counted(NamedTuple):
    """Counted pieces as plain data.

    Attributes:
        pattern: split pattern.
        special_tokens: names that were cut out of the text.
        n_bytes, n_skipped, n_pruned: as in `PieceCounts`.
        pieces, lengths, counts: the three sections.
        words: data of the other modes; None: byte mode.
        runs_of: if the pieces are runs of ids, the fingerprint of the tokenizer and options of the count; None:
            the pieces are text.
    """

    pattern: Pattern
    special_tokens: Sequence[str]
    n_bytes: int
    n_skipped: int
    n_pruned: int
    pieces: Buffer
    lengths: Buffer
    counts: Buffer
    words: Words | None = None
    runs_of: str | None = None


def dump(counted: Counted) -> list[Buffer]:
    """Return the parts of the file, to be written in order."""
    words = counted.words
    header: dict[str, Any] = {
        "mode": "byte" if words is None else "codepoint" if words.last_word is None else "unigram",
        "pattern": counted.pattern,
        "special_tokens": list(counted.special_tokens),
        "n_bytes": counted.n_bytes,
        "n_skipped": counted.n_skipped,
        "n_pruned": counted.n_pruned,
        "library": __version__,
    }
    if counted.runs_of is not None:
        header["runs_of"] = counted.runs_of
    sections: dict[str, Buffer] = {name: getattr(counted, name) for name in _SECTIONS}
    if words is not None:
        header |= {name: words.numbers[name] for name in SENTENCE_NUMBERS}
        header |= {"options": words.options, "normalizer": words.normalizer, "symbols": list(words.symbols)}
        header |= {} if words.last_word is None else {"last_word": words.last_word}
        sections |= {name: getattr(words, name) for name in _WORD_SECTIONS}
    return pack(KIND, header, sections)


def is_file_of_counts(path: str | os.PathLike[str]) -> bool:
    """Tell, by its first bytes, whether a file contains counted pieces."""
    try:
        with open(path, "rb") as file:
            return file.read(64).startswith(KIND.magic)
    except OSError:  # no such file, a folder, a pattern: the code that reads it raises the error
        return False


def parse(data: Buffer, where: str) -> Counted:
    """Read a file. Its tables of pieces are views of the data.

    Raises:
        FormatError: a damaged file.
    """
    required = {"byte": _REQUIRED, "codepoint": _REQUIRED_OF_WORDS, "unigram": _REQUIRED_OF_UNIGRAM}
    header, sections = unpack(KIND, data, where, required)
    has_words = header["mode"] != "byte"
    check_sections(sections, {*_SECTIONS, *(_WORD_SECTIONS if has_words else ())}, where)
    for name in ("special_tokens", "symbols") if has_words else ("special_tokens",):
        if not all(isinstance(item, str) for item in header[name]):
            raise FormatError(f"{where}: its header has no valid {name!r}")
    _check_sizes(sections, "lengths", "counts", where)
    pattern = header["pattern"]
    pattern = tuple(pattern) if isinstance(pattern, list) else pattern
    numbers = header["n_bytes"], header["n_skipped"], header["n_pruned"]
    words = None
    if has_words:
        _check_sizes(sections, "characters", "character_counts", where)
        words = Words(
            header["options"],
            header["normalizer"],
            bytes(sections["charsmap"]),
            header["symbols"],
            {name: header[name] for name in SENTENCE_NUMBERS},
            bytes(sections["characters"]),
            bytes(sections["character_counts"]),
            header["last_word"] if header["mode"] == "unigram" else None,
        )
    tables = sections["pieces"], sections["lengths"], sections["counts"]
    runs_of = header.get("runs_of")
    is_valid = isinstance(runs_of, str) and not has_words and re.fullmatch(_RUNS_OF, runs_of, re.ASCII)
    if runs_of is not None and not is_valid:
        raise FormatError(f"{where}: its header has no valid 'runs_of'")
    return Counted(pattern, header["special_tokens"], *numbers, *tables, words, runs_of)


def _check_sizes(sections: Mapping[str, memoryview], small: str, large: str, where: str) -> None:
    """Raise FormatError unless a table of uint32 has as many rows as one of int64."""
    if len(sections[small]) % 4 or len(sections[large]) != 2 * len(sections[small]):
        raise FormatError(f"{where}: its sections {small!r} and {large!r} do not match")


def write_parquet(path: str | os.PathLike[str], items: Sequence[tuple[bytes, int]]) -> None:
    """Write a parquet file with the columns piece (binary) and count (int64). Requires pyarrow."""
    arrow = require_pyarrow(path, "parquet")
    columns = [arrow.field("piece", arrow.binary(), False), arrow.field("count", arrow.int64(), False)]
    schema = arrow.schema(columns)

    def fill(file: IO[bytes]) -> None:
        with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for at in range(0, len(items), _PARQUET_ROWS):
                pieces, numbers = zip(*items[at : at + _PARQUET_ROWS], strict=True)
                writer.write_table(arrow.table([[*pieces], [*numbers]], schema=schema))

    write_with(path, fill)
