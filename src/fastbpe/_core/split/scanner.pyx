"""Splitters of known patterns and of code-point vocabularies: 64 bytes at a time by SIMD, without the GIL."""

import os

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.merge.codepoint_symbols cimport CodePoints, fb_words
from fastbpe._core.common.utf8 cimport fb_whole_end
from fastbpe._core.split.splitter cimport Ends, Splitter, ends_add, ends_reserve


cdef extern from "simd/scan.h" nogil:
    ctypedef struct fb_pattern:
        int family
        int n_digits
        int contractions
        int end_is_one_piece
    int FB_GPT2
    int FB_CL100K
    int FB_O200K
    int FB_DEEPSEEK
    size_t FB_ROOM
    ctypedef size_t (*fb_scan_fn)(
        const uint8_t* text, size_t n, size_t* at, size_t* ends, size_t room, const fb_pattern* pattern
    ) noexcept
    ctypedef size_t (*fb_words_fn)(
        const uint8_t* text, size_t n, size_t* at, size_t* ends, size_t room, const fb_words* words
    ) noexcept
    ctypedef struct fb_path:
        const char* name
        fb_scan_fn scan[4]
        fb_words_fn words
        int (*present)() noexcept
    size_t FB_N_PATHS
    const fb_path fb_paths[1]
    const fb_path* fb_choose_path(const char* name) noexcept

cdef const size_t ENDS_PER_CALL = 1024  # ends after which a call returns: 8 KB, which stay in the L1 cache

_FAMILIES = {"gpt2": FB_GPT2, "cl100k": FB_CL100K, "o200k": FB_O200K, "deepseek": FB_DEEPSEEK}


def paths():
    """Return the names of the instruction sets that this machine can scan with, best first."""
    return [fb_paths[i].name.decode() for i in range(FB_N_PATHS) if fb_paths[i].present()]


cdef const fb_path* _choose_path(str path) except NULL:
    """Return the scanners of an instruction set; None: of the set that FASTBPE_SIMD names, else of the best set."""
    cdef const fb_path* chosen
    path = path or os.environ.get("FASTBPE_SIMD") or None
    chosen = fb_choose_path(NULL) if path is None else fb_choose_path(path.encode())
    if chosen == NULL:
        raise ValueError(f"FASTBPE_SIMD={path!r}: this machine has {', '.join(paths())}")
    return chosen


@cython.final
cdef class Scanner(Splitter):
    """Splitter of the patterns of a family.

    family: "gpt2", "cl100k", "o200k" or "deepseek".
    n_digits: int – digits of a piece of a number, at most; up to 9; 0: no limit.
    contractions: bool – English contractions are pieces of their own (cl100k) or the end of a word (o200k).
    end_is_one_piece: bool – white space up to the end of the text is one piece.
    path: str or None – an instruction set, one of `paths()`; None: the one that the environment variable
        FASTBPE_SIMD names, or the best one.
    """

    cdef fb_pattern _pattern
    cdef const fb_path* _path
    cdef readonly str family

    def __init__(
        self, str family not None, *, int n_digits, bint contractions=True, bint end_is_one_piece=False,
        str path=None,
    ):
        self.cuttable = True  # proved in safe_cuts.pyx
        self._pattern.family = _FAMILIES[family]
        self._pattern.n_digits = n_digits
        self._pattern.contractions = contractions
        self._pattern.end_is_one_piece = end_is_one_piece
        self.family = family
        self._path = _choose_path(path)

    @property
    def path(self):
        """Name of the instruction set in use."""
        return self._path.name.decode()

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t whole = fb_whole_end(data, n)
        while at < whole:
            ends_reserve(ends, ENDS_PER_CALL + FB_ROOM)
            ends.n += self._path.scan[self._pattern.family](
                data, whole, &at, ends.items + ends.n, ENDS_PER_CALL + FB_ROOM, &self._pattern
            )
            if whole == n:
                return at
        ends_add(ends, n)
        return n

    def __repr__(self):
        return f"scanner, {self.path}"


@cython.final
cdef class WordScanner(Splitter):
    """Splitter into pieces that no token of a code-point vocabulary crosses.

    Pieces are words, and shorter if no token holds two neighbours.

    code_points: CodePoints – the vocabulary.
    path: as for Scanner.
    """

    cdef CodePoints _code_points
    cdef const fb_path* _path

    def __init__(self, CodePoints code_points not None, *, str path=None):
        self.cuttable = code_points.by_words and code_points.marks_spaces
        self._code_points = code_points
        self._path = _choose_path(path)

    @property
    def path(self):
        """Name of the instruction set in use."""
        return self._path.name.decode()

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t whole = fb_whole_end(data, n)
        while at < whole:
            ends_reserve(ends, ENDS_PER_CALL + FB_ROOM)
            ends.n += self._path.words(
                data, whole, &at, ends.items + ends.n, ENDS_PER_CALL + FB_ROOM, &self._code_points.words
            )
            if whole == n:
                return at
        ends_add(ends, n)
        return n

    def __repr__(self):
        return f"words, {self.path}"
