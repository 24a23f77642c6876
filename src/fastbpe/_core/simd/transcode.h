/* Units of a str to UTF-8, sixteen at a time without a branch, where the processor can close the gaps between bytes.
 *
 * Each unit becomes a word of up to four bytes, and one instruction (VBMI2) pushes the bytes that are in use together:
 * three times as fast as arithmetic unit by unit in Russian or Greek, where no branch could be foretold. AVX2 and
 * NEON would need tables of shuffles; there the loop in text.pyx does the work.
 */
#ifndef FASTBPE_TRANSCODE_H
#define FASTBPE_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vbmi2,popcnt")
#endif

static inline __attribute__((always_inline)) __m512i fb_units(const void *data, size_t at, int unit) {
    if (unit == 1) return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)((const uint8_t *)data + at)));
    if (unit == 2) return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)((const uint16_t *)data + at)));
    return _mm512_loadu_si512((const uint32_t *)data + at);
}

static inline __attribute__((always_inline)) size_t fb_transcode(const void *data, size_t *at, size_t n, int unit,
                                                                 uint8_t *out) {
    const __m512i six = _mm512_set1_epi32(0x3F);
    uint8_t *to = out;
    size_t i = *at;
    for (; n - i >= 16; i += 16) {
        __builtin_prefetch((const uint8_t *)data + i * (size_t)unit + 1024); /* as in blocks.h */
        __m512i c = fb_units(data, i, unit);
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

static size_t fb_transcode_1(const void *data, size_t *at, size_t n, uint8_t *out) {
    return fb_transcode(data, at, n, 1, out);
}

static size_t fb_transcode_2(const void *data, size_t *at, size_t n, uint8_t *out) {
    return fb_transcode(data, at, n, 2, out);
}

static size_t fb_transcode_4(const void *data, size_t *at, size_t n, uint8_t *out) {
    return fb_transcode(data, at, n, 4, out);
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

static int fb_can_transcode(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
}

/* Write the units of data from *at on as UTF-8, sixteen at a time; stop before sixteen with a surrogate among them.
 * *at is then where it stopped; up to 64 bytes more than were written may be overwritten. */
static size_t fb_transcode_blocks(const void *data, size_t *at, size_t n, int unit, uint8_t *out) {
    return unit == 1 ? fb_transcode_1(data, at, n, out)
         : unit == 2 ? fb_transcode_2(data, at, n, out) : fb_transcode_4(data, at, n, out);
}
#else
static int fb_can_transcode(void) { return 0; }
static size_t fb_transcode_blocks(const void *data, size_t *at, size_t n, int unit, uint8_t *out) {
    (void)data, (void)at, (void)n, (void)unit, (void)out;
    return 0;
}
#endif

#endif
