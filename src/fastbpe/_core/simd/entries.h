/* Entries of the piece cache's first table: packing ids into an entry, and copying the ids of a group of pieces.
 *
 * Up to three ids are stored in the entry as 32-bit integers, and one load copies them. Four to six ids are packed
 * with 20 bits each: unpacking is slower than a copy, but faster than reading a second cache line in the arena. This
 * helps most for languages whose pieces become many ids. Tried and dropped: packing all ids and unpacking them with
 * AVX2: faster for these languages, slower for English. */
#ifndef FASTBPE_ENTRIES_H
#define FASTBPE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lines.h"

#if defined(__GNUC__) || defined(__clang__)
#define FB_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define FB_LIKELY(x) (x)
#endif

/* Packed ids leave the most significant of their 16 bytes free. A shift by this number of bits moves the free byte
 * to the end in memory. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FB_FREE_BITS 8
#else
#define FB_FREE_BITS 0
#endif

enum {
    FB_ENTRY_PLAIN = 3,   /* limit on ids in an entry without packing */
    FB_ENTRY_IDS = 6,     /* limit on ids in an entry */
    FB_ENTRY_ID_BITS = 20 /* bits of a packed id; greater values go to the arena. No published vocabulary has such
                             ids, but the values of a trace, ids with lengths, are greater */
};

typedef struct { /* 32 bytes, two to a cache line: see cache_state.pxd */
    uint64_t low, high; /* the key: see piece_keys.pxd */
    uint8_t ids[15];
    uint8_t n_ids;
} fb_entry;

typedef struct { /* a piece that is being looked up: its key and home line */
    uint64_t low, high;
    fb_entry *line;
} fb_probe;

/* Store n ids in an entry. Returns 0, with ids and n_ids unchanged, if they do not fit. */
static inline int fb_entry_pack(fb_entry *entry, const uint32_t *ids, size_t n) {
    uint64_t halves[2] = {0, 0};
    size_t i;
    if (n > FB_ENTRY_IDS) return 0;
    if (n <= FB_ENTRY_PLAIN)
        memcpy(entry->ids, ids, n * sizeof(uint32_t));
    else {
        for (i = 0; i < n; i++) {
            if (ids[i] >> FB_ENTRY_ID_BITS) return 0;
            halves[i > 3] |= (uint64_t)ids[i] << (FB_ENTRY_ID_BITS * i & 63);
        }
        halves[1] = (halves[1] | ids[3] >> 4) << FB_FREE_BITS; /* the low 4 bits of ids[3] fill halves[0] */
        memcpy(entry->ids, halves, sizeof(entry->ids));
    }
    entry->n_ids = (uint8_t)n;
    return 1;
}

/* Copy the ids of an entry to `to`. Requires: n_ids <= FB_ENTRY_IDS; `to` has space for FB_ENTRY_IDS, all of which may
 * be overwritten. */
static inline void fb_entry_unpack(const fb_entry *entry, uint32_t *to) {
    const uint64_t mask = ((uint64_t)1 << FB_ENTRY_ID_BITS) - 1;
    uint64_t low, high;
    if (FB_LIKELY(entry->n_ids <= FB_ENTRY_PLAIN)) {
        memcpy(to, entry->ids, 16);
        return;
    }
    memcpy(&low, entry->ids, 8);
    memcpy(&high, entry->ids + 8, 8);
    high >>= FB_FREE_BITS;
    to[0] = (uint32_t)(low & mask);
    to[1] = (uint32_t)(low >> 20 & mask);
    to[2] = (uint32_t)(low >> 40 & mask);
    to[3] = (uint32_t)((low >> 60 | high << 4) & mask);
    to[4] = (uint32_t)(high >> 16 & mask);
    to[5] = (uint32_t)(high >> 36 & mask);
}

/* Copy the ids of pieces i, i + 1, … as long as each piece is in its home line with its ids in the entry.
 *
 * to: where to write; advanced past the last id. Requires: space for FB_ENTRY_IDS ids per piece.
 * Returns the index of the first piece that needs more than this, or n. */
static inline size_t fb_entries_copy(const fb_probe *probes, size_t i, size_t n, uint32_t **to) {
    uint32_t *out = *to;
    for (; i < n; i++) {
        size_t at;
        int is_home = fb_find_in_line(probes[i].line, &probes[i], &at);
        const fb_entry *entry = (const fb_entry *)((const char *)probes[i].line + at);
        size_t n_ids = entry->n_ids;
        if (!FB_LIKELY(is_home)) break;
        if (FB_LIKELY(n_ids <= FB_ENTRY_PLAIN))
            memcpy(out, entry->ids, 16);
        else if (n_ids <= FB_ENTRY_IDS)
            fb_entry_unpack(entry, out);
        else
            break;
        out += n_ids;
    }
    *to = out;
    return i;
}

#endif
