/* Merging pieces side by side, for one instruction set: FB_V is its names, FB_SYMBOLS how many its vectors hold. Of one
 * piece it says how that is begun, goes a step further, and is given back. */

typedef struct { /* pieces of one width on their way */
    FB_V(lane) *active[FB_ABREAST];
    const fb_new_piece *pieces;
    size_t n, n_begun, n_active;
} FB_V(queue);

/* lanes: most, for so many at once; where the next queue's begin. */
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

/* A step of each. Who is done makes room for the next, so that there are always as many abreast. */
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
