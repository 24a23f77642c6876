"""Scanner: the splitter of the known patterns, 64 bytes at a time, without the GIL."""

import os

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.splitter cimport Ends, Splitter, ends_reserve


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
    ctypedef struct fb_path:
        const char* name
        fb_scan_fn scan[4]
        int (*present)() noexcept
    size_t FB_N_PATHS
    const fb_path fb_paths[1]
    const fb_path* fb_choose_path(const char* name) noexcept

cdef const size_t ENDS_PER_CALL = 1024  # 8 KB: with the text they stand for, within the first-level cache

_FAMILIES = {"gpt2": FB_GPT2, "cl100k": FB_CL100K, "o200k": FB_O200K, "deepseek": FB_DEEPSEEK}


def paths():
    """The instruction sets that this machine can scan with, best first."""
    return [fb_paths[i].name.decode() for i in range(FB_N_PATHS) if fb_paths[i].present()]


@cython.final
cdef class Scanner(Splitter):
    """Pieces of a pattern family: "gpt2", "cl100k", "o200k" or "deepseek".

    n_digits: numbers go in groups of at most so many, up to 9; 0: no limit. contractions: as in
    cl100k pieces of their own, as in o200k the end of a word. end_is_one_piece: white space up to the
    end of the text is one piece. path: one of `paths()`; None: what FASTBPE_SIMD names in the environment,
    else the best.
    """

    cdef fb_pattern _pattern
    cdef const fb_path* _path
    cdef readonly str family

    def __init__(
        self, str family not None, *, int n_digits, bint contractions=True, bint end_is_one_piece=False,
        str path=None,
    ):
        self.cuttable = True  # proved in cuts.pyx
        self._pattern.family = _FAMILIES[family]
        self._pattern.n_digits = n_digits
        self._pattern.contractions = contractions
        self._pattern.end_is_one_piece = end_is_one_piece
        self.family = family
        path = path or os.environ.get("FASTBPE_SIMD") or None
        self._path = fb_choose_path(NULL) if path is None else fb_choose_path(path.encode())
        if self._path == NULL:
            raise ValueError(f"FASTBPE_SIMD={path!r}: this machine has {', '.join(paths())}")

    @property
    def path(self):
        """The instruction set it works with."""
        return self._path.name.decode()

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        ends_reserve(ends, ENDS_PER_CALL + FB_ROOM)
        ends.n += self._path.scan[self._pattern.family](
            data, n, &at, ends.items + ends.n, ENDS_PER_CALL + FB_ROOM, &self._pattern
        )
        return at

    def __repr__(self):
        return f"scanner, {self.path}"
