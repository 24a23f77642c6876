/* Merging pieces side by side, for one instruction set: FB_V is its names, FB_SYMBOLS how many its vectors hold. Of one
 * piece it says how that is begun, goes a step further, and is given back. */

/* Who is done makes room for the next, so that there are always as many abreast. */
FB_INLINE void FB_V(abreast)(const fb_merge_tables *tables, const fb_new_piece *pieces, size_t n, size_t n_vectors) {
    FB_V(lane) lanes[FB_ABREAST] __attribute__((aligned(64))), *active[FB_ABREAST];
    size_t i, n_kept, n_begun = n < FB_ABREAST ? n : FB_ABREAST, n_active = n_begun;
    for (i = 0; i < n_begun; i++) FB_V(begin)(active[i] = &lanes[i], tables, &pieces[i], n_vectors);
    for (; n_active; n_active = n_kept)
        for (i = n_kept = 0; i < n_active; i++) {
            FB_V(lane) *m = active[n_kept] = active[i];
            if (FB_V(step)(m, tables, n_vectors)) {
                n_kept++;
                continue;
            }
            FB_V(give)(m, n_vectors);
            if (n_begun < n) FB_V(begin)(active[n_kept++], tables, &pieces[n_begun++], n_vectors);
        }
}

/* n_places: 16, 32 or 64, for pieces of fewer bytes. */
static void FB_V(merge)(const fb_merge_tables *tables, const fb_new_piece *pieces, size_t n, size_t n_places) {
    if (n_places == 16)
        FB_V(abreast)(tables, pieces, n, 16 / FB_SYMBOLS);
    else if (n_places == 32)
        FB_V(abreast)(tables, pieces, n, 32 / FB_SYMBOLS);
    else
        FB_V(abreast)(tables, pieces, n, 64 / FB_SYMBOLS);
}
