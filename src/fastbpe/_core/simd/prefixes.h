/* Finds the positions at which one of several strings may begin, 32 positions at a time.
 *
 * This is the Teddy algorithm of Hyperscan. The strings are divided into eight groups. For offsets 0, 1 and 2 of a
 * string, two tables, indexed by the low and by the high nibble of a byte, tell which groups may have the byte
 * there. A byte shuffle per table looks the nibbles up. False positives are possible. */
#ifndef FASTBPE_PREFIXES_H
#define FASTBPE_PREFIXES_H

#include <stdint.h>
#include <string.h>

#include "prefix_tables.h"
#include "targets.h"

static inline void fb_prefixes_clear(fb_prefixes *p) { memset(p, 0, sizeof *p); }

/* Add a string to a group. Requires: n >= 1; group < 8. */
static inline void fb_prefixes_add(fb_prefixes *p, unsigned group, const uint8_t *word, size_t n) {
    for (size_t k = 0; k < FB_PREFIX; k++)
        for (unsigned byte = 0; byte < 256; byte++) {
            if (k < n && word[k] != byte) continue; /* any byte may follow a short string */
            p->bytes[k][byte] |= (uint8_t)(1u << group);
            p->low[k][byte & 15] |= (uint8_t)(1u << group);
            p->high[k][byte >> 4] |= (uint8_t)(1u << group);
        }
}

/* Tell whether a string may begin at data[at]. Bytes after the end of the text count as equal. */
static inline int fb_may_begin(const fb_prefixes *p, const uint8_t *data, size_t n, size_t at) {
    unsigned groups = p->bytes[0][data[at]];
    if (groups && at + 1 < n) groups &= p->bytes[1][data[at + 1]];
    if (groups && at + 2 < n) groups &= p->bytes[2][data[at + 2]];
    return groups != 0;
}

static inline size_t fb_next_begin_scalar(const fb_prefixes *p, const uint8_t *data, size_t n, size_t at) {
    while (at < n && !fb_may_begin(p, data, n, at)) at++;
    return at;
}

#ifdef FB_X86
__attribute__((target("avx2"))) static inline __m256i fb_groups_at(const fb_prefixes *p, int k, const uint8_t *at) {
    const __m256i half = _mm256_set1_epi8(15);
    __m256i v = _mm256_loadu_si256((const __m256i *)(at + k));
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p->low[k]));
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p->high[k]));
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(v, half)),
                            _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), half)));
}

__attribute__((target("avx2"))) static inline size_t fb_next_begin_avx2(const fb_prefixes *p, const uint8_t *data, size_t n,
                                                                 size_t at) {
    for (; n - at >= 32 + FB_PREFIX - 1; at += 32) {
        __m256i groups = _mm256_and_si256(_mm256_and_si256(fb_groups_at(p, 0, data + at), fb_groups_at(p, 1, data + at)),
                                          fb_groups_at(p, 2, data + at));
        uint32_t none = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(groups, _mm256_setzero_si256()));
        if (~none) return at + (size_t)__builtin_ctz(~none);
    }
    return fb_next_begin_scalar(p, data, n, at);
}

static inline int fb_has_vectors(void) { return fb_processor_has(FB_AVX2); }
#else
#define fb_next_begin_avx2 fb_next_begin_scalar
static inline int fb_has_vectors(void) { return 0; }
#endif

/* Return the first offset, `at` or greater, at which a string may begin; n if no string can.
 * has_vectors: the result of fb_has_vectors(). */
static inline size_t fb_next_begin(const fb_prefixes *p, const uint8_t *data, size_t n, size_t at, int has_vectors) {
    return has_vectors ? fb_next_begin_avx2(p, data, n, at) : fb_next_begin_scalar(p, data, n, at);
}

#endif
