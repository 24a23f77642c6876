/* Find piece ends 64 bytes at a time, with vectors.
 *
 * scan.h includes this file once per instruction set. FB_FN(name) names the functions defined here, FB_V(name) the
 * functions for vectors that scan.h defines:
 *
 * - bytes: a vector of 64 bytes; load(p, n): the first n bytes from p, then zeros.
 * - Masks. below(v, first, count): bytes from first to first + count - 1. equal(v, byte). high(v): bytes from 0x80 on.
 *   members(row, low_six_bits(v)): bytes whose low six bits are the index of a set bit in `row`.
 * - put(out, base, bits): write base + i for each set bit i.
 *
 * piece_starts.h explains the masks.
 */
#include "piece_starts.h"

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

/* Look up all characters of a row at once, for up to n_rows rows; return the first bytes of the remaining
 * characters. */
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
 * If more than eight characters need a look-up, it classifies up to four rows at once, and then each remaining
 * character separately: this was fastest on multilingual text. Tried and dropped, because slower: a look-up with
 * branches for each character (faster only for Latin scripts); each character separately, without branches; only rows;
 * classes stored as bytes and read back as a vector; unrolled look-ups; masks for Cyrillic; this function out of
 * line. */
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
    /* Combine the bits of the class numbers, as in classes.h: FB_UPPER is 1, FB_LOWER 2, FB_LETTER 3 … */
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

/* The piece starts of a block, as FB_FN(starts_of) returns them. v: the first 64 bytes of the text, or all of it. */
FB_INLINE uint64_t FB_FN(starts)(const uint8_t *p, size_t n_left, FB_V(bytes) v, const fb_pattern *pattern,
                                 int family, int is_ascii, size_t *cut, int *done) {
    fb_masks m;
    size_t n = n_left < 64 ? n_left : 64;
    FB_FN(classify_ascii)(v, &m);
    if (!is_ascii) {
        m.high = FB_V(high)(v);
        m.more = FB_V(below)(v, 0x80, 64);
        n = FB_FN(classify_high)(p, n_left, n, v, &m, family);
        if (family == FB_O200K && (m.letter | m.mark)) n = FB_FN(known_o200k)(&m, n);
        fb_forget(&m, n);
    }
    return FB_FN(starts_of)(p, n_left, n, &m, pattern, family, cut, done);
}

/* Call `starts`, compiled once for blocks of ASCII, which makes them faster, and once for all other blocks. */
FB_INLINE uint64_t FB_FN(block)(const uint8_t *p, size_t n_left, const fb_pattern *pattern, int family,
                                    size_t *cut, int *done) {
    FB_V(bytes) v = FB_V(load)(p, n_left < 64 ? n_left : 64);
    if (FB_V(high)(v)) return FB_FN(starts)(p, n_left, v, pattern, family, 0, cut, done);
    return FB_FN(starts)(p, n_left, v, pattern, family, 1, cut, done);
}

#include "block_scan.h"
