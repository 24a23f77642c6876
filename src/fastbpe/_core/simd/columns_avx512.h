/* Merge sixteen pieces of fewer than 16 bytes together, one in each column of AVX-512 vectors: see merging.h.
 *
 * A lane takes a step of one piece at a time, in about 100 instructions; here all pieces of a group take a step at
 * once. The rows are the symbols of the pieces: as many as the longest piece has, one fewer after each step. Pairs
 * are still looked up one by one, one cache line of the table each, but only existing ones. A fourth of the pairs
 * do not exist, because the merged symbol is at the end of its piece.
 *
 * Columns are faster than lanes if groups are full, and slower with ten pieces per group: fb_avx512_merge chooses.
 */
enum {
    FB_COLUMNS = 16,
    FB_ROWS = 16,
    FB_GROUPS = 4, /* groups in progress, so that prefetched lines arrive while others take their step */
    FB_DONE = 63   /* not a row: position of the merge in a column whose piece is done */
};

typedef struct {
    uint32_t ids[1 + FB_ROWS + 1][FB_COLUMNS]; /* rows of symbols, with FB_NO_ID before and after them */
    uint32_t keys[FB_ROWS + 1][FB_COLUMNS];    /* key of the pair that begins in a row: rank << 6, or FB_NO_KEY */
    uint64_t pairs[2 * FB_COLUMNS];            /* pairs to look up: for the columns in has_right, then has_left */
    uint64_t lines[2 * FB_COLUMNS];            /* their home lines, in slots */
    uint32_t at[FB_COLUMNS];                   /* row of the last merge */
    uint32_t n_ids[FB_COLUMNS];                /* symbols left */
    const fb_new_piece *pieces[FB_COLUMNS];
    size_t n, n_rows;
    __mmask16 has_right, has_left; /* columns whose new symbol has a neighbour after it, before it */
} fb_avx512_group;

/* Write the bytes of the pieces as symbols, with the keys of their pairs, row by row. starts: start of each piece in
 * `bytes`. */
FB_INLINE void fb_avx512_lay_out(fb_avx512_group *g, const fb_merge_tables *t, const uint8_t *bytes, __m512i starts) {
    const __m512i none = _mm512_set1_epi32(FB_NO_ID), unpaired = _mm512_set1_epi32(FB_NO_KEY);
    const __m512i byte = _mm512_set1_epi32(255), lengths = _mm512_loadu_si512(g->n_ids);
    size_t p;
    _mm512_storeu_si512(g->ids[0], none);
    for (p = 0; p < g->n_rows; p++) {
        __mmask16 single = _mm512_cmpgt_epi32_mask(lengths, _mm512_set1_epi32((int)p));
        __mmask16 paired = _mm512_cmpgt_epi32_mask(lengths, _mm512_set1_epi32((int)p + 1));
        __m512i word = _mm512_mask_i32gather_epi32(none, single, starts, bytes + p, 1);
        __m512i here = _mm512_and_si512(word, byte), next = _mm512_and_si512(_mm512_srli_epi32(word, 8), byte);
        __m512i pair = _mm512_or_si512(_mm512_slli_epi32(here, 8), next);
        __m512i keys = _mm512_mask_i32gather_epi32(unpaired, paired, pair, t->byte_keys, 4);
        _mm512_storeu_si512(g->ids[1 + p], _mm512_mask_i32gather_epi32(none, single, here, t->byte_ids, 4));
        _mm512_storeu_si512(g->keys[p], _mm512_min_epi32(keys, unpaired));
    }
    _mm512_storeu_si512(g->ids[1 + p], none);
    _mm512_storeu_si512(g->keys[p], unpaired);
}

/* Set up a group for n pieces. Requires: 1 <= n <= FB_COLUMNS; pieces have 1 to FB_ROWS - 1 bytes, and 16 bytes are
 * readable. */
FB_INLINE void fb_avx512_group_begin(
    fb_avx512_group *g, const fb_merge_tables *t, const fb_new_piece *const *pieces, size_t n
) {
    enum { STRIDE = FB_ROWS + 4 }; /* bytes of a copied piece: the gathers read four bytes where two are needed */
    const __m512i columns = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint8_t bytes[FB_COLUMNS][STRIDE];
    size_t i;
    g->n = n;
    g->n_rows = 0;
    g->has_right = g->has_left = 0;
    _mm512_storeu_si512(g->at, _mm512_set1_epi32(FB_DONE));
    _mm512_storeu_si512(g->n_ids, _mm512_setzero_si512());
    for (i = 0; i < n; i++) {
        _mm_storeu_si128((__m128i *)bytes[i], _mm_loadu_si128((const __m128i *)pieces[i]->piece));
        g->pieces[i] = pieces[i];
        g->n_ids[i] = pieces[i]->n_bytes;
        g->n_rows = g->n_rows > pieces[i]->n_bytes ? g->n_rows : pieces[i]->n_bytes;
    }
    fb_avx512_lay_out(g, t, bytes[0], _mm512_mullo_epi32(columns, _mm512_set1_epi32(STRIDE)));
}

/* Write the keys of the looked-up pairs, and move up the keys after the last merge. Returns the lowest key of each
 * column, with its row in the low bits. */
FB_INLINE __m512i fb_avx512_least(fb_avx512_group *g, const fb_merge_tables *t) {
    const __m512i unpaired = _mm512_set1_epi32(FB_NO_KEY), at = _mm512_loadu_si512(g->at);
    uint32_t found[3 * FB_COLUMNS] __attribute__((aligned(64))); /* two vectors of keys; a third may be read */
    size_t n_right = (size_t)__builtin_popcount(g->has_right), n_left = (size_t)__builtin_popcount(g->has_left), i, p;
    __m512i right, left, keys = _mm512_loadu_si512(g->keys[0]), least = unpaired;
    __mmask16 behind = 0;
    for (i = 0; i < n_right + n_left; i++)
        found[i] = (uint32_t)_mm_cvtsi128_si32(fb_avx512_pair_key(t, t->pairs + g->lines[i], g->pairs[i]));
    right = _mm512_mask_expand_epi32(unpaired, g->has_right, _mm512_loadu_si512(found));
    left = _mm512_mask_expand_epi32(unpaired, g->has_left, _mm512_loadu_si512(found + n_right));
    for (p = 0; p < g->n_rows; p++) {
        __m512i next = _mm512_loadu_si512(g->keys[p + 1]), row = _mm512_set1_epi32((int)p);
        __mmask16 here = _mm512_cmpeq_epi32_mask(at, row);
        __mmask16 before = _mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32((int)p + 1));
        keys = _mm512_mask_mov_epi32(keys, behind, next);
        keys = _mm512_mask_mov_epi32(keys, here, right);
        keys = _mm512_mask_mov_epi32(keys, before, left);
        _mm512_storeu_si512(g->keys[p], keys);
        least = _mm512_min_epi32(least, _mm512_or_si512(keys, row));
        behind |= here;
        keys = next;
    }
    return least;
}

/* Append the pairs of two symbols in the columns `which` to the n pairs that will be looked up; return how many
 * pairs there are then. */
FB_INLINE size_t fb_avx512_ask(
    fb_avx512_group *g, const fb_merge_tables *t, __m512i left, __m512i right, __mmask16 which, size_t n
) {
    const __m512i factor = _mm512_set1_epi64((int64_t)FB_GOLDEN_RATIO), mask = _mm512_set1_epi64(FB_LINE - 1);
    const __m128i shift = _mm_cvtsi32_si128((int)t->shift);
    int half;
    left = _mm512_maskz_compress_epi32(which, left);
    right = _mm512_maskz_compress_epi32(which, right);
    for (half = 0; half < 2; half++) { /* like fb_pair_line, eight at once */
        __m512i a = _mm512_cvtepu32_epi64(half ? _mm512_extracti64x4_epi64(left, 1) : _mm512_castsi512_si256(left));
        __m512i b = _mm512_cvtepu32_epi64(half ? _mm512_extracti64x4_epi64(right, 1) : _mm512_castsi512_si256(right));
        __m512i pair = _mm512_or_si512(_mm512_slli_epi64(a, FB_ID_BITS), b);
        __m512i line = _mm512_srl_epi64(_mm512_mullo_epi64(pair, factor), shift);
        _mm512_storeu_si512(g->pairs + n + 8 * half, pair);
        _mm512_storeu_si512(g->lines + n + 8 * half, _mm512_andnot_si512(mask, line));
    }
    return n + (size_t)__builtin_popcount(which);
}

/* Write the merged symbols to the rows `at`, and move up the symbols after them. left, right: receive the neighbours.
 * Columns that are done have FB_DONE in `at`. */
FB_INLINE void fb_avx512_make(fb_avx512_group *g, __m512i at, __m512i made, __m512i *left, __m512i *right) {
    __m512i ids = _mm512_loadu_si512(g->ids[1]);
    __mmask16 behind = 0;
    size_t p;
    *left = *right = _mm512_set1_epi32(FB_NO_ID);
    for (p = 0; p < g->n_rows; p++) {
        __m512i next = _mm512_loadu_si512(g->ids[p + 2]);
        __mmask16 here = _mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32((int)p));
        __mmask16 before = _mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32((int)p + 1));
        __mmask16 after = _mm512_cmpeq_epi32_mask(at, _mm512_set1_epi32((int)p - 1));
        __m512i kept = _mm512_mask_mov_epi32(ids, behind, next);
        *left = _mm512_mask_mov_epi32(*left, before, ids);
        *right = _mm512_mask_mov_epi32(*right, after, next);
        _mm512_storeu_si512(g->ids[p + 1], _mm512_mask_mov_epi32(kept, here, made));
        behind |= here;
        ids = next;
    }
    g->n_rows--;
}

/* Do the best merge of each column and prefetch the lines of its new pairs; return 0 if no column has a merge left. */
FB_INLINE int fb_avx512_group_step(fb_avx512_group *g, const fb_merge_tables *t) {
    const __m512i none = _mm512_set1_epi32(FB_NO_ID), n_ids = _mm512_loadu_si512(g->n_ids);
    __m512i least = fb_avx512_least(g, t), made = _mm512_srli_epi32(least, 6), at, left, right;
    __mmask16 active = _mm512_cmplt_epi32_mask(least, _mm512_set1_epi32(FB_NO_KEY));
    size_t n, i;
    if (!active) return 0;
    at = _mm512_mask_and_epi32(_mm512_set1_epi32(FB_DONE), active, least, _mm512_set1_epi32(63));
    _mm512_storeu_si512(g->at, at);
    _mm512_storeu_si512(g->n_ids, _mm512_mask_sub_epi32(n_ids, active, n_ids, _mm512_set1_epi32(1)));
    fb_avx512_make(g, at, made, &left, &right);
    g->has_right = _mm512_mask_cmpneq_epi32_mask(active, right, none);
    g->has_left = _mm512_mask_cmpneq_epi32_mask(active, left, none);
    n = fb_avx512_ask(g, t, made, right, g->has_right, 0);
    n = fb_avx512_ask(g, t, left, made, g->has_left, n);
    for (i = 0; i < n; i++) __builtin_prefetch(t->pairs + g->lines[i]);
    return 1;
}

/* Store the ids of all pieces, four of each at a time (a transposition). */
FB_INLINE void fb_avx512_group_give(const fb_avx512_group *g) {
    uint32_t out[4][4][4] __attribute__((aligned(64))); /* ids by number of the piece % 4, then / 4 */
    size_t i, p, most = 0;
    for (i = 0; i < g->n; i++) {
        *g->pieces[i]->n_ids = g->n_ids[i];
        most = most > g->n_ids[i] ? most : g->n_ids[i];
    }
    for (p = 0; p < most; p += 4) {
        __m512i a = _mm512_loadu_si512(g->ids[p + 1]), b = _mm512_loadu_si512(g->ids[p + 2]);
        __m512i c = _mm512_loadu_si512(g->ids[p + 3]), d = _mm512_loadu_si512(g->ids[p + 4]);
        __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
        __m512i ab_high = _mm512_unpackhi_epi32(a, b), cd_high = _mm512_unpackhi_epi32(c, d);
        _mm512_storeu_si512(out[0], _mm512_unpacklo_epi64(ab, cd));
        _mm512_storeu_si512(out[1], _mm512_unpackhi_epi64(ab, cd));
        _mm512_storeu_si512(out[2], _mm512_unpacklo_epi64(ab_high, cd_high));
        _mm512_storeu_si512(out[3], _mm512_unpackhi_epi64(ab_high, cd_high));
        for (i = 0; i < g->n; i++)
            _mm_storeu_si128((__m128i *)(g->pieces[i]->ids + p), _mm_load_si128((__m128i *)out[i % 4][i / 4]));
    }
}

typedef struct { /* queue of pieces, and the groups in progress */
    const fb_new_piece *sorted[FB_MAX_PIECES];
    fb_avx512_group groups[FB_GROUPS], *active[FB_GROUPS];
    size_t n, n_begun, n_active;
} fb_avx512_columns;

/* Begin the next group; return 0 if no pieces are left. */
FB_INLINE int fb_avx512_columns_begin(fb_avx512_columns *c, fb_avx512_group *g, const fb_merge_tables *t) {
    size_t n = c->n - c->n_begun;
    if (n == 0) return 0;
    n = n < FB_COLUMNS ? n : FB_COLUMNS;
    fb_avx512_group_begin(g, t, c->sorted + c->n_begun, n);
    c->n_begun += n;
    return 1;
}

/* Sort the pieces by length, longest first (a counting sort), so that the pieces of a group take about the same number
 * of steps; begin the first groups. */
FB_INLINE void fb_avx512_columns_start(fb_avx512_columns *c, const fb_merge_tables *t, const fb_new_pieces *new) {
    uint8_t ends[FB_ROWS + 1] = {0}; /* first counts by length, later ends in `sorted`; at most FB_MAX_PIECES */
    size_t i;
    for (i = 0; i < new->n; i++) ends[FB_ROWS - new->pieces[i].n_bytes]++;
    for (i = 1; i < FB_ROWS + 1; i++) ends[i] += ends[i - 1];
    for (i = new->n; i--;) c->sorted[--ends[FB_ROWS - new->pieces[i].n_bytes]] = &new->pieces[i];
    c->n = new->n;
    c->n_begun = 0;
    for (i = 0; i < FB_GROUPS && fb_avx512_columns_begin(c, &c->groups[i], t); i++) c->active[i] = &c->groups[i];
    c->n_active = i;
}

/* Take a step of each group; the next group replaces one that is done. */
FB_INLINE void fb_avx512_columns_turn(fb_avx512_columns *c, const fb_merge_tables *t) {
    size_t i, n_kept = 0, n_active = c->n_active;
    for (i = 0; i < n_active; i++) {
        fb_avx512_group *g = c->active[n_kept] = c->active[i];
        if (fb_avx512_group_step(g, t)) {
            n_kept++;
            continue;
        }
        fb_avx512_group_give(g);
        n_kept += (size_t)fb_avx512_columns_begin(c, g, t);
    }
    c->n_active = n_kept;
}

/* Merge all pieces, as fb_merge_fn in merging.h says: pieces of fewer than 16 bytes in columns if they fill a
 * group, all others in lanes. */
static void fb_avx512_merge(const fb_merge_tables *tables, const fb_new_pieces *new) {
    enum { N_LANES = FB_ABREAST / 4 * 3 }; /* the groups have to fit into the first-level cache, too */
    fb_avx512_lane lanes[N_LANES] __attribute__((aligned(64))), *free = lanes, *end = lanes + N_LANES;
    fb_avx512_columns columns;
    fb_avx512_queue narrow, wide, widest;
    const fb_new_pieces none = {NULL, 0};
    int few = new[0].n < FB_COLUMNS;
    size_t n = few ? new[0].n : 0;
    free = fb_avx512_start(&widest, free, fb_lanes_of(end - free, n + new[1].n), tables, &new[2], 64 / FB_SYMBOLS);
    free = fb_avx512_start(&wide, free, fb_lanes_of(end - free, n), tables, &new[1], 32 / FB_SYMBOLS);
    fb_avx512_start(&narrow, free, (size_t)(end - free), tables, few ? &new[0] : &none, 16 / FB_SYMBOLS);
    fb_avx512_columns_start(&columns, tables, few ? &none : &new[0]);
    while (narrow.n_active | wide.n_active | widest.n_active | columns.n_active) {
        fb_avx512_turn(&widest, tables, 64 / FB_SYMBOLS);
        fb_avx512_turn(&wide, tables, 32 / FB_SYMBOLS);
        fb_avx512_turn(&narrow, tables, 16 / FB_SYMBOLS);
        fb_avx512_columns_turn(&columns, tables);
    }
}
