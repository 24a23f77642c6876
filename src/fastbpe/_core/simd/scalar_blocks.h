/* Find piece ends in ASCII 64 bytes at a time, without vectors: for processors that no other path supports.
 *
 * A table has the classes of each byte as bits 0, 8, 16 … of a number, so that eight bytes, each shifted by its
 * position, add up to eight masks of eight bits. A transposition of eight such sums makes the masks of the block.
 * Other characters are split one by one (pieces.h). Tried and dropped: masks made by a comparison of each byte for each
 * class: slower than pieces.h. */
enum { FB_WORTH_BYTES = 24 }; /* fewest ASCII characters before others that are worth a block */

#define FB_RANGE(c, first, last) ((uint64_t)((c) >= (first) && (c) <= (last)))
#define FB_SIGNS(c) \
    (FB_RANGE(c, '!', '.') | FB_RANGE(c, ':', '@') | FB_RANGE(c, '[', '`') | FB_RANGE(c, '{', '~'))
#define FB_PLANES(c) \
    (FB_RANGE(c, 'A', 'Z') | FB_RANGE(c, 'a', 'z') << 8 | FB_RANGE(c, '0', '9') << 16 | FB_RANGE(c, ' ', ' ') << 24 | \
     (FB_RANGE(c, '\n', '\n') | FB_RANGE(c, '\r', '\r')) << 32 | FB_RANGE(c, 9, 13) << 40 | FB_SIGNS(c) << 48 | \
     (FB_RANGE(c, '\'', '\'') | FB_RANGE(c, '/', '/')) << 56)
#define FB_PLANES_4(c) FB_PLANES(c), FB_PLANES((c) + 1), FB_PLANES((c) + 2), FB_PLANES((c) + 3)
#define FB_PLANES_16(c) FB_PLANES_4(c), FB_PLANES_4((c) + 4), FB_PLANES_4((c) + 8), FB_PLANES_4((c) + 12)

/* By byte, one plane each: upper-case letter, lower-case letter, digit, space, newline, white space among the
 * control characters, sign except the slash, apostrophe or slash. No bits for bytes from 0x80 on. */
static const uint64_t fb_planes[256] = {
    FB_PLANES_16(0),  FB_PLANES_16(16), FB_PLANES_16(32), FB_PLANES_16(48),
    FB_PLANES_16(64), FB_PLANES_16(80), FB_PLANES_16(96), FB_PLANES_16(112),
};

#include "piece_starts.h"

/* Fill the masks of n bytes of ASCII, at most 64. */
FB_INLINE void fb_scalar_classify(const uint8_t *p, size_t n, fb_masks *m) {
    uint8_t tail[64];
    uint64_t rows[8], swapped;
    if (n < 64) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    for (int k = 0; k < 8; k++) {
        uint64_t sum = 0;
        for (int i = 7; i >= 0; i--) sum = sum << 1 | fb_planes[p[8 * k + i]];
        rows[k] = sum;
    }
    for (int k = 0; k < 4; k++) { /* transpose the bytes of the rows: 4 by 4, 2 by 2, one by one */
        swapped = (rows[k] >> 32 ^ rows[k + 4]) & 0xFFFFFFFF;
        rows[k + 4] ^= swapped, rows[k] ^= swapped << 32;
    }
    for (int k = 0; k < 8; k += k & 1 ? 3 : 1) {
        swapped = (rows[k] >> 16 ^ rows[k + 2]) & 0x0000FFFF0000FFFF;
        rows[k + 2] ^= swapped, rows[k] ^= swapped << 16;
    }
    for (int k = 0; k < 8; k += 2) {
        swapped = (rows[k] >> 8 ^ rows[k + 1]) & 0x00FF00FF00FF00FF;
        rows[k + 1] ^= swapped, rows[k] ^= swapped << 8;
    }
    memset(m, 0, sizeof *m);
    m->upper = rows[0], m->lower = rows[1], m->number = rows[2], m->space = rows[3], m->newline = rows[4];
    m->blank = rows[3] | rows[5];
    m->quote = rows[6] & rows[7], m->slash = rows[7] & ~rows[6];
    m->graph = rows[0] | rows[1] | rows[2] | rows[6] | rows[7];
}

/* The number of bytes of ASCII at p, at most n; 0 if they are fewer than FB_WORTH_BYTES, unless they are all. */
FB_INLINE size_t fb_scalar_ascii(const uint8_t *p, size_t n) {
    uint64_t words[3];
    size_t i = 0;
    if (n >= FB_WORTH_BYTES) {
        memcpy(words, p, FB_WORTH_BYTES);
        if ((words[0] | words[1] | words[2]) & UINT64_C(0x8080808080808080)) return 0;
        for (i = FB_WORTH_BYTES; i + 8 <= n; i += 8) {
            memcpy(words, p + i, 8);
            if (words[0] & UINT64_C(0x8080808080808080)) break;
        }
    }
    while (i < n && p[i] < 0x80) i++;
    return i == n || i >= FB_WORTH_BYTES ? i : 0;
}

/* The piece starts of a block, as FB_FN(starts_of) returns them; only bit 0 if it begins with too little ASCII. */
FB_INLINE uint64_t FB_FN(block)(const uint8_t *p, size_t n_left, const fb_pattern *pattern, int family, size_t *cut,
                                int *done) {
    fb_masks m;
    size_t n_ascii = fb_scalar_ascii(p, n_left < 64 ? n_left : 64);
    if (n_ascii == 0) {
        *cut = 0, *done = 0;
        return 1;
    }
    fb_scalar_classify(p, n_ascii, &m);
    return FB_FN(starts_of)(p, n_left, n_ascii, &m, pattern, family, cut, done);
}

#include "block_scan.h"
