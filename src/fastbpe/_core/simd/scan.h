/* The block scanners for all instruction sets, and the choice among them at run time. */
#ifndef FASTBPE_SCAN_H
#define FASTBPE_SCAN_H

#include "pieces.h"
#include "targets.h"

#define FB_ROOM 80      /* ends that a block may write: 64 and the end of the text, rounded up to groups of 16 */
#define FB_AHEAD 1024   /* bytes from a block to the text that is prefetched: the hardware prefetcher stops at pages.
                         * Gain: 8 % on counting texts of 4,000 characters (docs/how/optimizations.md) */
#define FB_EIGHT_BITS ((uint64_t)0x8040201008040201) /* byte i has only bit i */
#define FB_TOP ((uint64_t)1 << 63)                   /* set so that counting trailing zeros is defined */

/* Masks of a block of 64 bytes: bit i belongs to byte i, and all bytes of a character have the same bit. */
typedef struct {
    uint64_t upper, lower;   /* letters: Lu Lt, Ll */
    uint64_t letter, mark;   /* Lm Lo, M */
    uint64_t number, blank;  /* N, White_Space */
    uint64_t newline, space; /* CR LF, U+0020 */
    uint64_t quote, slash;   /* U+0027, U+002F */
    uint64_t graph;          /* ASCII except controls and the space; for deepseek: P, S */
    uint64_t east;           /* for deepseek: kana and Han letters */
    uint64_t high, more;     /* bytes of characters outside ASCII; of these, the bytes that are not first */
} fb_masks;

/* A mask of the first n bytes. */
FB_INLINE uint64_t fb_below(size_t n) { return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1; }

/* Clear all masks after the first n bytes. */
FB_INLINE void fb_forget(fb_masks *m, size_t n) {
    uint64_t known = fb_below(n);
    m->upper &= known, m->lower &= known, m->letter &= known, m->mark &= known, m->number &= known;
    m->blank &= known, m->newline &= known, m->space &= known, m->quote &= known, m->slash &= known;
    m->graph &= known, m->east &= known;
}

#if defined(__GNUC__) || defined(__clang__)
/* Store base + i for each bit i, in order, and return their number. Always eight at a time, because the end of a loop
 * over the bits could not be predicted. Requires: `out` has space for up to 7 more. */
FB_INLINE size_t fb_put(size_t *out, size_t base, uint64_t bits) {
    for (uint64_t rest = bits; rest; out += 8)
        for (int k = 0; k < 8; k++, rest &= rest - 1) out[k] = base + (size_t)__builtin_ctzll(rest | FB_TOP);
    return (size_t)__builtin_popcountll(bits);
}
#endif

#include "runs.h"
#include "words.h"

typedef size_t (*fb_words_fn)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                              const fb_words *words);
typedef size_t (*fb_runs_fn)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                             const fb_runs *runs);
typedef size_t (*fb_scan_fn)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                             const fb_pattern *pattern);

#if defined(__GNUC__) || defined(__clang__)
#define fb_scalar_put fb_put
#define FB_V(name) fb_scalar_##name
#define FB_FN FB_V
#include "scalar_blocks.h"
#undef FB_FN
#undef FB_V
#define FB_SCALAR_SCAN {fb_scalar_gpt2, fb_scalar_cl100k, fb_scalar_o200k, fb_scalar_deepseek}
#else /* MSVC has no functions that count bits: scan character by character */
static size_t fb_scalar_scan(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                             const fb_pattern *pattern) {
    size_t n_ends = 0, end = *at;
    while (end < n && n_ends < room) end = ends[n_ends++] = fb_piece_end(text, n, end, pattern);
    *at = end;
    return n_ends;
}
#define FB_SCALAR_SCAN {fb_scalar_scan, fb_scalar_scan, fb_scalar_scan, fb_scalar_scan}
#endif

#ifdef FB_X86
FB_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")

typedef struct {
    __m256i low, high;
} fb_avx2_bytes;

FB_INLINE fb_avx2_bytes fb_avx2_load(const uint8_t *p, size_t n) {
    uint8_t tail[64];
    fb_avx2_bytes v;
    if (n < 64) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    v.low = _mm256_loadu_si256((const __m256i *)p), v.high = _mm256_loadu_si256((const __m256i *)(p + 32));
    return v;
}

FB_INLINE uint64_t fb_avx2_bits(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

FB_INLINE uint64_t fb_avx2_below(fb_avx2_bytes v, uint8_t first, uint8_t count) {
    __m256i by = _mm256_set1_epi8((char)first), most = _mm256_set1_epi8((char)(count - 1));
    __m256i low = _mm256_sub_epi8(v.low, by), high = _mm256_sub_epi8(v.high, by);
    return fb_avx2_bits(_mm256_cmpeq_epi8(_mm256_min_epu8(low, most), low),
                        _mm256_cmpeq_epi8(_mm256_min_epu8(high, most), high));
}

FB_INLINE uint64_t fb_avx2_equal(fb_avx2_bytes v, uint8_t c) {
    __m256i to = _mm256_set1_epi8((char)c);
    return fb_avx2_bits(_mm256_cmpeq_epi8(v.low, to), _mm256_cmpeq_epi8(v.high, to));
}

FB_INLINE uint64_t fb_avx2_high(fb_avx2_bytes v) { return fb_avx2_bits(v.low, v.high); }

/* The low six bits of each byte: three are the index of a byte of a row, three the index of a bit in that byte. */
typedef struct {
    fb_avx2_bytes place, bit;
} fb_avx2_sixes;

FB_INLINE fb_avx2_sixes fb_avx2_low_six_bits(fb_avx2_bytes v) {
    const __m256i seven = _mm256_set1_epi8(7), bits = _mm256_set1_epi64x((int64_t)FB_EIGHT_BITS);
    fb_avx2_sixes six;
    six.place.low = _mm256_and_si256(_mm256_srli_epi16(v.low, 3), seven);
    six.place.high = _mm256_and_si256(_mm256_srli_epi16(v.high, 3), seven);
    six.bit.low = _mm256_shuffle_epi8(bits, _mm256_and_si256(v.low, seven));
    six.bit.high = _mm256_shuffle_epi8(bits, _mm256_and_si256(v.high, seven));
    return six;
}

FB_INLINE uint64_t fb_avx2_members(uint64_t row, fb_avx2_sixes six) {
    __m256i bytes = _mm256_set1_epi64x((int64_t)row);
    __m256i low = _mm256_and_si256(_mm256_shuffle_epi8(bytes, six.place.low), six.bit.low);
    __m256i high = _mm256_and_si256(_mm256_shuffle_epi8(bytes, six.place.high), six.bit.high);
    return fb_avx2_bits(_mm256_cmpeq_epi8(low, six.bit.low), _mm256_cmpeq_epi8(high, six.bit.high));
}

/* Masks of the bytes, all ASCII, before which a piece begins and after which a piece ends. */
FB_INLINE void fb_avx2_sets(fb_avx2_bytes v, const fb_words *w, uint64_t *before, uint64_t *behind) {
    const __m256i bits = _mm256_set1_epi64x((int64_t)FB_EIGHT_BITS), low = _mm256_set1_epi8(15);
    const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)w->before));
    const __m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)w->behind));
    __m256i bit[2] = {_mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(v.low, 4), low)),
                      _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(v.high, 4), low))};
    __m256i place[2] = {_mm256_and_si256(v.low, low), _mm256_and_si256(v.high, low)}, found[2][2];
    for (int k = 0; k < 2; k++) {
        found[0][k] = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(first, place[k]), bit[k]), bit[k]);
        found[1][k] = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(second, place[k]), bit[k]), bit[k]);
    }
    *before = fb_avx2_bits(found[0][0], found[0][1]);
    *behind = fb_avx2_bits(found[1][0], found[1][1]);
}

#define fb_avx2_put fb_put
#define FB_V(name) fb_avx2_##name
#define FB_FN FB_V
#include "blocks.h"
#include "runs.h"
#include "words.h"
#undef FB_FN
#undef FB_V
FB_TARGET_END

FB_TARGET_BEGIN("avx512f,avx512bw,avx512vl,bmi,bmi2,lzcnt,popcnt")

typedef __m512i fb_avx512_bytes;

FB_INLINE __m512i fb_avx512_load(const uint8_t *p, size_t n) {
    return n < 64 ? _mm512_maskz_loadu_epi8(fb_below(n), p) : _mm512_loadu_si512(p);
}

FB_INLINE uint64_t fb_avx512_below(__m512i v, uint8_t first, uint8_t count) {
    __m512i from = _mm512_sub_epi8(v, _mm512_set1_epi8((char)first));
    return _mm512_cmplt_epu8_mask(from, _mm512_set1_epi8((char)count));
}

FB_INLINE uint64_t fb_avx512_equal(__m512i v, uint8_t c) {
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)c));
}

FB_INLINE uint64_t fb_avx512_high(__m512i v) { return _mm512_movepi8_mask(v); }

typedef struct {
    __m512i place, bit;
} fb_avx512_sixes;

FB_INLINE fb_avx512_sixes fb_avx512_low_six_bits(__m512i v) {
    const __m512i seven = _mm512_set1_epi8(7), bits = _mm512_set1_epi64((int64_t)FB_EIGHT_BITS);
    fb_avx512_sixes six;
    six.place = _mm512_and_si512(_mm512_srli_epi16(v, 3), seven);
    six.bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(v, seven));
    return six;
}

FB_INLINE uint64_t fb_avx512_members(uint64_t row, fb_avx512_sixes six) {
    return _mm512_test_epi8_mask(_mm512_shuffle_epi8(_mm512_set1_epi64((int64_t)row), six.place), six.bit);
}

FB_INLINE void fb_avx512_sets(__m512i v, const fb_words *w, uint64_t *before, uint64_t *behind) {
    const __m512i bits = _mm512_set1_epi64((int64_t)FB_EIGHT_BITS), low = _mm512_set1_epi8(15);
    const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)w->before));
    const __m512i second = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)w->behind));
    __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(v, 4), low));
    __m512i place = _mm512_and_si512(v, low);
    *before = _mm512_test_epi8_mask(_mm512_shuffle_epi8(first, place), bit);
    *behind = _mm512_test_epi8_mask(_mm512_shuffle_epi8(second, place), bit);
}

#define fb_avx512_put fb_put
#define FB_V(name) fb_avx512_##name
#define FB_FN FB_V
#include "blocks.h"
#include "runs.h"
#include "words.h"
#undef FB_FN
#undef FB_V
#undef fb_avx512_put
FB_TARGET_END

/* The AVX-512 scanners on processors with VBMI2, which can compress bytes. */
FB_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")

/* Do the same as fb_put, sixteen at a time: a block has about twelve ends. */
FB_INLINE size_t fb_put_together(size_t *out, size_t base, uint64_t bits) {
    static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                        16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                        48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    size_t n = (size_t)__builtin_popcountll(bits), i = 0;
    __m512i places = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(numbers));
    __m512i from = _mm512_set1_epi64((int64_t)base);
    do {
        __m128i some = _mm512_castsi512_si128(places);
        _mm512_storeu_si512(out + i, _mm512_add_epi64(_mm512_cvtepu8_epi64(some), from));
        _mm512_storeu_si512(out + i + 8, _mm512_add_epi64(_mm512_cvtepu8_epi64(_mm_srli_si128(some, 8)), from));
        places = _mm512_shuffle_i64x2(places, places, 0x39); /* rotate: the next sixteen come first */
        i += 16;
    } while (i < n);
    return n;
}

#define fb_avx512_put fb_put_together
#define FB_V(name) fb_avx512_##name
#define FB_FN(name) fb_avx512vbmi2_##name
#include "blocks.h"
#include "runs.h"
#include "words.h"
#undef FB_FN
#undef FB_V
#undef fb_avx512_put
FB_TARGET_END
#endif

#ifdef FB_NEON /* tested against pieces.h under emulation (tools/scan_check.c); never timed on a real machine */
typedef struct {
    uint8x16_t part[4];
} fb_neon_bytes;

/* A mask of the bytes that are all ones. */
FB_INLINE uint64_t fb_neon_bits(fb_neon_bytes v) {
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t place = vld1q_u8(places);
    uint8x16_t low = vpaddq_u8(vandq_u8(v.part[0], place), vandq_u8(v.part[1], place));
    uint8x16_t high = vpaddq_u8(vandq_u8(v.part[2], place), vandq_u8(v.part[3], place));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

FB_INLINE fb_neon_bytes fb_neon_load(const uint8_t *p, size_t n) {
    uint8_t tail[64];
    fb_neon_bytes v;
    if (n < 64) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    for (int k = 0; k < 4; k++) v.part[k] = vld1q_u8(p + 16 * k);
    return v;
}

FB_INLINE uint64_t fb_neon_below(fb_neon_bytes v, uint8_t first, uint8_t count) {
    for (int k = 0; k < 4; k++) v.part[k] = vcltq_u8(vsubq_u8(v.part[k], vdupq_n_u8(first)), vdupq_n_u8(count));
    return fb_neon_bits(v);
}

FB_INLINE uint64_t fb_neon_equal(fb_neon_bytes v, uint8_t c) {
    for (int k = 0; k < 4; k++) v.part[k] = vceqq_u8(v.part[k], vdupq_n_u8(c));
    return fb_neon_bits(v);
}

FB_INLINE uint64_t fb_neon_high(fb_neon_bytes v) { return fb_neon_below(v, 0x80, 128); }

typedef struct {
    fb_neon_bytes place, bit;
} fb_neon_sixes;

FB_INLINE fb_neon_sixes fb_neon_low_six_bits(fb_neon_bytes v) {
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(FB_EIGHT_BITS)), seven = vdupq_n_u8(7);
    fb_neon_sixes six;
    for (int k = 0; k < 4; k++) {
        six.place.part[k] = vandq_u8(vshrq_n_u8(v.part[k], 3), seven);
        six.bit.part[k] = vqtbl1q_u8(bits, vandq_u8(v.part[k], seven));
    }
    return six;
}

FB_INLINE uint64_t fb_neon_members(uint64_t row, fb_neon_sixes six) {
    const uint8x16_t bytes = vreinterpretq_u8_u64(vdupq_n_u64(row));
    fb_neon_bytes found;
    for (int k = 0; k < 4; k++)
        found.part[k] = vtstq_u8(vqtbl1q_u8(bytes, six.place.part[k]), six.bit.part[k]);
    return fb_neon_bits(found);
}

FB_INLINE void fb_neon_sets(fb_neon_bytes v, const fb_words *w, uint64_t *before, uint64_t *behind) {
    const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(FB_EIGHT_BITS)), low = vdupq_n_u8(15);
    const uint8x16_t first = vld1q_u8(w->before), second = vld1q_u8(w->behind);
    fb_neon_bytes found[2];
    for (int k = 0; k < 4; k++) {
        uint8x16_t bit = vqtbl1q_u8(bits, vshrq_n_u8(v.part[k], 4)), place = vandq_u8(v.part[k], low);
        found[0].part[k] = vtstq_u8(vqtbl1q_u8(first, place), bit);
        found[1].part[k] = vtstq_u8(vqtbl1q_u8(second, place), bit);
    }
    *before = fb_neon_bits(found[0]);
    *behind = fb_neon_bits(found[1]);
}

#define fb_neon_put fb_put
#define FB_V(name) fb_neon_##name
#define FB_FN FB_V
#include "blocks.h"
#include "runs.h"
#include "words.h"
#undef FB_FN
#undef FB_V
#endif

/* The scanners of one instruction set. */
typedef struct {
    const char *name;
    fb_scan_fn scan[4]; /* by family */
    fb_words_fn words;
    fb_runs_fn runs;
    int (*present)(void);
} fb_path;

static int fb_always(void) { return 1; }
#ifdef FB_X86
static int fb_has_avx512(void) { return fb_processor_has(FB_AVX512BW | FB_AVX512VL | FB_BMI2); }
static int fb_has_avx512vbmi2(void) { return fb_processor_has(FB_AVX512BW | FB_AVX512VL | FB_BMI2 | FB_AVX512VBMI2); }
static int fb_has_avx2(void) { return fb_processor_has(FB_AVX2 | FB_BMI2); }
#endif

/* All instruction sets, best first. */
static const fb_path fb_paths[] = {
#ifdef FB_X86
    {"avx512vbmi2",
     {fb_avx512vbmi2_gpt2, fb_avx512vbmi2_cl100k, fb_avx512vbmi2_o200k, fb_avx512vbmi2_deepseek},
     fb_avx512vbmi2_words,
     fb_avx512vbmi2_runs,
     fb_has_avx512vbmi2},
    {"avx512",
     {fb_avx512_gpt2, fb_avx512_cl100k, fb_avx512_o200k, fb_avx512_deepseek},
     fb_avx512_words,
     fb_avx512_runs,
     fb_has_avx512},
    {"avx2",
     {fb_avx2_gpt2, fb_avx2_cl100k, fb_avx2_o200k, fb_avx2_deepseek},
     fb_avx2_words,
     fb_avx2_runs,
     fb_has_avx2},
#endif
#ifdef FB_NEON
    {"neon",
     {fb_neon_gpt2, fb_neon_cl100k, fb_neon_o200k, fb_neon_deepseek},
     fb_neon_words,
     fb_neon_runs,
     fb_always},
#endif
    {"scalar",
     FB_SCALAR_SCAN,
     fb_scalar_words,
     fb_scalar_runs,
     fb_always},
};

#define FB_N_PATHS (sizeof fb_paths / sizeof *fb_paths)

/* The best instruction set of this machine, or the one with this name; NULL if the machine does not have it. */
static const fb_path *fb_choose_path(const char *name) {
    for (size_t i = 0; i < FB_N_PATHS; i++)
        if ((name == NULL || strcmp(name, fb_paths[i].name) == 0) && fb_paths[i].present()) return &fb_paths[i];
    return NULL;
}

#endif
