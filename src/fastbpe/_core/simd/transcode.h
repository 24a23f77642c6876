/* Converting the characters of a str to UTF-8, sixteen at a time and without a branch per character.
 *
 * A unit is an item of the str: one character in 1, 2 or 4 bytes. Each becomes a 32-bit word whose low bytes are
 * its UTF-8; then the used bytes are moved together. AVX-512 VBMI2 does this by one instruction for sixteen words,
 * AVX2 for four words at a time by a shuffle whose control comes from a table. Compared with a loop over
 * characters, this gains most if ASCII and other characters alternate, as in Russian or Greek. NEON would need
 * separate tables and uses the loop in utf8_text.pyx. The text ahead is prefetched: this gains 3 % on counting
 * (docs/how/optimizations.md). */
#ifndef FASTBPE_TRANSCODE_H
#define FASTBPE_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>

#include "targets.h"

/* Convert the units of data from index *at on; return the number of bytes written to out.
 *
 * Stops before the first sixteen units that contain a surrogate, or when fewer than sixteen are left; *at is then the
 * index of the first unit that is not converted. unit: bytes of a unit, 1, 2 or 4. Up to 64 bytes after the output may
 * be overwritten. */
typedef size_t (*fb_transcode_fn)(const void *data, size_t *at, size_t n, int unit, uint8_t *out);

#ifdef FB_X86
/* Define one function per width of a unit, so that the compiler removes the branches on the width. */
#define FB_EACH_WIDTH(name)                                                                             \
    static size_t name##_1(const void *data, size_t *at, size_t n, uint8_t *out) {                      \
        return name(data, at, n, 1, out);                                                               \
    }                                                                                                   \
    static size_t name##_2(const void *data, size_t *at, size_t n, uint8_t *out) {                      \
        return name(data, at, n, 2, out);                                                               \
    }                                                                                                   \
    static size_t name##_4(const void *data, size_t *at, size_t n, uint8_t *out) {                      \
        return name(data, at, n, 4, out);                                                               \
    }                                                                                                   \
    static size_t name##_blocks(const void *data, size_t *at, size_t n, int unit, uint8_t *out) {       \
        return unit == 1 ? name##_1(data, at, n, out)                                                   \
             : unit == 2 ? name##_2(data, at, n, out) : name##_4(data, at, n, out);                     \
    }

FB_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi2,popcnt")

/* Load sixteen units as sixteen words. */
FB_INLINE __m512i fb_avx512_units(const void *data, size_t at, int unit) {
    if (unit == 1) return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)((const uint8_t *)data + at)));
    if (unit == 2) return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)((const uint16_t *)data + at)));
    return _mm512_loadu_si512((const uint32_t *)data + at);
}

FB_INLINE size_t fb_avx512_transcode(const void *data, size_t *at, size_t n, int unit, uint8_t *out) {
    const __m512i six = _mm512_set1_epi32(0x3F);
    uint8_t *to = out;
    size_t i = *at;
    for (; n - i >= 16; i += 16) {
        __builtin_prefetch((const uint8_t *)data + i * (size_t)unit + 1024); /* see FB_AHEAD */
        __m512i c = fb_avx512_units(data, i, unit);
        /* is_2, is_3, is_4: characters of at least so many bytes */
        __mmask16 is_2 = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80));
        if (!is_2) {
            _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(c));
            to += 16;
            continue;
        }
        __mmask16 is_3 = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800));
        __mmask16 is_4 = unit < 4 ? 0 : _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000));
        if (is_3 && _mm512_mask_cmpeq_epu32_mask(is_3, _mm512_srli_epi32(c, 11), _mm512_set1_epi32(0x1B))) break;
        __m512i last = _mm512_or_si512(_mm512_and_si512(c, six), _mm512_set1_epi32(0x80));
        __m512i c6 = _mm512_srli_epi32(c, 6);
        __m512i word = _mm512_mask_or_epi32(c, is_2, _mm512_or_si512(c6, _mm512_set1_epi32(0xC0)), _mm512_slli_epi32(last, 8));
        __m512i used = _mm512_mask_set1_epi32(_mm512_set1_epi32(0xFF), is_2, 0xFFFF);
        if (is_3) {
            __m512i c12 = _mm512_srli_epi32(c, 12);
            __m512i middle = _mm512_or_si512(_mm512_and_si512(c6, six), _mm512_set1_epi32(0x80));
            __m512i three = _mm512_or_si512(_mm512_or_si512(c12, _mm512_set1_epi32(0xE0)), _mm512_slli_epi32(middle, 8));
            word = _mm512_mask_or_epi32(word, is_3, three, _mm512_slli_epi32(last, 16));
            used = _mm512_mask_set1_epi32(used, is_3, 0xFFFFFF);
            if (is_4) {
                __m512i second = _mm512_or_si512(_mm512_and_si512(c12, six), _mm512_set1_epi32(0x80));
                __m512i four = _mm512_or_si512(_mm512_srli_epi32(c, 18), _mm512_set1_epi32(0xF0));
                four = _mm512_or_si512(four, _mm512_slli_epi32(second, 8));
                four = _mm512_or_si512(four, _mm512_slli_epi32(middle, 16));
                word = _mm512_mask_or_epi32(word, is_4, four, _mm512_slli_epi32(last, 24));
                used = _mm512_mask_set1_epi32(used, is_4, -1);
            }
        }
        uint64_t bytes = _mm512_movepi8_mask(used);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(bytes, word));
        to += _mm_popcnt_u64(bytes);
    }
    *at = i;
    return (size_t)(to - out);
}

FB_EACH_WIDTH(fb_avx512_transcode)

FB_TARGET_END

FB_TARGET_BEGIN("avx2")

/* For four words: control of the shuffle that moves their used bytes together, and the number of these bytes.
 * Index: bits k and k + 4 are the low and the high bit of the number of bytes of word k, minus 1. */
static uint8_t fb_used[256][16], fb_n_used[256];

static void fb_fill_used(void) {
    for (int i = 0; i < 256; i++) {
        int n = 0;
        for (int k = 0; k < 4; k++)
            for (int byte = 0; byte <= (i >> k & 1) + 2 * (i >> (k + 4) & 1); byte++)
                fb_used[i][n++] = (uint8_t)(4 * k + byte);
        fb_n_used[i] = (uint8_t)n;
    }
}

/* Load eight units as eight words. */
FB_INLINE __m256i fb_avx2_units(const void *data, size_t at, int unit) {
    if (unit == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)((const uint8_t *)data + at)));
    if (unit == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)((const uint16_t *)data + at)));
    return _mm256_loadu_si256((const __m256i *)((const uint32_t *)data + at));
}

/* Write eight characters as UTF-8; return the address after the last. */
FB_INLINE uint8_t *fb_avx2_put_eight(uint8_t *to, __m256i c, int unit) {
    const __m256i six = _mm256_set1_epi32(0x3F), top = _mm256_set1_epi32(0x80);
    __m256i c6 = _mm256_srli_epi32(c, 6), last = _mm256_or_si256(_mm256_and_si256(c, six), top);
    __m256i is_2 = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7F)), low = is_2, high = _mm256_setzero_si256();
    __m256i two = _mm256_or_si256(_mm256_or_si256(c6, _mm256_set1_epi32(0xC0)), _mm256_slli_epi32(last, 8));
    __m256i word = _mm256_blendv_epi8(c, two, is_2);
    if (unit > 1) {
        __m256i is_3 = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7FF)), c12 = _mm256_srli_epi32(c, 12);
        __m256i middle = _mm256_or_si256(_mm256_and_si256(c6, six), top);
        __m256i three = _mm256_or_si256(_mm256_slli_epi32(middle, 8), _mm256_slli_epi32(last, 16));
        three = _mm256_or_si256(three, _mm256_or_si256(c12, _mm256_set1_epi32(0xE0)));
        word = _mm256_blendv_epi8(word, three, is_3);
        low = _mm256_xor_si256(is_2, is_3), high = is_3;
        if (unit > 2) {
            __m256i is_4 = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0xFFFF));
            __m256i second = _mm256_or_si256(_mm256_and_si256(c12, six), top);
            __m256i four = _mm256_or_si256(_mm256_slli_epi32(middle, 16), _mm256_slli_epi32(last, 24));
            four = _mm256_or_si256(four, _mm256_slli_epi32(second, 8));
            four = _mm256_or_si256(four, _mm256_or_si256(_mm256_srli_epi32(c, 18), _mm256_set1_epi32(0xF0)));
            word = _mm256_blendv_epi8(word, four, is_4);
            low = _mm256_xor_si256(low, is_4);
        }
    }
    unsigned ones = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(low));
    unsigned twos = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(high));
    unsigned first = (ones & 15) | (twos & 15) << 4, second = ones >> 4 | (twos & ~15u);
    __m128i used = _mm_loadu_si128((const __m128i *)fb_used[first]);
    _mm_storeu_si128((__m128i *)to, _mm_shuffle_epi8(_mm256_castsi256_si128(word), used));
    to += fb_n_used[first];
    used = _mm_loadu_si128((const __m128i *)fb_used[second]);
    _mm_storeu_si128((__m128i *)to, _mm_shuffle_epi8(_mm256_extracti128_si256(word, 1), used));
    return to + fb_n_used[second];
}

FB_INLINE int fb_avx2_has_surrogate(__m256i c) {
    __m256i found = _mm256_cmpeq_epi32(_mm256_srli_epi32(c, 11), _mm256_set1_epi32(0x1B));
    return !_mm256_testz_si256(found, found);
}

/* Write sixteen units if all are ASCII, otherwise return 0. */
FB_INLINE int fb_avx2_put_ascii(uint8_t *to, const void *data, size_t at, int unit) {
    __m128i bytes;
    if (unit == 1) {
        bytes = _mm_loadu_si128((const __m128i *)((const uint8_t *)data + at));
        if (_mm_movemask_epi8(bytes)) return 0;
    } else if (unit == 2) {
        __m256i units = _mm256_loadu_si256((const __m256i *)((const uint16_t *)data + at));
        if (!_mm256_testz_si256(units, _mm256_set1_epi16(~0x7F))) return 0;
        bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
    } else {
        __m256i low = fb_avx2_units(data, at, unit), high = fb_avx2_units(data, at + 8, unit);
        if (!_mm256_testz_si256(_mm256_or_si256(low, high), _mm256_set1_epi32(~0x7F))) return 0;
        /* Packing mixes the halves of `low` and `high`: put their quarters in order. */
        low = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);
        bytes = _mm_packus_epi16(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    }
    _mm_storeu_si128((__m128i *)to, bytes);
    return 1;
}

FB_INLINE size_t fb_avx2_transcode(const void *data, size_t *at, size_t n, int unit, uint8_t *out) {
    uint8_t *to = out;
    size_t i = *at;
    for (; n - i >= 16; i += 16) {
        __builtin_prefetch((const uint8_t *)data + i * (size_t)unit + 1024); /* see FB_AHEAD */
        if (fb_avx2_put_ascii(to, data, i, unit)) {
            to += 16;
            continue;
        }
        __m256i low = fb_avx2_units(data, i, unit), high = fb_avx2_units(data, i + 8, unit);
        if (unit > 1 && (fb_avx2_has_surrogate(low) || fb_avx2_has_surrogate(high))) break;
        to = fb_avx2_put_eight(to, low, unit);
        to = fb_avx2_put_eight(to, high, unit);
    }
    *at = i;
    return (size_t)(to - out);
}

FB_EACH_WIDTH(fb_avx2_transcode)

FB_TARGET_END
#endif

/* Choose the function for this processor. path: SIMD path that the user requests, "" for the best. NULL:
   no function for this path and processor. */
static fb_transcode_fn fb_choose_transcode(const char *path) {
#ifdef FB_X86
    if (fb_is_path_of(path, "avx512") && fb_processor_has(FB_AVX512BW | FB_AVX512VBMI2))
        return fb_avx512_transcode_blocks;
    if (fb_is_path_of(path, "avx2") && fb_processor_has(FB_AVX2)) {
        fb_fill_used();
        return fb_avx2_transcode_blocks;
    }
#endif
    (void)path;
    return NULL;
}

#endif
