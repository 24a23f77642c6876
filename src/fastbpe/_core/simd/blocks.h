/* Find piece ends 64 bytes at a time, by bit algebra over masks of character classes.
 *
 * scan.h includes this file once per instruction set. FB_FN(name) names the functions defined here, FB_V(name) the
 * functions for vectors that scan.h defines:
 *
 * - bytes: a vector of 64 bytes; load(p, n): the first n bytes from p, then zeros.
 * - Masks. below(v, first, count): bytes from first to first + count - 1. equal(v, byte). high(v): bytes from 0x80 on.
 *   members(row, low_six_bits(v)): bytes whose low six bits are the index of a set bit in `row`.
 * - put(out, base, bits): write base + i for each set bit i.
 *
 * A block begins where a piece begins. No pattern looks back, so the text before a block does not matter, and no state
 * is carried over. The algebra finds the piece starts that the block alone decides; the next block begins at the last
 * of them (unaligned loads are cheap; about 7 bytes of 64 are read twice). If a block decides nothing, pieces.h finds
 * one end.
 *
 * In all masks bit i belongs to byte i, and all bytes of a character have the same bit.
 */
/* Fill the masks for ASCII; other characters have no bits. */
FB_INLINE void FB_FN(classify_ascii)(FB_V(bytes) v, fb_masks *m) {
    memset(m, 0, sizeof *m);
    m->upper = FB_V(below)(v, 'A', 26);
    m->lower = FB_V(below)(v, 'a', 26);
    m->number = FB_V(below)(v, '0', 10);
    m->space = FB_V(equal)(v, ' ');
    m->blank = m->space | FB_V(below)(v, 9, 5);
    m->newline = FB_V(equal)(v, '\n') | FB_V(equal)(v, '\r');
    m->quote = FB_V(equal)(v, '\'');
    m->slash = FB_V(equal)(v, '/');
    m->graph = FB_V(below)(v, '!', 94);
}

/* The bytes of the characters with the given first bytes. more: mask of the bytes that are not first bytes. */
FB_INLINE uint64_t FB_FN(whole)(uint64_t first, uint64_t more) {
    return first | (more & ~(more + (first << 1))); /* the carry runs through the bytes after a first byte */
}

/* First bytes of kana and Han, as in fb_is_east_asian. */
FB_INLINE uint64_t FB_FN(east_asian)(FB_V(bytes) v) {
    uint64_t kana = FB_V(equal)(v, 0xE3) & FB_V(below)(v, 0x81, 3) >> 1;
    uint64_t from_e4 = FB_V(equal)(v, 0xE4) & FB_V(below)(v, 0xB8, 8) >> 1;
    uint64_t in_be = FB_V(equal)(v, 0xBE) >> 1 & FB_V(below)(v, 0x80, 38) >> 2;
    uint64_t up_to_e9 = FB_V(equal)(v, 0xE9) & (FB_V(below)(v, 0x80, 62) >> 1 | in_be);
    return kana | from_e4 | FB_V(below)(v, 0xE5, 4) | up_to_e9;
}

/* First bytes of caseless letters that two bytes identify: U+4000-9FFF except 4DC0-4DFF, U+AC00-D77F. */
FB_INLINE uint64_t FB_FN(han_hangul)(FB_V(bytes) v) {
    return FB_V(below)(v, 0xE5, 5) | FB_V(below)(v, 0xEB, 2) |
           (FB_V(equal)(v, 0xE4) & ~(FB_V(equal)(v, 0xB7) >> 1)) |
           (FB_V(equal)(v, 0xEA) & FB_V(below)(v, 0xB0, 16) >> 1) |
           (FB_V(equal)(v, 0xED) & FB_V(below)(v, 0x80, 30) >> 1);
}

/* Classes of characters outside ASCII: bit[k] has bit k of each class, at the first byte of the character. */
typedef struct {
    uint64_t bit[3];
} FB_FN(bits_of_classes);

/* Look up one character after another, without a branch that depends on the character. */
FB_INLINE void FB_FN(look_up_each)(const uint8_t *p, uint64_t first, FB_FN(bits_of_classes) * found) {
    for (; first; first &= first - 1) {
        size_t at = (size_t)__builtin_ctzll(first), n_bytes;
        uint32_t word;
        memcpy(&word, p + at, sizeof word);
        n_bytes = 2 + ((word & 0xFF) >= 0xE0) + ((word & 0xFF) >= 0xF0);
        const uint64_t *row = fb_row_of(word, n_bytes);
        unsigned i = fb_last_bits(word, n_bytes);
        for (int k = 0; k < 3; k++) found->bit[k] |= (row[k] >> i & 1) << at;
    }
}

/* Look up all characters of a row at once, for up to n_rows rows; return the first bytes of the remaining ones. */
FB_INLINE uint64_t FB_FN(look_up_rows)(const uint8_t *p, uint64_t first, int n_rows, FB_V(bytes) v,
                                           FB_FN(bits_of_classes) * found) {
    FB_V(sixes) last = FB_V(low_six_bits)(v);
    for (int n = 0; n < n_rows && first; n++) {
        size_t at = (size_t)__builtin_ctzll(first), n_bytes = fb_char_bytes(p[at]);
        const uint64_t *row = fb_row_of(fb_word_at(p + at, n_bytes), n_bytes);
        uint64_t same = FB_V(equal)(v, p[at]) & first;
        if (n_bytes >= 3) same &= FB_V(equal)(v, p[at + 1]) >> 1;
        if (n_bytes == 4) same &= FB_V(equal)(v, p[at + 2]) >> 2;
        for (int k = 0; k < 3; k++) found->bit[k] |= same & FB_V(members)(row[k], last) >> (n_bytes - 1);
        first &= ~same;
    }
    return first;
}

/* Classify the characters outside ASCII. Returns the number of bytes of the block before the first character that is
 * incomplete or that the algebra on masks does not cover. It does not cover white space outside ASCII; numbers
 * (except for gpt2); and for deepseek, characters without a class and kana that are not letters.
 *
 * It classifies up to four rows at once, and then each remaining character separately: this was fastest on
 * multilingual text. Tried and dropped, because slower: a look-up with branches for each character (faster only for
 * Latin scripts); each character separately, without branches; only rows; classes stored as bytes and read back as a
 * vector; unrolled look-ups; masks for Cyrillic; this function out of line. */
FB_INLINE size_t FB_FN(classify_high)(const uint8_t *p, size_t n_left, size_t n, FB_V(bytes) v, fb_masks *m,
                                          int family) {
    uint8_t tail[68];
    FB_FN(bits_of_classes) found = {{0, 0, 0}};
    uint64_t more = m->more, letter = 0;
    /* First bytes of characters that end in the next block. */
    uint64_t cut = (uint64_t)1 << 63 | ((uint64_t)1 << 62 & FB_V(below)(v, 0xE0, 32)) |
                   ((uint64_t)1 << 61 & FB_V(below)(v, 0xF0, 16));
    uint64_t first = m->high & ~more, cut_first = first & cut;
    first &= ~cut;
    if (FB_V(below)(v, 0xE4, 10)) letter = FB_FN(han_hangul)(v) & first;
    uint64_t rest = first & ~letter;
    if (n_left < 68) { /* look_up_each reads four bytes per character, even after the block */
        memset(tail, 0, sizeof tail);
        memcpy(tail, p, n_left);
        p = tail;
    }
    if (__builtin_popcountll(rest) > 8) rest = FB_FN(look_up_rows)(p, rest, 4, v, &found);
    FB_FN(look_up_each)(p, rest, &found);
    uint64_t bit0 = found.bit[0], bit1 = found.bit[1], bit2 = found.bit[2];
    uint64_t upper = bit0 & ~bit1 & ~bit2, lower = bit1 & ~bit0 & ~bit2, mark = bit2 & ~bit1 & ~bit0;
    uint64_t number = bit2 & bit0 & ~bit1, stop = cut_first | (bit2 & bit1 & ~bit0);
    letter |= bit0 & bit1 & ~bit2;
    if (family == FB_GPT2)
        m->number |= FB_FN(whole)(number, more);
    else
        stop |= number;
    if (family == FB_DEEPSEEK) {
        uint64_t sign = bit0 & bit1 & bit2, east = FB_V(below)(v, 0xE3, 7);
        if (east) east = FB_FN(east_asian)(v) & first;
        stop |= (east & ~letter) | (first & ~(upper | lower | letter | mark | sign));
        letter &= ~east;
        m->east = FB_FN(whole)(east, more);
        m->graph |= FB_FN(whole)(sign, more);
    }
    m->upper |= FB_FN(whole)(upper, more);
    m->lower |= FB_FN(whole)(lower, more);
    m->letter = FB_FN(whole)(letter, more);
    m->mark = FB_FN(whole)(mark, more);
    return stop ? (size_t)__builtin_ctzll(stop) : n;
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

/* Piece starts in numbers: every n_digits digits. */
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
            return starts & fb_below(at);
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

/* The first byte that the algebra of o200k does not cover, or n: a mark after an other character (it may be a word), or
 * an upper-case letter after a caseless one (there may be a lower-case one before it). */
FB_INLINE size_t FB_FN(known_o200k)(const fb_masks * m, size_t n) {
    uint64_t caseless = m->letter | m->mark;
    uint64_t other = ~(caseless | m->upper | m->lower | m->number | m->blank);
    uint64_t hard = (m->mark & (other << 1)) | (m->upper & (caseless << 1));
    hard &= fb_below(n) & ~(uint64_t)1;
    return hard ? (size_t)__builtin_ctzll(hard) : n;
}

FB_INLINE uint64_t FB_FN(starts_deepseek)(size_t n, const fb_masks *m, const fb_pattern *pattern) {
    uint64_t valid = fb_below(n), words = m->upper | m->lower | m->letter | m->mark;
    uint64_t sign = m->graph & ~(words | m->number);
    uint64_t taken = FB_FN(taken)(sign, m, 0);
    uint64_t blank = m->blank & ~taken, newline = m->newline & ~taken;
    uint64_t sign_start = sign & ~(sign << 1) & ~(m->space << 1);
    /* A single ASCII sign belongs to the ASCII letters after it, and to no other letters. */
    uint64_t plain = (m->upper | m->lower) & ~m->high & valid;
    uint64_t joined = plain & ((sign_start & ~m->high) << 1);
    uint64_t rest = (plain + joined) & ~plain & words;
    return FB_FN(blank_starts)(blank, newline, words | sign) | sign_start | rest |
           (words & ~(words << 1) & ~joined & ~((blank & ~newline) << 1)) | (m->east & ~(m->east << 1)) |
           FB_FN(group_numbers)(m->number, pattern->n_digits) | 1;
}

/* The piece starts of a block, including bit 0.
 * p, n_left: the text from the block on; v: its first 64 bytes, or all of it.
 * cut: receives the last start that is certain, unless `done`.
 * done: receives whether the block reaches the end of the text. */
FB_INLINE uint64_t FB_FN(starts)(const uint8_t *p, size_t n_left, FB_V(bytes) v, const fb_pattern *pattern,
                                 int family, int is_ascii, size_t *cut, int *done) {
    fb_masks m;
    size_t n = n_left < 64 ? n_left : 64, known;
    FB_FN(classify_ascii)(v, &m);
    if (!is_ascii) {
        m.high = FB_V(high)(v);
        m.more = FB_V(below)(v, 0x80, 64);
        n = FB_FN(classify_high)(p, n_left, n, v, &m, family);
        if (family == FB_O200K && (m.letter | m.mark)) n = FB_FN(known_o200k)(&m, n);
        fb_forget(&m, n);
    }
    if (family == FB_DEEPSEEK) { /* controls: pieces.h splits them */
        uint64_t known_classes = m.graph | m.blank | m.east | m.upper | m.lower | m.letter | m.mark | m.number;
        uint64_t controls = fb_below(n) & ~known_classes;
        if (controls) {
            n = (size_t)__builtin_ctzll(controls);
            fb_forget(&m, n);
        }
    }
    *done = n == n_left;
    known = n;
    if (!*done) { /* in white space at the end of the block, only the beginning is certain */
        uint64_t solid = fb_below(n) & ~m.blank;
        known = solid ? 64 - (size_t)__builtin_clzll(solid) : 0;
    }
    size_t shown = n;
    uint64_t starts = family == FB_GPT2     ? FB_FN(starts_gpt2)(p, n, &m, &shown, *done)
                      : family == FB_CL100K ? FB_FN(starts_cl100k)(p, n, &m, &shown, *done, pattern)
                      : family == FB_O200K  ? FB_FN(starts_o200k)(p, n, &m, &shown, *done, pattern)
                                            : FB_FN(starts_deepseek)(n, &m, pattern);
    if (*done) return starts;
    if (shown < known) known = shown;
    starts &= known >= 63 ? ~(uint64_t)0 : ((uint64_t)2 << known) - 1;
    starts &= fb_below(n);
    *cut = 63 - (size_t)__builtin_clzll(starts | 1);
    return starts;
}

/* Call `starts`, compiled for each of the two kinds of blocks, which makes ASCII faster. */
FB_INLINE uint64_t FB_FN(block)(const uint8_t *p, size_t n_left, const fb_pattern *pattern, int family,
                                    size_t *cut, int *done) {
    FB_V(bytes) v = FB_V(load)(p, n_left < 64 ? n_left : 64);
    if (FB_V(high)(v)) return FB_FN(starts)(p, n_left, v, pattern, family, 0, cut, done);
    return FB_FN(starts)(p, n_left, v, pattern, family, 1, cut, done);
}

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
        n_ends += FB_V(put)(ends + n_ends, base, starts & ~(uint64_t)1);
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
