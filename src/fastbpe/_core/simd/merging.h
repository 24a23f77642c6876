/* Merging many new pieces of bytes side by side with AVX-512: what merging.pyx does, in two thirds of its time.
 *
 * The least of all keys is one instruction for sixteen and four more, and four slots of the table of pairs are compared
 * at once. On either side of a piece stands a symbol that makes no pair, so that its ends are no cases of their own.
 */
#ifndef FASTBPE_MERGING_H
#define FASTBPE_MERGING_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *piece;
    uint32_t n_bytes; /* 1 to 32 */
    uint32_t *ids;    /* where its ids go: room for a whole number of four */
    uint32_t *n_ids;
} fb_new_piece;

typedef struct {
    const uint64_t *pairs; /* tables.pxd: Pairs.ranked */
    unsigned shift;
    const uint32_t *byte_ids;
    const int32_t *byte_keys;
} fb_merge_tables;

enum { FB_ABREAST = 32 }; /* pieces at once: their states stay in the first-level cache */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define FB_NO_KEY 0x7FFFFFFF
#define FB_ID_BITS 21
#define FB_NO_ID ((uint64_t)1 << 42) /* on neither side of a pair is it like any other */

typedef struct { /* symbols at 1 to n_bytes, FB_NO_ID before and behind them */
    uint64_t alive;
    uint64_t ids[34];
    int32_t keys[34]; /* of the pair that begins there: rank << 6 | place, or FB_NO_KEY */
    uint32_t at, left, right;
    const fb_new_piece *piece;
} fb_lane;

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,lzcnt,popcnt")
#endif

static inline __attribute__((always_inline)) size_t fb_pair_home(const fb_merge_tables *t, uint64_t left, uint64_t right) {
    return (size_t)((left * 0x9E3779B97F4A7C15ull + right * 0xD6E8FEB86659FD93ull) >> t->shift);
}

/* Slot by slot: the pair lies further away, or at the end of the table. */
static __attribute__((noinline)) int32_t fb_pair_key_slowly(const fb_merge_tables *t, uint64_t key, size_t i) {
    size_t mask = ((size_t)1 << (64 - t->shift)) - 1;
    while (t->pairs[i] >> FB_ID_BITS != key && t->pairs[i] != UINT64_MAX) i = (i + 1) & mask;
    return t->pairs[i] == UINT64_MAX ? FB_NO_KEY : (int32_t)(t->pairs[i] << 6 & 0x7FFFFC0);
}

static inline __attribute__((always_inline)) int32_t fb_pair_key(const fb_merge_tables *t, uint64_t left, uint64_t right) {
    size_t i = fb_pair_home(t, left, right), mask = ((size_t)1 << (64 - t->shift)) - 1;
    uint64_t key = (left << FB_ID_BITS) + right;
    if (__builtin_expect(i + 3 > mask, 0)) return fb_pair_key_slowly(t, key, i);
    __m256i slots = _mm256_loadu_si256((const __m256i *)(t->pairs + i));
    __mmask8 equal = _mm256_cmpeq_epi64_mask(_mm256_srli_epi64(slots, FB_ID_BITS), _mm256_set1_epi64x((int64_t)key));
    __mmask8 empty = _mm256_cmpeq_epi64_mask(slots, _mm256_set1_epi64x(-1));
    if (__builtin_expect(!(equal | empty), 0)) return fb_pair_key_slowly(t, key, i);
    uint64_t word = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(_mm256_maskz_compress_epi64(equal, slots)));
    return (int32_t)(word << 6 & 0x7FFFFC0) | (FB_NO_KEY & -(int32_t)(equal == 0)); /* a branch would be guessed */
}

/* Four slots may be on two lines. */
static inline __attribute__((always_inline)) void fb_ask(const uint64_t *slots) {
    __builtin_prefetch(slots);
    __builtin_prefetch(slots + 3);
}

/* Sixteen symbols from place `first` on: without a branch, for how many there are cannot be foretold. */
static inline __attribute__((always_inline)) void fb_begin_16(fb_lane *m, const fb_merge_tables *t, const uint8_t *p,
                                                              uint32_t n, uint32_t first) {
    const __m512i places = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    __mmask16 known = (__mmask16)_bzhi_u32(0xFFFF, n), paired = (__mmask16)_bzhi_u32(0xFFFF, n - 1);
    __m512i here = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(known, p));
    __m512i next = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(paired, p + 1));
    __m512i pairs = _mm512_or_si512(_mm512_slli_epi32(here, 8), next), none = _mm512_setzero_si512();
    __m512i ids = _mm512_mask_i32gather_epi32(none, known, here, t->byte_ids, 4);
    __m512i keys = _mm512_mask_i32gather_epi32(none, paired, pairs, t->byte_keys, 4);
    keys = _mm512_or_si512(keys, _mm512_add_epi32(places, _mm512_set1_epi32((int)first)));
    _mm512_storeu_si512(m->keys + first + 1, _mm512_mask_mov_epi32(_mm512_set1_epi32(FB_NO_KEY), paired, keys));
    _mm512_storeu_si512(m->ids + first + 1, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(ids)));
    _mm512_storeu_si512(m->ids + first + 9, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(ids, 1)));
}

static inline __attribute__((always_inline)) void fb_begin(fb_lane *m, const fb_merge_tables *t, const fb_new_piece *piece) {
    uint32_t n = piece->n_bytes;
    m->piece = piece;
    m->alive = ((uint64_t)4 << n) - 1;
    m->at = m->left = m->right = 0;
    m->keys[0] = FB_NO_KEY;
    fb_begin_16(m, t, piece->piece, n, 0);
    if (n > 16) fb_begin_16(m, t, piece->piece + 16, n - 16, 16);
    m->ids[0] = m->ids[n + 1] = FB_NO_ID;
}

/* Take in what was asked for, do the best merge and ask for its pairs; 0 if there is none to do. */
static inline __attribute__((always_inline)) int fb_step(fb_lane *m, const fb_merge_tables *t) {
    uint32_t at = m->at, left = m->left, right;
    __m512i keys = _mm512_loadu_si512(m->keys);
    if (m->piece->n_bytes > 16) keys = _mm512_min_epi32(keys, _mm512_loadu_si512(m->keys + 16));
    int32_t best = _mm512_reduce_min_epi32(keys);
    int32_t right_key = fb_pair_key(t, m->ids[at], m->ids[m->right]) | (int32_t)at;
    int32_t left_key = fb_pair_key(t, m->ids[left], m->ids[at]) | (int32_t)left;
    m->keys[left] = left_key;
    m->keys[at] = right_key;
    best = best < left_key ? best : left_key;
    best = best < right_key ? best : right_key;
    if (best == FB_NO_KEY) return 0;
    at = (uint32_t)best & 63;
    m->ids[at] = (uint32_t)best >> 6;
    right = (uint32_t)_tzcnt_u64(m->alive & ~(uint64_t)1 << at);
    m->alive ^= (uint64_t)1 << right;
    left = 63 - (uint32_t)_lzcnt_u64(m->alive & (((uint64_t)1 << at) - 1));
    m->keys[at] = m->keys[right] = m->keys[left] = FB_NO_KEY;
    m->at = at, m->left = left, m->right = (uint32_t)_tzcnt_u64(m->alive & ~(uint64_t)0 << right);
    fb_ask(t->pairs + fb_pair_home(t, m->ids[at], m->ids[m->right]));
    fb_ask(t->pairs + fb_pair_home(t, m->ids[left], m->ids[at]));
    return 1;
}

static inline __attribute__((always_inline)) void fb_collect(const fb_lane *m) {
    uint64_t rest = m->alive & (((uint64_t)2 << m->piece->n_bytes) - 2);
    uint32_t n = 0;
    for (; rest; rest &= rest - 1) m->piece->ids[n++] = (uint32_t)m->ids[_tzcnt_u64(rest)];
    *m->piece->n_ids = n;
}

/* Who is done makes room for the next, so that there are always as many abreast. */
static void fb_merge_avx512(const fb_merge_tables *tables, const fb_new_piece *pieces, size_t n) {
    fb_lane lanes[FB_ABREAST], *active[FB_ABREAST];
    size_t i, n_kept, n_begun = n < FB_ABREAST ? n : FB_ABREAST, n_active = n_begun;
    for (i = 0; i < n_begun; i++) fb_begin(active[i] = &lanes[i], tables, &pieces[i]);
    for (; n_active; n_active = n_kept)
        for (i = n_kept = 0; i < n_active; i++) {
            active[n_kept] = active[i];
            if (fb_step(active[i], tables)) {
                n_kept++;
                continue;
            }
            fb_collect(active[i]);
            if (n_begun < n) fb_begin(active[n_kept++], tables, &pieces[n_begun++]);
        }
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

static int fb_can_merge(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
}
#else
static int fb_can_merge(void) { return 0; }
static void fb_merge_avx512(const fb_merge_tables *tables, const fb_new_piece *pieces, size_t n) {
    (void)tables, (void)pieces, (void)n;
}
#endif

#endif
