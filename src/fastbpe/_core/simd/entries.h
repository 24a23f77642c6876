/* What an entry of the piece cache holds of a piece: its ids and how many they are.
 *
 * Up to three lie as they are and are copied at once; four to six are packed, 20 bits each, which takes longer, but less
 * than to read them elsewhere: 6 % off many languages, 9 % off Llama 2. All of them packed, and unpacked by AVX2, was
 * another 3 % there, but English 5 % slower.
 */
#ifndef FASTBPE_ENTRIES_H
#define FASTBPE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lines.h"

#ifdef __GNUC__
#define FB_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define FB_LIKELY(x) (x)
#endif

enum {
    FB_ENTRY_PLAIN = 3,
    FB_ENTRY_IDS = 6,     /* that fit */
    FB_ENTRY_ID_BITS = 20 /* of every vocabulary that is known; greater ids are not packed */
};

typedef struct { /* 32 bytes, two to a line of the processor's cache */
    uint64_t low, high; /* the key, see keys.pxd */
    uint8_t ids[15];
    uint8_t n_ids;
} fb_entry;

typedef struct {
    uint64_t low, high;
    fb_entry *line;
} fb_probe;

/* Whether n ids fit, which then are in the entry. */
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
        halves[1] |= ids[3] >> 4;
        memcpy(entry->ids, halves, sizeof(entry->ids));
    }
    entry->n_ids = (uint8_t)n;
    return 1;
}

/* The ids, and up to FB_ENTRY_IDS in all. */
static inline void fb_entry_unpack(const fb_entry *entry, uint32_t *to) {
    const uint64_t mask = ((uint64_t)1 << FB_ENTRY_ID_BITS) - 1;
    uint64_t low, high;
    if (FB_LIKELY(entry->n_ids <= FB_ENTRY_PLAIN)) {
        memcpy(to, entry->ids, 16);
        return;
    }
    memcpy(&low, entry->ids, 8);
    memcpy(&high, entry->ids + 8, 8);
    to[0] = (uint32_t)(low & mask);
    to[1] = (uint32_t)(low >> 20 & mask);
    to[2] = (uint32_t)(low >> 40 & mask);
    to[3] = (uint32_t)((low >> 60 | high << 4) & mask);
    to[4] = (uint32_t)(high >> 16 & mask);
    to[5] = (uint32_t)(high >> 36 & mask);
}

/* Write the ids of pieces i to n - 1, up to the first that is not in its home line or whose ids are not: which one. */
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
