/* Scan text block by block. Included once per instruction set, after FB_FN(block) is defined.
 *
 * The next block begins at the last piece start that a block decides (unaligned loads are cheap; about 7 bytes of 64 are
 * read twice). If a block decides nothing, pieces.h finds one end. */
/* Append the ends of the pieces from *at on, until the end of the text or until there is space for fewer than FB_ROOM
 * ends; return their number. at: receives the last end. Requires: a piece begins at *at; room >= FB_ROOM. */
FB_INLINE size_t FB_FN(scan)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                          const fb_pattern *pattern, int family) {
    size_t base = *at, n_ends = 0, cut = 0;
    int done;
    while (base < n && room - n_ends >= FB_ROOM) {
        __builtin_prefetch(text + base + FB_AHEAD);
        uint64_t starts = FB_FN(block)(text + base, n - base, pattern, family, &cut, &done);
        if (!done && cut == 0) {
            base = ends[n_ends++] = fb_piece_end(text, n, base, pattern);
            continue;
        }
        n_ends += FB_V(put)(ends + n_ends, base, starts & ~(uint64_t)1); /* a start ends the piece before it */
        base += cut;
        if (done) base = ends[n_ends++] = n;
    }
    *at = base;
    return n_ends;
}

static size_t FB_FN(gpt2)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                          const fb_pattern *pattern) {
    return FB_FN(scan)(text, n, at, ends, room, pattern, FB_GPT2);
}

static size_t FB_FN(cl100k)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                            const fb_pattern *pattern) {
    return FB_FN(scan)(text, n, at, ends, room, pattern, FB_CL100K);
}

static size_t FB_FN(o200k)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                           const fb_pattern *pattern) {
    return FB_FN(scan)(text, n, at, ends, room, pattern, FB_O200K);
}

static size_t FB_FN(deepseek)(const uint8_t *text, size_t n, size_t *at, size_t *ends, size_t room,
                              const fb_pattern *pattern) {
    return FB_FN(scan)(text, n, at, ends, room, pattern, FB_DEEPSEEK);
}
