/* Find the piece starts of a block of 64 bytes, by bit algebra over masks of its character classes.
 *
 * Included once per instruction set, by blocks.h or scalar_blocks.h, which make the masks. In all masks bit i belongs to
 * byte i, and all bytes of a character have the same bit. White space in the masks is ASCII, and so are numbers except
 * for gpt2, which does not count digits: so a shift by one bit leads to the next white space or digit.
 *
 * A block begins where a piece begins. No pattern looks back, so the text before a block does not matter, and no state
 * is carried over. The algebra finds the piece starts that the block alone decides. */

/* The bytes of the characters with the given first bytes. more: mask of the bytes that are not first bytes. */
FB_INLINE uint64_t FB_FN(whole)(uint64_t first, uint64_t more) {
    return first | (more & ~(more + (first << 1))); /* the carry runs through the bytes after a first byte */
}

/* Contractions at quotes that begin a piece: the letters belong to the quote, and a new piece begins after them.
 * known: reduced if the block ends before a contraction is certain. */
FB_INLINE uint64_t FB_FN(contract)(const uint8_t *p, size_t n, uint64_t starts, uint64_t quotes, size_t *known,
                                       int at_end, int fold) {
    for (uint64_t rest = quotes & starts; rest; rest &= rest - 1) {
        size_t at = (size_t)__builtin_ctzll(rest), found;
        if (at + 3 > n && !at_end) {
            *known = at;
            break;
        }
        found = fb_contraction(p, n, at, fold);
        if (found) {
            starts &= ~(fb_below(found) << at) | (uint64_t)1 << at;
            if (at + found < n) starts |= (uint64_t)1 << (at + found);
        }
    }
    return starts;
}

/* starts_gpt2, _cl100k, _o200k and _deepseek return the piece starts of the first n bytes, including bit 0.
 * known: reduced to the first byte that the block does not decide. at_end: the block reaches the end of the text. */
FB_INLINE uint64_t FB_FN(starts_gpt2)(const uint8_t *p, size_t n, const fb_masks * m, size_t *known,
                                          int at_end) {
    uint64_t valid = fb_below(n), letters = m->upper | m->lower | m->letter;
    uint64_t solid = valid & ~m->blank, other = solid & ~(letters | m->number);
    uint64_t runs = (letters & ~(letters << 1)) | (m->number & ~(m->number << 1)) | (other & ~(other << 1));
    uint64_t starts = (runs & ~(m->space << 1)) | (m->blank & ~(m->blank << 1)) | (m->blank & (solid >> 1));
    return FB_FN(contract)(p, n, starts | 1, m->quote, known, at_end, 0);
}

/* Newlines right after a run of other characters (for o200k also slashes among them); they belong to that run. */
FB_INLINE uint64_t FB_FN(taken)(uint64_t other, const fb_masks * m, int slashes) {
    uint64_t first = m->newline & (other << 1), run, taken = 0;
    /* Two carries, as in FB_FN(whole). A slash matters only after a newline; before it, it is in `other`. */
    if (!slashes || !(m->slash & (m->newline << 1))) return m->newline & ~(m->newline + first);
    run = m->newline | m->slash;
    while (first) {
        uint64_t from = run & ~((first & -first) - 1);
        uint64_t here = from & ~(from + (first & -first));
        taken |= here;
        first &= ~here;
    }
    return taken;
}

/* Piece starts in white space: at its beginning, after the last newline, and at the last character before a
 * non-space. */
FB_INLINE uint64_t FB_FN(blank_starts)(uint64_t blank, uint64_t newline, uint64_t solid) {
    uint64_t plain = blank & ~newline;
    uint64_t behind = plain & (newline << 1);              /* starts of plain runs after a newline … */
    uint64_t closed = (plain + behind) & ~plain & newline; /* … and newlines that end such a run: it was not the last */
    for (; closed; closed &= closed - 1) {
        uint64_t before = behind & ((closed & -closed) - 1);
        behind &= ~((uint64_t)1 << (63 - __builtin_clzll(before)));
    }
    return (blank & ~(blank << 1)) | behind | (plain & (solid >> 1));
}

/* Piece starts in numbers: every n_digits digits. Requires: n_digits < 64, because masks are shifted by it. */
FB_INLINE uint64_t FB_FN(group_numbers)(uint64_t number, int n_digits) {
    uint64_t first = number & ~(number << 1), starts = first, whole = number;
    if (n_digits == 0 || !number) return starts;
    if (n_digits == 1) return number;
    for (int k = 1; k < n_digits; k++) whole &= number << k; /* a whole group ends after this digit */
    while ((first = (first << n_digits) & number & (whole << 1))) starts |= first;
    return starts;
}

/* Drop the starts inside white space that reaches the end of the text: it is one piece. */
FB_INLINE uint64_t FB_FN(one_end)(uint64_t starts, uint64_t blank, size_t n) {
    uint64_t before = fb_below(n) & ~blank;
    size_t first = before ? 64 - (size_t)__builtin_clzll(before) : 0;
    return first >= 63 ? starts : starts & (((uint64_t)2 << first) - 1);
}

FB_INLINE uint64_t FB_FN(starts_cl100k)(const uint8_t *p, size_t n, const fb_masks * m, size_t *known,
                                            int at_end, const fb_pattern *pattern) {
    uint64_t valid = fb_below(n), letters = m->upper | m->lower | m->letter;
    uint64_t solid = valid & ~m->blank, other = solid & ~(letters | m->number);
    uint64_t taken = FB_FN(taken)(other, m, 0);
    uint64_t blank = m->blank & ~taken, newline = m->newline & ~taken;
    uint64_t other_start = other & ~(other << 1) & ~(m->space << 1);
    /* A single other character, or white space except a newline, belongs to the letters after it. */
    uint64_t lone = FB_FN(whole)(other_start, m->more);
    uint64_t starts = FB_FN(blank_starts)(blank, newline, solid) | other_start |
                      (letters & ~(letters << 1) & ~((lone | (blank & ~newline)) << 1)) |
                      FB_FN(group_numbers)(m->number, pattern->n_digits) | 1;
    if (at_end && pattern->end_is_one_piece) starts = FB_FN(one_end)(starts, blank, n);
    if (!pattern->contractions) return starts;
    return FB_FN(contract)(p, n, starts, m->quote, known, at_end, 1);
}

/* Contractions after a word, which end it. One that directly follows another is a separate piece. */
FB_INLINE uint64_t FB_FN(suffix)(const uint8_t *p, size_t n, uint64_t starts, uint64_t quotes, size_t *known,
                                     int at_end) {
    size_t last_end = 0;
    for (uint64_t rest = quotes; rest; rest &= rest - 1) {
        size_t at = (size_t)__builtin_ctzll(rest), found;
        if (at == last_end) continue;
        if (at + 3 > n && !at_end) {
            *known = at;
            return starts & fb_below(at); /* unlike in contract(), a contraction makes `at` itself no start */
        }
        found = fb_contraction(p, n, at, 1);
        if (found) {
            last_end = at + found;
            starts &= ~(fb_below(found) << at);
            if (last_end < n) starts |= (uint64_t)1 << last_end;
        }
    }
    return starts;
}

FB_INLINE uint64_t FB_FN(starts_o200k)(const uint8_t *p, size_t n, const fb_masks * m, size_t *known,
                                           int at_end, const fb_pattern *pattern) {
    uint64_t valid = fb_below(n), words = m->upper | m->lower | m->letter | m->mark;
    uint64_t solid = valid & ~m->blank, other = solid & ~(words | m->number);
    uint64_t taken = FB_FN(taken)(other, m, 1);
    uint64_t blank = m->blank & ~taken, newline = m->newline & ~taken;
    other &= ~taken;
    uint64_t other_start = other & ~(other << 1) & ~(m->space << 1);
    uint64_t lone = FB_FN(whole)(other_start, m->more);
    uint64_t starts = FB_FN(blank_starts)(blank, newline, solid) | other_start |
                      (words & ~(words << 1) & ~((lone | (blank & ~newline)) << 1)) |
                      (m->upper & (m->lower << 1)) | FB_FN(group_numbers)(m->number, pattern->n_digits) | 1;
    if (!pattern->contractions) return starts;
    return FB_FN(suffix)(p, n, starts, m->quote & (words << 1), known, at_end);
}

/* The first byte that the algebra of o200k does not cover, or n. It does not cover a mark after an "other"
 * character (it may be a word), or an upper-case letter after a caseless one (a lower-case one may precede it). */
FB_INLINE size_t FB_FN(known_o200k)(const fb_masks * m, size_t n) {
    uint64_t caseless = m->letter | m->mark;
    uint64_t other = ~(caseless | m->upper | m->lower | m->number | m->blank);
    uint64_t hard = (m->mark & (other << 1)) | (m->upper & (caseless << 1));
    hard &= fb_below(n) & ~(uint64_t)1;
    return hard ? (size_t)__builtin_ctzll(hard) : n;
}

FB_INLINE uint64_t FB_FN(starts_deepseek)(const fb_masks *m, const fb_pattern *pattern) {
    uint64_t words = m->upper | m->lower | m->letter | m->mark;
    uint64_t sign = m->graph & ~(words | m->number);
    uint64_t taken = FB_FN(taken)(sign, m, 0);
    uint64_t blank = m->blank & ~taken, newline = m->newline & ~taken;
    uint64_t sign_start = sign & ~(sign << 1) & ~(m->space << 1);
    /* A single ASCII sign belongs to the ASCII letters after it, and to no other letters. */
    uint64_t plain = (m->upper | m->lower) & ~m->high;
    uint64_t joined = plain & ((sign_start & ~m->high) << 1);
    /* The carry runs through these letters. A letter outside ASCII after them begins a piece. */
    uint64_t after_joined = (plain + joined) & ~plain & words;
    return FB_FN(blank_starts)(blank, newline, words | sign) | sign_start | after_joined |
           (words & ~(words << 1) & ~joined & ~((blank & ~newline) << 1)) | (m->east & ~(m->east << 1)) |
           FB_FN(group_numbers)(m->number, pattern->n_digits) | 1;
}

/* The piece starts of a block, including bit 0.
 * p, n_left: the text from the block on.
 * n, m: number of its bytes whose classes are known, at most 64, and their masks.
 * cut: receives the last start that is certain, unless `done`.
 * done: receives whether these bytes reach the end of the text. */
FB_INLINE uint64_t FB_FN(starts_of)(const uint8_t *p, size_t n_left, size_t n, fb_masks *m, const fb_pattern *pattern,
                                    int family, size_t *cut, int *done) {
    size_t known;
    if (family == FB_DEEPSEEK) { /* controls: pieces.h splits them */
        uint64_t known_classes = m->graph | m->blank | m->east | m->upper | m->lower | m->letter | m->mark | m->number;
        uint64_t controls = fb_below(n) & ~known_classes;
        if (controls) {
            n = (size_t)__builtin_ctzll(controls);
            fb_forget(m, n);
        }
    }
    *done = n == n_left;
    known = n;
    if (!*done) { /* in white space at the end of the block, only the beginning is certain */
        uint64_t solid = fb_below(n) & ~m->blank;
        known = solid ? 64 - (size_t)__builtin_clzll(solid) : 0;
    }
    size_t n_decided = n;
    uint64_t starts = family == FB_GPT2     ? FB_FN(starts_gpt2)(p, n, m, &n_decided, *done)
                      : family == FB_CL100K ? FB_FN(starts_cl100k)(p, n, m, &n_decided, *done, pattern)
                      : family == FB_O200K  ? FB_FN(starts_o200k)(p, n, m, &n_decided, *done, pattern)
                                            : FB_FN(starts_deepseek)(m, pattern);
    if (*done) return starts;
    if (n_decided < known) known = n_decided;
    starts &= known >= 63 ? ~(uint64_t)0 : ((uint64_t)2 << known) - 1;
    *cut = 63 - (size_t)__builtin_clzll(starts | 1);
    return starts;
}
