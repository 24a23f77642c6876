/* Merging many new pieces of up to 63 bytes side by side with vectors: what merging.pyx does, in half of its time.
 *
 * A piece's symbols are the places of vectors, as many as it needs, and its pairs' keys those of as many others; both
 * move up together at each merge, so that what is left and right of a symbol stands beside it. A key has its place in
 * its low bits: the least of all, found in a few instructions, says what to merge and where. All slots of the table's
 * line that a pair is in are compared at once. Beside a piece stand symbols that make no pair, so that
 * its ends are no cases of their own. With AVX-512 narrow pieces, where they are many, stand beside each other in
 * vectors instead: see columns_avx512.h.
 */
#ifndef FASTBPE_MERGING_H
#define FASTBPE_MERGING_H

#include <stddef.h>
#include <stdint.h>

#include "fibonacci.h"
#include "targets.h"

typedef struct {
    const uint8_t *piece; /* of fewer than 16 bytes: 16 may be read */
    uint32_t n_bytes;     /* fewer than FB_PLACES */
    uint32_t *ids;        /* where its ids go: room for a whole number of 16 */
    uint32_t *n_ids;
} fb_new_piece;

typedef struct {
    const fb_new_piece *pieces;
    size_t n;
} fb_new_pieces;

typedef struct {
    const uint64_t *pairs; /* tables.pxd: Pairs.ranked */
    unsigned shift;
    const uint32_t *byte_ids;
    const int32_t *byte_keys;
} fb_merge_tables;

enum {
    FB_MAX_PIECES = 128, /* in a call */
    FB_ABREAST = 32,      /* pieces at once: their states stay in the first-level cache */
    FB_PLACES = 64
};

/* new: three, pieces of fewer than 16, 32 and 64 bytes. */
typedef void (*fb_merge_fn)(const fb_merge_tables *tables, const fb_new_pieces *new);

#ifdef FB_X86
#define FB_ID_BITS 21
#define FB_LINE 8        /* slots */
#define FB_NO_ID 0x1FFFFF /* beside a piece; what an empty slot, all ones, says that a pair makes */
#define FB_NO_KEY (FB_NO_ID << 6)

FB_INLINE const uint64_t *fb_pair_line(const fb_merge_tables *t, uint64_t pair) {
    return t->pairs + (pair * FB_FIBONACCI >> t->shift & ~(uint64_t)(FB_LINE - 1));
}

/* In the lines behind a full one. */
static __attribute__((noinline)) uint64_t fb_pair_further(const fb_merge_tables *t, uint64_t pair, const uint64_t *line) {
    size_t at = (size_t)(line - t->pairs), mask = ((size_t)1 << (64 - t->shift)) - 1, i;
    int has_room = 0;
    while (!has_room) {
        at = (at + FB_LINE) & mask;
        for (i = at; i < at + FB_LINE; i++) {
            if (t->pairs[i] >> FB_ID_BITS == pair) return t->pairs[i];
            has_room |= t->pairs[i] == UINT64_MAX;
        }
    }
    return UINT64_MAX;
}

/* How many of the lanes that are free wide pieces may have: what n others leave, or else a quarter of all. */
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

/* All widths take turns: there are few wide ones at a time, and by themselves they would wait for memory. They share
 * the lanes, for threads may have stacks of 64 KB. */
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

static int fb_has_avx512_to_merge(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
}
#endif

/* What merges here, where a path is asked for; NULL: nothing does. */
static fb_merge_fn fb_choose_merge(const char *path) {
#ifdef FB_X86
    if (fb_is_path_of(path, "avx512") && fb_has_avx512_to_merge()) return fb_avx512_merge;
    if (fb_is_path_of(path, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return fb_avx2_merge;
#endif
    (void)path;
    return NULL;
}

#endif
