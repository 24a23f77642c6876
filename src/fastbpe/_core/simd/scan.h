/* The block scanners for every instruction set that this machine may have, and the choice among them. */
#ifndef FASTBPE_SCAN_H
#define FASTBPE_SCAN_H

#include "pieces.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FB_X86 1
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#define FB_NEON 1
#endif

#ifdef __GNUC__
#define FB_INLINE static inline __attribute__((always_inline))
#else
#define FB_INLINE static inline
#endif

/* The functions between the two are compiled for these instruction sets, whatever the rest is compiled for. */
#define FB_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define FB_TARGET_BEGIN(sets) FB_PRAGMA(clang attribute push(__attribute__((target(sets))), apply_to = function))
#define FB_TARGET_END _Pragma("clang attribute pop")
#else
#define FB_TARGET_BEGIN(sets) _Pragma("GCC push_options") FB_PRAGMA(GCC target(sets))
#define FB_TARGET_END _Pragma("GCC pop_options")
#endif

#define FB_ROOM 72                       /* ends that a block may write, rounded up to a whole group of eight */
#define FB_TOP ((uint64_t)1 << 63)       /* keeps the count of trailing zeros defined */

/* What a block of 64 bytes holds: bit i for byte i, all bytes of a character alike. */
typedef struct {
    uint64_t upper, lower;   /* letters: Lu Lt, Ll */
    uint64_t letter, mark;   /* Lm Lo, M */
    uint64_t number, blank;  /* N, White_Space */
    uint64_t newline, space; /* CR LF, U+0020 */
    uint64_t quote, slash;   /* U+0027, U+002F */
    uint64_t graph;          /* ASCII but for controls and the space; for deepseek: P, S */
    uint64_t east;           /* for deepseek: kana and Han letters */
    uint64_t high, more;     /* bytes of characters outside ASCII; those that are not their first */
} fb_masks;

FB_INLINE uint64_t fb_below(size_t n) { return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1; }

/* Only the first n bytes are known. */
FB_INLINE void fb_forget(fb_masks *m, size_t n) {
    uint64_t known = fb_below(n);
    m->upper &= known, m->lower &= known, m->letter &= known, m->mark &= known, m->number &= known;
    m->blank &= known, m->newline &= known, m->space &= known, m->quote &= known, m->slash &= known;
    m->graph &= known, m->east &= known;
}

typedef size_t (*fb_scan_fn)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                             const fb_pattern *pattern);

/* Scalar: character by character. The algebra over masks made byte by byte is slower (240 MB/s against 310). */
static size_t fb_scalar_scan(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                             const fb_pattern *pattern) {
    size_t n_ends = 0, end = *at;
    while (end < n && n_ends < room) end = ends[n_ends++] = fb_piece_end(text, n, end, pattern);
    *at = end;
    return n_ends;
}

#ifdef FB_X86
FB_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")

FB_INLINE uint64_t fb_avx2_below(__m256i v, char low, char count) { /* low <= v < low + count, as bits */
    __m256i from = _mm256_sub_epi8(v, _mm256_set1_epi8(low));
    __m256i most = _mm256_set1_epi8((char)(count - 1));
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(from, most), from));
}

FB_INLINE uint64_t fb_avx2_equal(__m256i v, char c) {
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c)));
}

FB_INLINE void fb_avx2_masks(const uint8_t *p, size_t n, fb_masks *m) {
    uint8_t tail[64];
    if (n < 64) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    __m256i low = _mm256_loadu_si256((const __m256i *)p), high = _mm256_loadu_si256((const __m256i *)(p + 32));
    memset(m, 0, sizeof *m);
    m->upper = fb_avx2_below(low, 'A', 26) | fb_avx2_below(high, 'A', 26) << 32;
    m->lower = fb_avx2_below(low, 'a', 26) | fb_avx2_below(high, 'a', 26) << 32;
    m->number = fb_avx2_below(low, '0', 10) | fb_avx2_below(high, '0', 10) << 32;
    m->space = fb_avx2_equal(low, ' ') | fb_avx2_equal(high, ' ') << 32;
    m->blank = m->space | fb_avx2_below(low, 9, 5) | fb_avx2_below(high, 9, 5) << 32;
    m->newline = fb_avx2_equal(low, '\n') | fb_avx2_equal(low, '\r') |
                 (fb_avx2_equal(high, '\n') | fb_avx2_equal(high, '\r')) << 32;
    m->quote = fb_avx2_equal(low, '\'') | fb_avx2_equal(high, '\'') << 32;
    m->slash = fb_avx2_equal(low, '/') | fb_avx2_equal(high, '/') << 32;
    m->graph = fb_avx2_below(low, '!', 94) | fb_avx2_below(high, '!', 94) << 32;
    m->high = (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
    if (m->high) m->more = fb_avx2_below(low, (char)0x80, 64) | fb_avx2_below(high, (char)0x80, 64) << 32;
}

#define FB_FN(name) fb_avx2_##name
#define FB_ASCII_MASKS fb_avx2_masks
#include "blocks.h"
#undef FB_FN
#undef FB_ASCII_MASKS
FB_TARGET_END

FB_TARGET_BEGIN("avx512f,avx512bw,avx512vl,bmi,bmi2,lzcnt,popcnt")

FB_INLINE uint64_t fb_avx512_below(__m512i v, char low, char count) {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(low)), _mm512_set1_epi8(count));
}

FB_INLINE uint64_t fb_avx512_equal(__m512i v, char c) { return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c)); }

FB_INLINE void fb_avx512_masks(const uint8_t *p, size_t n, fb_masks *m) {
    __m512i v = n < 64 ? _mm512_maskz_loadu_epi8(fb_below(n), p) : _mm512_loadu_si512(p);
    memset(m, 0, sizeof *m);
    m->upper = fb_avx512_below(v, 'A', 26);
    m->lower = fb_avx512_below(v, 'a', 26);
    m->number = fb_avx512_below(v, '0', 10);
    m->space = fb_avx512_equal(v, ' ');
    m->blank = m->space | fb_avx512_below(v, 9, 5);
    m->newline = fb_avx512_equal(v, '\n') | fb_avx512_equal(v, '\r');
    m->quote = fb_avx512_equal(v, '\'');
    m->slash = fb_avx512_equal(v, '/');
    m->graph = fb_avx512_below(v, '!', 94);
    m->high = _mm512_movepi8_mask(v);
    m->more = fb_avx512_below(v, (char)0x80, 64);
}

#define FB_FN(name) fb_avx512_##name
#define FB_ASCII_MASKS fb_avx512_masks
#include "blocks.h"
#undef FB_FN
#undef FB_ASCII_MASKS
FB_TARGET_END
#endif

#ifdef FB_NEON /* compared with pieces.h under emulation (tools/scan_check.c); not timed on a real machine yet */
typedef struct {
    uint8x16_t part[4];
} fb_neon_bytes;

/* One bit for each byte that is all ones. */
FB_INLINE uint64_t fb_neon_bits(fb_neon_bytes v) {
    static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t place = vld1q_u8(places);
    uint8x16_t low = vpaddq_u8(vandq_u8(v.part[0], place), vandq_u8(v.part[1], place));
    uint8x16_t high = vpaddq_u8(vandq_u8(v.part[2], place), vandq_u8(v.part[3], place));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

FB_INLINE uint64_t fb_neon_below(fb_neon_bytes v, uint8_t low, uint8_t count) {
    for (int k = 0; k < 4; k++) v.part[k] = vcltq_u8(vsubq_u8(v.part[k], vdupq_n_u8(low)), vdupq_n_u8(count));
    return fb_neon_bits(v);
}

FB_INLINE uint64_t fb_neon_equal(fb_neon_bytes v, uint8_t c) {
    for (int k = 0; k < 4; k++) v.part[k] = vceqq_u8(v.part[k], vdupq_n_u8(c));
    return fb_neon_bits(v);
}

FB_INLINE void fb_neon_masks(const uint8_t *p, size_t n, fb_masks *m) {
    uint8_t tail[64];
    fb_neon_bytes v;
    if (n < 64) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    for (int k = 0; k < 4; k++) v.part[k] = vld1q_u8(p + 16 * k);
    memset(m, 0, sizeof *m);
    m->upper = fb_neon_below(v, 'A', 26);
    m->lower = fb_neon_below(v, 'a', 26);
    m->number = fb_neon_below(v, '0', 10);
    m->space = fb_neon_equal(v, ' ');
    m->blank = m->space | fb_neon_below(v, 9, 5);
    m->newline = fb_neon_equal(v, '\n') | fb_neon_equal(v, '\r');
    m->quote = fb_neon_equal(v, '\'');
    m->slash = fb_neon_equal(v, '/');
    m->graph = fb_neon_below(v, '!', 94);
    m->high = fb_neon_below(v, 0x80, 128);
    if (m->high) m->more = fb_neon_below(v, 0x80, 64);
}

#define FB_FN(name) fb_neon_##name
#define FB_ASCII_MASKS fb_neon_masks
#include "blocks.h"
#undef FB_FN
#undef FB_ASCII_MASKS
#endif

/* The instruction sets, best first; fb_paths[i] goes with fb_path_names[i]. */
typedef struct {
    const char *name;
    fb_scan_fn scan[4]; /* by family */
    int (*present)(void);
} fb_path;

static int fb_always(void) { return 1; }
#ifdef FB_X86
static int fb_has_avx512(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}
static int fb_has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }
#endif

static const fb_path fb_paths[] = {
#ifdef FB_X86
    {"avx512", {fb_avx512_gpt2, fb_avx512_cl100k, fb_avx512_o200k, fb_avx512_deepseek}, fb_has_avx512},
    {"avx2", {fb_avx2_gpt2, fb_avx2_cl100k, fb_avx2_o200k, fb_avx2_deepseek}, fb_has_avx2},
#endif
#ifdef FB_NEON
    {"neon", {fb_neon_gpt2, fb_neon_cl100k, fb_neon_o200k, fb_neon_deepseek}, fb_always},
#endif
    {"scalar", {fb_scalar_scan, fb_scalar_scan, fb_scalar_scan, fb_scalar_scan}, fb_always},
};

#define FB_N_PATHS (sizeof fb_paths / sizeof *fb_paths)

/* The best path of this machine, or the one that is named; NULL if it is not to be had. */
static const fb_path *fb_choose_path(const char *name) {
    for (size_t i = 0; i < FB_N_PATHS; i++)
        if ((name == NULL || strcmp(name, fb_paths[i].name) == 0) && fb_paths[i].present()) return &fb_paths[i];
    return NULL;
}

#endif
