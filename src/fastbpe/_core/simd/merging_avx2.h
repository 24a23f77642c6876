/* Merging a batch with AVX2, eight symbols per vector, on processors without AVX-512: see merging.h for the method. */

typedef struct {
    /* The pairs of the last merged symbol with its neighbours, and their home lines, which are prefetched: */
    const uint64_t *left_line, *right_line;
    uint64_t left_pair, right_pair;
    const fb_new_piece *piece;
    uint32_t n_ids, at; /* number of symbols left; place of the last merged symbol */
    uint32_t unused[3]; /* aligns ids + 1 and keys to 32 bytes */
    uint32_t ids[1 + FB_PLACES + 16]; /* FB_NO_ID, then the symbols (by place + 1), and FB_NO_ID after them */
    uint32_t keys[FB_PLACES];         /* by place, of the pair that begins there: rank << 6, or FB_NO_KEY */
} fb_avx2_lane; /* state of one piece that takes turns */

/* Look a pair up in its home line; return its key in all lanes. The inverted slots are masked by equality, combined by
 * or, and inverted back: if no slot is equal, the result is all ones, like an empty slot. */
FB_INLINE __m256i fb_avx2_pair_key(const fb_merge_tables *t, const uint64_t *line, uint64_t pair) {
    const __m256i none = _mm256_set1_epi64x(-1), wanted = _mm256_set1_epi64x((int64_t)pair);
    __m256i low = _mm256_loadu_si256((const __m256i *)line), high = _mm256_loadu_si256((const __m256i *)(line + 4));
    __m256i low_equal = _mm256_cmpeq_epi64(_mm256_srli_epi64(low, FB_ID_BITS), wanted);
    __m256i high_equal = _mm256_cmpeq_epi64(_mm256_srli_epi64(high, FB_ID_BITS), wanted);
    __m256i empty = _mm256_or_si256(_mm256_cmpeq_epi64(low, none), _mm256_cmpeq_epi64(high, none));
    __m256i found = _mm256_or_si256(_mm256_andnot_si256(low, low_equal), _mm256_andnot_si256(high, high_equal));
    __m256i known = _mm256_or_si256(empty, _mm256_or_si256(low_equal, high_equal));
    __m128i slot = _mm_or_si128(_mm256_castsi256_si128(found), _mm256_extracti128_si256(found, 1));
    slot = _mm_xor_si128(_mm_or_si128(slot, _mm_unpackhi_epi64(slot, slot)), _mm_set1_epi32(-1));
    if (__builtin_expect(_mm256_testz_si256(known, known), 0))
        slot = _mm_cvtsi64_si128((int64_t)fb_pair_behind_line(t, pair, line));
    return _mm256_broadcastd_epi32(_mm_srli_epi32(_mm_slli_epi32(slot, 32 - FB_ID_BITS), 32 - FB_ID_BITS - 6));
}

#define FB_PLACE(v) _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(8 * (int)(v)))
#define FB_LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define FB_STORE(to, v) _mm256_storeu_si256((__m256i *)(to), v)

/* Put a piece into a lane. Pieces of fewer than 16 bytes take no branch, because their length cannot be predicted.
 * Longer ones are copied, so that no vector reads beyond their end. */
FB_INLINE void fb_avx2_begin(fb_avx2_lane *m, const fb_merge_tables *t, const fb_new_piece *piece, size_t n_vectors) {
    const __m256i n = _mm256_set1_epi32((int)piece->n_bytes), one = _mm256_set1_epi32(1);
    const __m256i no_id = _mm256_set1_epi32(FB_NO_ID), no_key = _mm256_set1_epi32(FB_NO_KEY);
    uint8_t copy[FB_PLACES];
    const uint8_t *bytes = piece->piece;
    if (n_vectors > 2) bytes = memcpy(copy, bytes, piece->n_bytes);
    FB_EACH_VECTOR {
        __m256i single = _mm256_cmpgt_epi32(n, FB_PLACE(v));
        __m256i paired = _mm256_cmpgt_epi32(n, _mm256_add_epi32(FB_PLACE(v), one));
        __m128i some = _mm_loadl_epi64((const __m128i *)(bytes + 8 * v)), behind = _mm_srli_si128(some, 1);
        if (v + 1 < n_vectors) behind = _mm_loadl_epi64((const __m128i *)(bytes + 8 * v + 1));
        __m256i here = _mm256_cvtepu8_epi32(some);
        __m256i pairs = _mm256_or_si256(_mm256_slli_epi32(here, 8), _mm256_cvtepu8_epi32(behind));
        __m256i ids = _mm256_mask_i32gather_epi32(no_id, (const int *)t->byte_ids, here, single, 4);
        __m256i keys = _mm256_mask_i32gather_epi32(no_key, t->byte_keys, pairs, paired, 4);
        FB_STORE(m->ids + 1 + 8 * v, ids);
        FB_STORE(m->keys + 8 * v, _mm256_min_epi32(keys, no_key));
    }
    m->ids[0] = m->ids[1 + 8 * n_vectors] = m->ids[2 + 8 * n_vectors] = FB_NO_ID;
    m->piece = piece;
    m->n_ids = piece->n_bytes;
    m->at = FB_PLACES + 1; /* no symbol has been merged yet */
    m->left_line = m->right_line = t->pairs;
    m->left_pair = m->right_pair = 0;
}

/* The lowest of eight non-negative numbers. */
FB_INLINE uint32_t fb_avx2_least(__m256i v) {
    __m128i least = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    least = _mm_min_epi32(least, _mm_shuffle_epi32(least, 0x4E));
    return (uint32_t)_mm_cvtsi128_si32(_mm_min_epi32(least, _mm_shuffle_epi32(least, 0xB1)));
}

/* Read the keys of the last two prefetched pairs, do the best merge, and prefetch its two pairs. Returns 0 if no pair
 * can be merged. */
FB_INLINE int fb_avx2_step(fb_avx2_lane *m, const fb_merge_tables *t, size_t n_vectors) {
    const __m256i up = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0), no_key = _mm256_set1_epi32(FB_NO_KEY);
    __m256i right_key = fb_avx2_pair_key(t, m->right_line, m->right_pair);
    __m256i left_key = fb_avx2_pair_key(t, m->left_line, m->left_pair);
    __m256i made = _mm256_set1_epi32((int)m->at), before = _mm256_set1_epi32((int)m->at - 1);
    __m256i keys[9], least = no_key, id;
    FB_EACH_VECTOR {
        keys[v] = FB_LOAD(m->keys + 8 * v);
        keys[v] = _mm256_blendv_epi8(keys[v], right_key, _mm256_cmpeq_epi32(FB_PLACE(v), made));
        keys[v] = _mm256_blendv_epi8(keys[v], left_key, _mm256_cmpeq_epi32(FB_PLACE(v), before));
        least = _mm256_min_epi32(least, _mm256_or_si256(keys[v], FB_PLACE(v)));
    }
    uint32_t best = fb_avx2_least(least), at = best & 63;
    uint64_t left, right;
    if (best >= FB_NO_KEY) return 0;
    left = m->ids[at];
    right = m->ids[at + 3]; /* after the symbols at + 1 and at + 2, which merge */
    m->at = at;
    m->n_ids--;
    made = _mm256_set1_epi32((int)at);
    id = _mm256_set1_epi32((int)(best >> 6));
    keys[n_vectors] = no_key;
    FB_EACH_VECTOR {
        __m256i behind = _mm256_cmpgt_epi32(FB_PLACE(v), made);
        __m256i ids = _mm256_blendv_epi8(FB_LOAD(m->ids + 1 + 8 * v), FB_LOAD(m->ids + 2 + 8 * v), behind);
        __m256i moved = _mm256_permutevar8x32_epi32(_mm256_blend_epi32(keys[v], keys[v + 1], 1), up);
        ids = _mm256_blendv_epi8(ids, id, _mm256_cmpeq_epi32(FB_PLACE(v), made));
        FB_STORE(m->ids + 1 + 8 * v, ids);
        FB_STORE(m->keys + 8 * v, _mm256_blendv_epi8(keys[v], moved, behind));
    }
    m->right_pair = (uint64_t)(best >> 6) << FB_ID_BITS | right;
    m->left_pair = left << FB_ID_BITS | best >> 6;
    __builtin_prefetch(m->right_line = fb_pair_line(t, m->right_pair));
    __builtin_prefetch(m->left_line = fb_pair_line(t, m->left_pair));
    return 1;
}

/* Store the ids of a piece that is done. */
FB_INLINE void fb_avx2_give(const fb_avx2_lane *m, size_t n_vectors) {
    FB_EACH_VECTOR FB_STORE(m->piece->ids + 8 * v, FB_LOAD(m->ids + 1 + 8 * v));
    *m->piece->n_ids = m->n_ids;
}
