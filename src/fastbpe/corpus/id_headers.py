"""Headers in front of the ids of a file: numpy's, and llm.c's.

llm.c's header (dev/data/data_common.py) has 256 int32: a magic number, a version that determines the dtype, and
the number of ids; the other numbers are 0. GPT-2 and Llama 3 have different magic numbers. modded-nanogpt uses the
same header.
"""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.remote import AnyPath
from fastbpe.errors import FormatError

ID_BYTES = {"uint16": 2, "uint32": 4}  # dtypes that are written → bytes of an id
HEADERS = ("llm.c",)  # headers that a .bin can get
MAX_LLMC_IDS = (1 << 31) - 1  # the count is an int32
LLMC_BYTES = 1024  # bytes of llm.c's header

_NPY_BYTES = 128  # bytes of a header for one dimension: 68 to 86, which numpy pads to a multiple of 64
_LLMC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}  # dtype → magic number, version
_LLMC_MAGICS = {magic for magic, _ in _LLMC.values()}
_LLMC_DTYPES = {version: dtype for dtype, (_, version) in _LLMC.items()}
_LLMC_EXAMPLES = 20240522  # magic number of llm.c's files of multiple-choice questions


def header_of(suffix: str, header: str | None, dtype: str, n_ids: int) -> bytes:
    """Return the bytes in front of the ids of a file. Their number depends only on suffix and header.

    header: one of HEADERS; None: the default for the extension. llm.c's header says at most MAX_LLMC_IDS ids.
    """
    if header == "llm.c":
        said = (*_LLMC[dtype], min(n_ids, MAX_LLMC_IDS))
        return b"".join(number.to_bytes(4, "little") for number in said).ljust(LLMC_BYTES, b"\0")
    return _npy_header(dtype, n_ids) if suffix == ".npy" else b""


def check_header(header: object, out: AnyPath) -> None:
    """Raise ValueError unless an output can have this header in front of its ids; None always can."""
    if header is not None and header not in HEADERS:
        raise ValueError(choose_one_of("header", header, HEADERS, ", or None"))
    if header is not None and out.suffix != ".bin":
        raise ValueError(
            f"{out}: header={header!r} only works with .bin files; use the extension .bin, or leave header= out"
        )


def _npy_header(dtype: str, n: int) -> bytes:
    """Return the header that numpy.save writes before n items."""
    said = f"{{'descr': '<u{ID_BYTES[dtype]}', 'fortran_order': False, 'shape': ({n},), }}"
    length = _NPY_BYTES - 10  # without magic, version and length
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + said.ljust(length - 1).encode() + b"\n"


class LlmcHeader(NamedTuple):
    """Content of a header of llm.c: dtype and number of the ids."""

    dtype: str
    n_ids: int


def read_llmc_header(data: bytes, where: str) -> LlmcHeader | None:
    """Read llm.c's header; None if a file does not begin with one.

    data: the first LLMC_BYTES of the file; fewer if it is shorter.

    Raises:
        FormatError: the header belongs to a file without ids, has an unknown version, or is cut off or damaged.

    >>> read_llmc_header(header_of(".bin", "llm.c", "uint16", 7), "a.bin")
    LlmcHeader(dtype='uint16', n_ids=7)
    """
    magic, version, n_ids = (int.from_bytes(data[i : i + 4], "little", signed=True) for i in (0, 4, 8))
    if len(data) < 12 or magic not in {*_LLMC_MAGICS, _LLMC_EXAMPLES}:
        return None
    if magic == _LLMC_EXAMPLES:
        raise FormatError(f"{where}: this file contains llm.c's multiple-choice questions; pass a file of ids")
    if version not in _LLMC_DTYPES:
        raise FormatError(
            f"{where}: its llm.c header has version {version}, but fastbpe reads only versions 1 (uint16) and 7 "
            "(uint32)"
        )
    if len(data) < LLMC_BYTES or n_ids < 0:
        raise FormatError(f"{where}: llm.c's header is cut off or damaged; copy the file again or recreate it")
    return LlmcHeader(_LLMC_DTYPES[version], n_ids)
