/* Classes of characters for the split patterns, and reading of UTF-8, for all scanners.
 *
 * All functions require that the text has as many bytes of the character as fb_char_bytes returns, and read no byte
 * after it. Bytes that are not UTF-8 get an arbitrary class.
 */
#ifndef FASTBPE_CLASSES_H
#define FASTBPE_CLASSES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unicode_tables.h"
#include "utf8.h"

/* Classes. setup.py writes the same numbers into unicode_tables.h, three bits each; newlines are ASCII and not in the
 * rows. */
enum {
    FB_OTHER = 0,  /* none of the following: controls, unassigned, private use, … */
    FB_UPPER = 1,  /* Lu, Lt */
    FB_LOWER = 2,  /* Ll */
    FB_LETTER = 3, /* Lm, Lo: letters without case */
    FB_MARK = 4,   /* M */
    FB_NUMBER = 5, /* N */
    FB_SPACE = 6,  /* White_Space except newlines */
    FB_SIGN = 7,   /* P, S */
    FB_NEWLINE = 8 /* CR, LF */
};

/* Sets of classes: bit c stands for class c. */
#define FB_IS(cls, set) (((set) >> (cls)) & 1u)
#define FB_SET(cls) (1u << (cls))
#define FB_LETTERS (FB_SET(FB_UPPER) | FB_SET(FB_LOWER) | FB_SET(FB_LETTER))
#define FB_LETTERS_AND_NUMBERS (FB_LETTERS | FB_SET(FB_NUMBER))
#define FB_OTHERS (FB_SET(FB_OTHER) | FB_SET(FB_SIGN))
#define FB_BLANKS (FB_SET(FB_SPACE) | FB_SET(FB_NEWLINE))

/* The UTF-8 of a character outside ASCII as a number, first byte in the low bits. Requires: n_bytes > 1. */
static inline uint32_t fb_word_at(const uint8_t *p, size_t n_bytes) {
    uint32_t word = p[0] | (uint32_t)p[1] << 8;
    if (n_bytes > 2) word |= (uint32_t)p[2] << 16;
    if (n_bytes > 3) word |= (uint32_t)p[3] << 24;
    return word;
}

/* The row of a character outside ASCII, without branches. A row has the classes of the 64 characters whose UTF-8
 * differs only in the last byte: bit i of row[k] is bit k of the class of the character whose last byte is 0x80 + i.
 * word: the character's UTF-8, as fb_word_at returns it; bytes after it may be set.
 *
 * An item of fb_row_index is one byte, so the numbers of the rows beyond U+FFFF (characters of four bytes) begin at 0
 * again. These rows follow the others in fb_rows. */
static inline const uint64_t *fb_row_of(uint32_t word, size_t n_bytes) {
    size_t three = (word & 0x0F) << 6 | (word >> 8 & 0x3F), four = three << 6 | (word >> 16 & 0x3F);
    if (four - 0x400 >= sizeof fb_row_index - 0x400) four = 0x400; /* not UTF-8: overlong, or beyond U+10FFFF */
    size_t row = n_bytes == 2 ? word & 0x1F : n_bytes == 3 ? three : four;
    return fb_rows[fb_row_index[row] + (n_bytes == 4) * FB_BMP_ROWS];
}

/* The last six bits of a character. */
static inline unsigned fb_last_bits(uint32_t word, size_t n_bytes) { return word >> (8 * n_bytes - 8) & 0x3F; }

/* The class of character i of a row. */
static inline unsigned fb_class_in(const uint64_t *row, unsigned i) {
    return (row[0] >> i & 1) | (row[1] >> i & 1) << 1 | (row[2] >> i & 1) << 2;
}

/* The class of a code point. */
static inline unsigned fb_class_of(uint32_t code_point) {
    if (code_point < 0x80) return fb_ascii_classes[code_point];
    size_t row = fb_row_index[code_point >> 6] + (code_point >= 0x10000) * FB_BMP_ROWS;
    return fb_class_in(fb_rows[row], code_point & 0x3F);
}

/* The class of the character that begins at p. n_bytes: receives its length. */
static inline unsigned fb_class_at(const uint8_t *p, size_t *n_bytes) {
    *n_bytes = fb_char_bytes(p[0]);
    if (*n_bytes == 1) return fb_ascii_classes[p[0]];
    uint32_t word = fb_word_at(p, *n_bytes);
    return fb_class_in(fb_row_of(word, *n_bytes), fb_last_bits(word, *n_bytes));
}

/* Tell whether the character at p is kana or Han as DeepSeek's pattern defines them: U+3040-30FF, U+4E00-9FA5. */
static inline int fb_is_east_asian(const uint8_t *p) {
    if (p[0] < 0xE3 || p[0] > 0xE9) return 0;
    uint32_t bytes = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return (bytes >= 0xE38180 && bytes <= 0xE383BF) || (bytes >= 0xE4B880 && bytes <= 0xE9BEA5);
}

/* The end of the run of characters of these classes that begins at i; i if the run is empty. */
static inline size_t fb_run(const uint8_t *text, size_t n, size_t i, unsigned set) {
    size_t n_bytes;
    while (i < n && FB_IS(fb_class_at(text + i, &n_bytes), set)) i += n_bytes;
    return i;
}

/* The length of an English contraction ('s 't 'm 'd 'll 've 're) at i, which is an apostrophe; 0 if no contraction
 * begins there. fold: ignore case, like Unicode case folding: the long s, U+017F, is an s; no other character
 * outside ASCII folds to one of these letters. */
static inline size_t fb_contraction(const uint8_t *text, size_t n, size_t i, int fold) {
    if (n - i < 2) return 0;
    uint8_t a = text[i + 1], b;
    if (fold) {
        if (a == 0xC5 && n - i >= 3 && text[i + 2] == 0xBF) return 3;
        if ((uint8_t)((a | 0x20) - 'a') < 26) a |= 0x20;
    }
    switch (a) {
    case 's': case 't': case 'm': case 'd':
        return 2;
    case 'l': case 'v': case 'r':
        if (n - i < 3) return 0;
        b = text[i + 2];
        if (fold && (uint8_t)((b | 0x20) - 'a') < 26) b |= 0x20;
        return b == (a == 'l' ? 'l' : 'e') ? 3 : 0;
    default:
        return 0;
    }
}

#endif
