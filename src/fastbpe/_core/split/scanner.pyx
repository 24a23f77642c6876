"""Splitters for known patterns, code-point vocabularies and character sets: SIMD, 64 bytes at a time, no GIL."""

import os

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fastbpe._core.merge.codepoint_symbols cimport CodePoints, fb_words
from fastbpe._core.common.utf8 cimport fb_whole_end
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_reserve


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
    int FB_MAX_CLASSES
    ctypedef struct fb_runs:
        int n_classes
        uint8_t single[4]
        uint64_t rows[4][2]
        size_t gap_flag
        const uint16_t* page_of
        const uint8_t* pages
    ctypedef size_t (*fb_runs_fn)(
        const uint8_t* text, size_t n, size_t* at, size_t* ends, size_t room, const fb_runs* runs
    ) noexcept
    ctypedef struct fb_path:
        const char* name
        fb_scan_fn scan[4]
        fb_words_fn words
        fb_runs_fn runs
        int (*present)() noexcept
    size_t FB_N_PATHS
    const fb_path fb_paths[1]
    const fb_path* fb_choose_path(const char* name) noexcept

cdef const size_t ENDS_PER_CALL = 1024  # ends after which a call returns: 8 KB, which fit into the L1 cache

_FAMILIES = {"gpt2": FB_GPT2, "cl100k": FB_CL100K, "o200k": FB_O200K, "deepseek": FB_DEEPSEEK}


def paths():
    """Return the names of the instruction sets that this machine can scan with, best first."""
    return [fb_paths[i].name.decode() for i in range(FB_N_PATHS) if fb_paths[i].present()]


cdef const fb_path* _choose_path(str path) except NULL:
    """Return the scanners of an instruction set; None: the set of FASTBPE_SIMD, or without it the best set."""
    cdef const fb_path* chosen
    path = path or os.environ.get("FASTBPE_SIMD") or None
    chosen = fb_choose_path(NULL) if path is None else fb_choose_path(path.encode())
    if chosen == NULL:
        raise ValueError(f"FASTBPE_SIMD={path!r}: choose an instruction set of this machine: {', '.join(paths())}")
    return chosen


cdef class VectorScanner(Splitter):
    """Splitter with a loop in C for each instruction set. Base of the splitters in this module."""

    cdef const fb_path* _path
    cdef size_t _gap_flag  # added to the end of an incomplete last character: UNMATCHED, or 0

    @property
    def path(self):
        """Name of the instruction set in use."""
        return self._path.name.decode()

    cdef size_t _scan(self, const uint8_t* data, size_t n, size_t* at, size_t* ends) noexcept nogil:
        """Write the next ends, at most ENDS_PER_CALL + FB_ROOM of them, and move `at`; return their number.

        The loops in C write the ends of a whole block, FB_ROOM at most, as long as these fit.
        """
        return 0

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t whole_end = fb_whole_end(data, n)
        while at < whole_end:
            ends_reserve(ends, ENDS_PER_CALL + FB_ROOM)
            ends.n += self._scan(data, whole_end, &at, ends.items + ends.n)
            if whole_end == n:
                return at
        ends_add(ends, n | self._gap_flag)
        return n


@cython.final
cdef class Scanner(VectorScanner):
    """Splitter for a family of patterns.

    family: "gpt2", "cl100k", "o200k" or "deepseek".
    n_digits: int – maximum number of digits in a piece, up to 9; 0: no limit. No effect with "gpt2".
    contractions: bool – English contractions are separate pieces (cl100k) or the end of a word (o200k). No effect
        with "gpt2", where they are always separate pieces, and "deepseek".
    end_is_one_piece: bool – white space up to the end of the text is one piece.
    path: str or None – an instruction set, one of `paths()`; None: the one in the environment variable
        FASTBPE_SIMD, or the best one.
    """

    cdef fb_pattern _pattern
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

    cdef size_t _scan(self, const uint8_t* data, size_t n, size_t* at, size_t* ends) noexcept nogil:
        return self._path.scan[self._pattern.family](data, n, at, ends, ENDS_PER_CALL + FB_ROOM, &self._pattern)

    def __repr__(self):
        return f"scanner, {self.path}"


@cython.final
cdef class WordScanner(VectorScanner):
    """Splitter into pieces that no token of a code-point vocabulary crosses.

    Pieces are words, or shorter where no token contains two neighbouring characters.

    code_points: CodePoints – the vocabulary.
    path: as for Scanner.
    """

    cdef CodePoints _code_points

    def __init__(self, CodePoints code_points not None, *, str path=None):
        # No token has a space after another character, so a piece ends before each space that begins a word. Without
        # marks_spaces, the symbols have U+2581 instead of spaces, and by_words says nothing about it.
        self.cuttable = code_points.by_words and code_points.marks_spaces
        self._code_points = code_points
        self._path = _choose_path(path)

    cdef size_t _scan(self, const uint8_t* data, size_t n, size_t* at, size_t* ends) noexcept nogil:
        return self._path.words(data, n, at, ends, ENDS_PER_CALL + FB_ROOM, &self._code_points.words)

    def __repr__(self):
        return f"words, {self.path}"


cdef enum:
    N_BLOCKS = 0x1100  # blocks of 256 code points
    SEVERAL = 0xFF  # a block that belongs to sets only in part


@cython.final
cdef class RunScanner(VectorScanner):
    """Splitter into runs of characters that are in the same set, or into single characters: `[a-z]+|[0-9]`.

    sets: list of (ranges, single) – up to three disjoint sets: pairs (first, last) of code points, and whether
        each character is a piece. A run of other characters is unmatched.
    keep_gaps: bool – True: unmatched text is a piece too; False: it is a gap.
    path: as for Scanner.
    """

    cdef fb_runs _runs
    cdef uint16_t _page_of[N_BLOCKS]
    cdef uint8_t* _pages

    def __cinit__(self, list sets not None, *, bint keep_gaps=True, str path=None):
        cdef uint32_t first, last, c, block, cls
        cdef Py_ssize_t n_pages
        if not 0 < len(sets) < FB_MAX_CLASSES:
            raise ValueError(f"{len(sets)} sets: must be 1 to {FB_MAX_CLASSES - 1}")
        self._path = _choose_path(path)
        n_pages = self._number_pages(sets)
        self._pages = <uint8_t*> calloc(<size_t> n_pages << 8, 1)
        if self._pages == NULL:
            raise MemoryError(f"no memory for the classes of {n_pages << 8} characters")
        for cls, (ranges, single) in enumerate(sets, 1):
            self._runs.single[cls] = single
            for first, last in ranges:
                for block in range(first >> 8, (last >> 8) + 1):
                    c = max(first, block << 8)
                    memset(self._pages + (<size_t> self._page_of[block] << 8 | (c & 0xFF)), <int> cls,
                           min(last, block << 8 | 0xFF) - c + 1)
                for c in range(first, min(last + 1, <uint32_t> 0x80)):
                    self._runs.rows[cls][c >> 6] |= <uint64_t> 1 << (c & 63)
        self._runs.n_classes = <int> len(sets) + 1
        self._runs.gap_flag = self._gap_flag = 0 if keep_gaps else UNMATCHED
        self._runs.page_of = self._page_of
        self._runs.pages = self._pages

    def __dealloc__(self):
        free(self._pages)

    cdef Py_ssize_t _number_pages(self, list sets) except -1:
        """Assign a page to each block of code points. Blocks that ranges of one set fill share a page; so do empty
        blocks.

        Returns the number of pages. Page 0 is empty.
        """
        cdef uint32_t first, last, block
        cdef Py_ssize_t n_pages = 1
        cdef uint8_t[N_BLOCKS] owner  # number of the set that has the whole block; SEVERAL; 0: no set has a part
        cdef uint16_t[SEVERAL] page_of_set  # by number of the set
        cdef uint8_t number
        cdef bint is_whole
        memset(owner, 0, sizeof(owner))
        memset(page_of_set, 0, sizeof(page_of_set))
        for number, (ranges, _) in enumerate(sets, 1):
            for first, last in ranges:
                if first > last or last > 0x10FFFF:
                    raise ValueError(f"({first}, {last}) is not a range of code points")
                for block in range(first >> 8, (last >> 8) + 1):
                    is_whole = first <= block << 8 and last >= (block << 8 | 0xFF)
                    owner[block] = number if is_whole else SEVERAL
        for block in range(N_BLOCKS):
            number = owner[block]
            if number == SEVERAL or (number and not page_of_set[number]):
                self._page_of[block] = <uint16_t> n_pages
                n_pages += 1
                if number != SEVERAL:
                    page_of_set[number] = self._page_of[block]
            else:
                self._page_of[block] = page_of_set[number]
        return n_pages

    def quiet_bytes(self):
        """Return a bool per byte: no character of a set begins with it. None if gaps are not pieces."""
        cdef uint32_t c, block
        cdef bytearray quiet = bytearray(b"\1" * 256)
        if self._runs.gap_flag:
            return None
        for block in range(N_BLOCKS):
            if not self._page_of[block]:
                continue  # page 0 is empty
            for c in range(block << 8, (block + 1) << 8):
                if self._pages[<size_t> self._page_of[block] << 8 | (c & 0xFF)]:
                    # the first byte of the character's UTF-8
                    quiet[c if c < 0x80 else 0xC0 | c >> 6 if c < 0x800 else 0xE0 | c >> 12 if c < 0x10000
                          else 0xF0 | c >> 18] = 0
        return bytes(quiet)

    def by_neighbours(self):
        return True

    cdef size_t _scan(self, const uint8_t* data, size_t n, size_t* at, size_t* ends) noexcept nogil:
        return self._path.runs(data, n, at, ends, ENDS_PER_CALL + FB_ROOM, &self._runs)

    def __repr__(self):
        return f"runs, {self.path}"
