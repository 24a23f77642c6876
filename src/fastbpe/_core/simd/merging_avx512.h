/* Merging a batch with AVX-512, sixteen symbols per vector: see merging.h for the method. */

typedef struct {
    /* The pairs of the last merged symbol with its neighbours, and their home lines, which are prefetched: */
    const uint64_t *left_line, *right_line;
    uint64_t left_pair, right_pair;
    uint64_t made; /* bit of the place of the last merged symbol; 0: none yet */
    const fb_new_piece *piece;
    uint32_t n_ids, unused[2];   /* number of symbols left; padding */
    uint32_t ids[1 + FB_PLACES]; /* FB_NO_ID, then the symbols (by place + 1), and FB_NO_ID after them */
    uint32_t keys[FB_PLACES];    /* by place, of the pair that begins there: rank << 6, or FB_NO_KEY */
} fb_avx512_lane; /* state of one piece that takes turns */

/* Look a pair up in its home line; return its key in the lowest lane. No branch on whether the pair is in the table,
 * because it could not be predicted. */
FB_INLINE __m128i fb_avx512_pair_key(const fb_merge_tables *t, const uint64_t *line, uint64_t pair) {
    __m512i slots = _mm512_loadu_si512(line), none = _mm512_set1_epi64(-1), wanted = _mm512_set1_epi64((int64_t)pair);
    __mmask8 equal = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(slots, FB_ID_BITS), wanted);
    __mmask8 empty = _mm512_cmpeq_epi64_mask(slots, none);
    __m128i slot = _mm512_castsi512_si128(_mm512_mask_compress_epi64(none, equal, slots));
    if (__builtin_expect(!(equal | empty), 0)) slot = _mm_cvtsi64_si128((int64_t)fb_pair_behind_line(t, pair, line));
    return _mm_srli_epi32(_mm_slli_epi32(slot, 32 - FB_ID_BITS), 32 - FB_ID_BITS - 6);
}

#define FB_NONE_BESIDE _mm512_set1_epi32(FB_NO_ID)
#define FB_NONE_PAIRED _mm512_set1_epi32(FB_NO_KEY)

/* Put a piece into a lane, without a branch: the length of a piece cannot be predicted. */
FB_INLINE void fb_avx512_begin(fb_avx512_lane *m, const fb_merge_tables *t, const fb_new_piece *piece, size_t n_vectors) {
    uint64_t known = ((uint64_t)1 << piece->n_bytes) - 1;
    FB_EACH_VECTOR {
        const uint8_t *bytes = piece->piece + 16 * v;
        __mmask16 single = (__mmask16)(known >> 16 * v), paired = (__mmask16)(known >> 1 >> 16 * v);
        __m512i here = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(single, bytes));
        __m512i next = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(paired, bytes + 1));
        __m512i pairs = _mm512_or_si512(_mm512_slli_epi32(here, 8), next);
        __m512i ids = _mm512_mask_i32gather_epi32(FB_NONE_BESIDE, single, here, t->byte_ids, 4);
        __m512i keys = _mm512_mask_i32gather_epi32(FB_NONE_PAIRED, paired, pairs, t->byte_keys, 4);
        _mm512_storeu_si512(m->ids + 1 + 16 * v, ids);
        _mm512_storeu_si512(m->keys + 16 * v, _mm512_min_epi32(keys, FB_NONE_PAIRED));
    }
    m->ids[0] = FB_NO_ID;
    m->piece = piece;
    m->n_ids = piece->n_bytes;
    m->made = 0;
    m->left_line = m->right_line = t->pairs;
    m->left_pair = m->right_pair = 0;
}

/* Read the keys of the last two prefetched pairs, do the best merge, and prefetch its two pairs. Returns 0 if no pair
 * can be merged. */
FB_INLINE int fb_avx512_step(fb_avx512_lane *m, const fb_merge_tables *t, size_t n_vectors) {
    const __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i ids[5], keys[5], least = FB_NONE_PAIRED;
    __m128i right_key = fb_avx512_pair_key(t, m->right_line, m->right_pair);
    __m128i left_key = fb_avx512_pair_key(t, m->left_line, m->left_pair);
    uint64_t made = m->made, behind, id, left, right;
    FB_EACH_VECTOR {
        __m512i here = _mm512_add_epi32(places, _mm512_set1_epi32(16 * (int)v));
        keys[v] = _mm512_loadu_si512(m->keys + 16 * v);
        keys[v] = _mm512_mask_broadcastd_epi32(keys[v], (__mmask16)(made >> 16 * v), right_key);
        keys[v] = _mm512_mask_broadcastd_epi32(keys[v], (__mmask16)(made >> 1 >> 16 * v), left_key);
        least = _mm512_min_epi32(least, _mm512_or_si512(keys[v], here));
    }
    uint32_t best = (uint32_t)_mm512_reduce_min_epi32(least), at = best & 63;
    if (best >= FB_NO_KEY) return 0;
    id = best >> 6;
    left = m->ids[at];
    right = m->ids[at + 3]; /* after the symbols at + 1 and at + 2, which merge */
    m->made = made = (uint64_t)1 << at;
    m->n_ids--;
    behind = ~made & -made;
    FB_EACH_VECTOR {
        ids[v] = _mm512_loadu_si512(m->ids + 1 + 16 * v);
        ids[v] = _mm512_mask_set1_epi32(ids[v], (__mmask16)(made >> 16 * v), (int)id);
    }
    ids[n_vectors] = FB_NONE_BESIDE;
    keys[n_vectors] = FB_NONE_PAIRED;
    FB_EACH_VECTOR {
        __mmask16 moving = (__mmask16)(behind >> 16 * v);
        _mm512_storeu_si512(m->ids + 1 + 16 * v, _mm512_mask_alignr_epi32(ids[v], moving, ids[v + 1], ids[v], 1));
        _mm512_storeu_si512(m->keys + 16 * v, _mm512_mask_alignr_epi32(keys[v], moving, keys[v + 1], keys[v], 1));
    }
    m->right_pair = id << FB_ID_BITS | right;
    m->left_pair = left << FB_ID_BITS | id;
    __builtin_prefetch(m->right_line = fb_pair_line(t, m->right_pair));
    __builtin_prefetch(m->left_line = fb_pair_line(t, m->left_pair));
    return 1;
}

/* Store the ids of a piece that is done. */
FB_INLINE void fb_avx512_give(const fb_avx512_lane *m, size_t n_vectors) {
    FB_EACH_VECTOR _mm512_storeu_si512(m->piece->ids + 16 * v, _mm512_loadu_si512(m->ids + 1 + 16 * v));
    *m->piece->n_ids = m->n_ids;
}
