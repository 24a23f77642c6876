/* Pieces that take turns in lanes, for one instruction set. Included once per instruction set.
 *
 * FB_V(name): prefix of the set's names. FB_SYMBOLS: symbols in a vector. The set defines FB_V(lane), the state of
 * one piece, and FB_V(begin), FB_V(step) and FB_V(give), which put a piece into a lane, do one merge, and store
 * the piece's ids. n_vectors: vectors that hold the symbols of one piece: a constant in each call, so that the loops
 * over them are unrolled. */

typedef struct { /* pieces of one width */
    FB_V(lane) *active[FB_ABREAST]; /* lanes of the pieces that take turns */
    const fb_new_piece *pieces;
    size_t n, n_begun, n_active; /* number of pieces in total; that have had a lane; that have one now */
} FB_V(queue);

/* Start a queue with `most` free lanes at `lanes`, or one per piece if there are fewer; return the first unused
   lane. */
FB_INLINE FB_V(lane) *FB_V(start)(
    FB_V(queue) * q, FB_V(lane) * lanes, size_t most, const fb_merge_tables *tables, const fb_new_pieces *new,
    size_t n_vectors
) {
    size_t i;
    q->pieces = new->pieces;
    q->n = new->n;
    q->n_begun = q->n_active = q->n < most ? q->n : most;
    for (i = 0; i < q->n_begun; i++) FB_V(begin)(q->active[i] = &lanes[i], tables, &q->pieces[i], n_vectors);
    return lanes + q->n_begun;
}

/* Do one merge of each piece in turn. A finished piece hands its lane to the next piece. */
FB_INLINE void FB_V(turn)(FB_V(queue) * q, const fb_merge_tables *tables, size_t n_vectors) {
    size_t i, n_kept = 0, n_active = q->n_active;
    for (i = 0; i < n_active; i++) {
        FB_V(lane) *m = q->active[n_kept] = q->active[i];
        if (FB_V(step)(m, tables, n_vectors)) {
            n_kept++;
            continue;
        }
        FB_V(give)(m, n_vectors);
        if (q->n_begun < q->n) FB_V(begin)(q->active[n_kept++], tables, &q->pieces[q->n_begun++], n_vectors);
    }
    q->n_active = n_kept;
}
