/* Merges a batch of pieces of up to 63 bytes with AVX2 or AVX-512. merge_batch.pyx does the same, slower, without them.
 *
 * The symbols of a piece are in the lanes of a few vectors, in order, and the keys of their pairs in the lanes of
 * as many other vectors. A merge closes the gap in all of them, so that the neighbours of a symbol stay next to
 * it. A key is rank << 6 | lane: the minimum of all keys, found in a few instructions, tells which pair to merge,
 * and where. The rank of a pair is also the id of the merged symbol. A look-up of a pair compares all eight slots
 * of a cache line at once. On both sides of a piece there is a symbol that is in no pair (FB_NO_ID), so the ends of
 * the piece need no special code. As in merge_batch.pyx, pieces take turns: one is merged while the prefetched slots
 * of the others arrive.
 *
 * With AVX-512, short pieces are stored across vectors instead, one piece per lane: see columns_avx512.h. */
#ifndef FASTBPE_MERGING_H
#define FASTBPE_MERGING_H

#include <stddef.h>
#include <stdint.h>

#include "hashing.h"
#include "targets.h"

typedef struct {
    const uint8_t *piece; /* 16 bytes are readable from here on, even if the piece is shorter */
    uint32_t n_bytes;     /* 1 to FB_PLACES - 1 */
    uint32_t *ids;        /* receives its ids; space for n_bytes ids, rounded up to a multiple of 16 */
    uint32_t *n_ids;      /* receives the number of its ids */
} fb_new_piece;

typedef struct {
    const fb_new_piece *pieces;
    size_t n; /* at most FB_MAX_PIECES */
} fb_new_pieces;

typedef struct {
    const uint64_t *pairs;    /* Pairs.ranked of hash_tables.pxd */
    unsigned shift;           /* Pairs.shift */
    const uint32_t *byte_ids; /* Tables.byte_ids of vocabulary.pxd */
    const int32_t *byte_keys; /* Tables.byte_keys */
} fb_merge_tables;

enum {
    FB_MAX_PIECES = 128, /* limit on pieces of a call */
    FB_ABREAST = 32,     /* pieces that take turns: their states fit into the first-level cache */
    FB_PLACES = 64       /* symbols that the state of a piece has space for */
};

/* Merge three lists: pieces of fewer than 16, of fewer than 32, and of fewer than 64 bytes. */
typedef void (*fb_merge_fn)(const fb_merge_tables *tables, const fb_new_pieces *new);

#ifdef FB_X86
#define FB_ID_BITS 21
#define FB_LINE 8        /* slots of a cache line */
#define FB_NO_ID 0x1FFFFF /* a symbol that is in no pair; also the merged id of an empty slot, which is all ones */
#define FB_NO_KEY (FB_NO_ID << 6) /* key of a pair that is not in the table; byte_keys has a greater NO_KEY instead */

/* Return the home line (the first cache line to probe) of the pair left << FB_ID_BITS | right in the ranked table. */
FB_INLINE const uint64_t *fb_pair_line(const fb_merge_tables *t, uint64_t pair) {
    return t->pairs + (pair * FB_GOLDEN_RATIO >> t->shift & ~(uint64_t)(FB_LINE - 1));
}

/* Return the slot of a pair; all ones if the pair is not in the table.
 * Requires: the home line of the pair is full and does not contain it. */
static __attribute__((noinline)) uint64_t fb_pair_behind_line(const fb_merge_tables *t, uint64_t pair, const uint64_t *line) {
    size_t at = (size_t)(line - t->pairs), mask = ((size_t)1 << (64 - t->shift)) - 1, i;
    int has_empty = 0;
    while (!has_empty) {
        at = (at + FB_LINE) & mask;
        for (i = at; i < at + FB_LINE; i++) {
            if (t->pairs[i] >> FB_ID_BITS == pair) return t->pairs[i];
            has_empty |= t->pairs[i] == UINT64_MAX;
        }
    }
    return UINT64_MAX;
}

/* Return how many free lanes wide pieces may take: the lanes that n narrower pieces leave free, but at least a quarter
   of all lanes. */
static inline size_t fb_lanes_of(ptrdiff_t n_free, size_t n) {
    return (size_t)n_free > n + FB_ABREAST / 4 ? (size_t)n_free - n : FB_ABREAST / 4;
}

#define FB_EACH_VECTOR _Pragma("GCC unroll 8") for (size_t v = 0; v < n_vectors; v++)

FB_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2")
#define FB_V(name) fb_avx512_##name
#define FB_SYMBOLS 16
#include "merging_avx512.h"
#include "abreast.h"
#include "columns_avx512.h"
#undef FB_SYMBOLS
#undef FB_V
FB_TARGET_END

FB_TARGET_BEGIN("avx2,bmi,bmi2")
#define FB_V(name) fb_avx2_##name
#define FB_SYMBOLS 8
#include "merging_avx2.h"
#include "abreast.h"

/* Pieces of all widths take turns together: a batch has few wide ones, which alone would have to wait for memory.
 * The three queues share one array of lanes, because it is on the stack and a thread may have only 64 KB of that. */
static void fb_avx2_merge(const fb_merge_tables *tables, const fb_new_pieces *new) {
    fb_avx2_lane lanes[FB_ABREAST] __attribute__((aligned(64))), *free = lanes, *end = lanes + FB_ABREAST;
    fb_avx2_queue narrow, wide, widest;
    free = fb_avx2_start(&widest, free, fb_lanes_of(end - free, new[0].n + new[1].n), tables, &new[2], 64 / FB_SYMBOLS);
    free = fb_avx2_start(&wide, free, fb_lanes_of(end - free, new[0].n), tables, &new[1], 32 / FB_SYMBOLS);
    fb_avx2_start(&narrow, free, (size_t)(end - free), tables, &new[0], 16 / FB_SYMBOLS);
    while (narrow.n_active | wide.n_active | widest.n_active) {
        fb_avx2_turn(&widest, tables, 64 / FB_SYMBOLS);
        fb_avx2_turn(&wide, tables, 32 / FB_SYMBOLS);
        fb_avx2_turn(&narrow, tables, 16 / FB_SYMBOLS);
    }
}

#undef FB_SYMBOLS
#undef FB_V
FB_TARGET_END

static int fb_has_avx512_to_merge(void) { return fb_processor_has(FB_AVX512BW | FB_AVX512VL | FB_AVX512DQ | FB_BMI2); }
#endif

/* Choose the kernel for this processor. path: SIMD path that the user requests, "" for the best. Returns NULL if there
   is no kernel. */
static fb_merge_fn fb_choose_merge(const char *path) {
#ifdef FB_X86
    if (fb_is_path_of(path, "avx512") && fb_has_avx512_to_merge()) return fb_avx512_merge;
    if (fb_is_path_of(path, "avx2") && fb_processor_has(FB_AVX2 | FB_BMI2)) return fb_avx2_merge;
#endif
    (void)path;
    return NULL;
}

#endif
