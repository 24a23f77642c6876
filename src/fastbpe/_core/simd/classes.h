/* What a character is to a split pattern, and the reading of UTF-8 that every scanner shares.
 *
 * The text is valid UTF-8: nothing here checks it, and nothing reads past a character that begins inside it.
 */
#ifndef FASTBPE_CLASSES_H
#define FASTBPE_CLASSES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unicode_tables.h"

/* The numbers are those that tools/gen_unicode_tables.py writes into the tables. */
enum {
    FB_OTHER = 0,  /* none of the below: controls, unassigned, private use, … */
    FB_UPPER = 1,  /* Lu, Lt */
    FB_LOWER = 2,  /* Ll */
    FB_LETTER = 3, /* Lm, Lo: letters without case */
    FB_MARK = 4,   /* M */
    FB_NUMBER = 5, /* N */
    FB_SPACE = 6,  /* White_Space but for the two below */
    FB_NEWLINE = 7, /* CR, LF */
    FB_SIGN = 8    /* P, S */
};

#define FB_IS(cls, set) (((set) >> (cls)) & 1u)
#define FB_SET(cls) (1u << (cls))
#define FB_LETTERS (FB_SET(FB_UPPER) | FB_SET(FB_LOWER) | FB_SET(FB_LETTER))
#define FB_OTHERS (FB_SET(FB_OTHER) | FB_SET(FB_SIGN))
#define FB_BLANKS (FB_SET(FB_SPACE) | FB_SET(FB_NEWLINE))

static inline size_t fb_char_bytes(uint8_t lead) {
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static inline unsigned fb_class_of(uint32_t code_point) {
    return fb_class_blocks[((size_t)fb_class_index[code_point >> FB_BLOCK_BITS] << FB_BLOCK_BITS) |
                           (code_point & ((1u << FB_BLOCK_BITS) - 1))];
}

/* The class of the character that starts at p; its length in bytes goes to *n_bytes. */
static inline unsigned fb_class_at(const uint8_t *p, size_t *n_bytes) {
    uint32_t lead = p[0];
    if (lead < 0x80) {
        *n_bytes = 1;
        return fb_class_of(lead);
    }
    if (lead < 0xE0) {
        *n_bytes = 2;
        return fb_class_of((lead & 0x1F) << 6 | (p[1] & 0x3Fu));
    }
    if (lead < 0xF0) {
        *n_bytes = 3;
        return fb_class_of((lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu));
    }
    *n_bytes = 4;
    return fb_class_of((lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu));
}

/* Whether the character at p is kana or Han as DeepSeek's pattern has them: U+3040-30FF, U+4E00-9FA5. */
static inline int fb_is_east_asian(const uint8_t *p) {
    if (p[0] < 0xE3 || p[0] > 0xE9) return 0;
    uint32_t bytes = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return (bytes >= 0xE38180 && bytes <= 0xE383BF) || (bytes >= 0xE4B880 && bytes <= 0xE9BEA5);
}

/* The end of the run of characters of these classes that starts at i. */
static inline size_t fb_run(const uint8_t *text, size_t n, size_t i, unsigned set) {
    size_t n_bytes;
    while (i < n && FB_IS(fb_class_at(text + i, &n_bytes), set)) i += n_bytes;
    return i;
}

/* The bytes of an apostrophe's contraction ('s 't 'm 'd 'll 've 're) at i, or 0. Folding as in Unicode: the long
 * s, U+017F, is an s; no other character outside ASCII folds to one of these letters. */
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
