/* Split text into runs of characters of one class, and into single characters: 64 bytes of ASCII at a time.
 *
 * Included once per instruction set, like blocks.h, which explains FB_FN and FB_V. A piece ends between two characters
 * if their classes differ, or if the class is of single characters, so a block of ASCII needs only the mask of each
 * class. Characters outside ASCII are handled one by one. */
#ifndef FASTBPE_RUNS_H
#define FASTBPE_RUNS_H

#include "utf8.h"

enum { FB_MAX_CLASSES = 4, FB_FEW_BYTES = 8 }; /* fewest ASCII characters before others that are worth a block */

typedef struct {
    int n_classes;                     /* including class 0, the characters that the pattern does not match */
    uint8_t single[FB_MAX_CLASSES];    /* by class: 1: each character is a piece; 0: a run of them is one */
    uint64_t rows[FB_MAX_CLASSES][2];  /* bits of the ASCII characters of each class: below 64, and from 64 on */
    size_t gap_flag;                   /* set in the end of a run of class 0 */
    const uint16_t *page_of;           /* by code point / 256: number of its page */
    const uint8_t *pages;              /* classes of the 256 characters of each page */
} fb_runs;

static inline unsigned fb_run_class(const fb_runs *r, const uint8_t *p, size_t *n_bytes) {
    uint32_t c = fb_char(p, n_bytes);
    return r->pages[(size_t)r->page_of[c >> 8] << 8 | (c & 0xFF)];
}

/* The end of the piece that begins at i < n, with the flag if it is a gap. */
static inline size_t fb_run_end(const uint8_t *text, size_t n, size_t i, const fb_runs *r) {
    size_t n_bytes;
    unsigned cls = fb_run_class(r, text + i, &n_bytes);
    i += n_bytes;
    while (!r->single[cls] && i < n && fb_run_class(r, text + i, &n_bytes) == cls) i += n_bytes;
    return cls ? i : i | r->gap_flag;
}

static size_t fb_scalar_runs(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room, const fb_runs *r) {
    size_t n_ends = 0, end = *at;
    while (end < n && n_ends < room) {
        ends[n_ends] = fb_run_end(text, n, end, r);
        end = ends[n_ends++] & ~r->gap_flag;
    }
    *at = end;
    return n_ends;
}

#endif

#ifdef FB_FN
/* Return the piece starts, including bit 0, of the first n bytes of a block of ASCII. gap: receives bytes of gaps. */
FB_INLINE uint64_t FB_FN(run_starts)(FB_V(bytes) v, size_t n, const fb_runs *r, uint64_t *gap) {
    FB_V(sixes) six = FB_V(low_six_bits)(v);
    uint64_t upper = FB_V(below)(v, 64, 64), rest = fb_below(n), starts = 1;
    for (int k = 1; k < r->n_classes; k++) {
        uint64_t low = FB_V(members)(r->rows[k][0], six) & ~upper, high = FB_V(members)(r->rows[k][1], six) & upper;
        uint64_t members = (low | high) & rest;
        rest &= ~members;
        starts |= r->single[k] ? members : members & ~(members << 1);
    }
    *gap = rest;
    return starts | (rest & ~(rest << 1));
}

static size_t FB_FN(runs)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room, const fb_runs *r) {
    size_t base = *at, n_ends = 0;
    while (base < n && room - n_ends >= FB_ROOM) {
        if (text[base] >= 0x80) {
            ends[n_ends] = fb_run_end(text, n, base, r);
            base = ends[n_ends++] & ~r->gap_flag;
            continue;
        }
        size_t n_ascii = n - base < 64 ? n - base : 64, cut = 0;
        FB_V(bytes) v = FB_V(load)(text + base, n_ascii);
        uint64_t high = FB_V(high)(v), gap = 0, starts = 0;
        if (high) n_ascii = (size_t)__builtin_ctzll(high);
        int done = n_ascii == n - base;
        if (n_ascii >= FB_FEW_BYTES || done) {
            starts = FB_FN(run_starts)(v, n_ascii, r, &gap);
            cut = 63 - (size_t)__builtin_clzll(starts);
        }
        if (!done && cut == 0) {
            ends[n_ends] = fb_run_end(text, n, base, r);
            base = ends[n_ends++] & ~r->gap_flag;
            continue;
        }
        starts &= ~(uint64_t)1;
        FB_V(put)(ends + n_ends, base, starts);
        /* Flag the ends of gaps: the starts behind a byte of a gap. The number of a start is its index in `ends`. */
        for (uint64_t after = starts & (gap << 1); after; after &= after - 1)
            ends[n_ends + (size_t)__builtin_popcountll(starts & ((after & -after) - 1))] |= r->gap_flag;
        n_ends += (size_t)__builtin_popcountll(starts);
        base += cut;
        if (done) {
            base = n;
            ends[n_ends++] = gap >> (n_ascii - 1) & 1 ? n | r->gap_flag : n;
        }
    }
    *at = base;
    return n_ends;
}
#endif
