/* Reading one character of UTF-8. Bytes that are not UTF-8 are read as characters, too, so that a walk over them ends
 * where the text does: a lead byte takes as many bytes as it announces, a continuation byte is a character by itself,
 * as in sentencepiece. */
#ifndef FASTBPE_UTF8_H
#define FASTBPE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The number of bytes of a character with this lead byte. */
static inline size_t fb_char_bytes(uint8_t lead) { return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

/* The last position up to which a walk from any character to the next stays in the text, wherever it begins. It is
 * n if the text is UTF-8; otherwise at most a few bytes, or a run of lead bytes, come after it. */
static inline size_t fb_whole_end(const uint8_t *text, size_t n) {
    size_t end, k;
    do {
        end = n;
        for (k = 1; k <= 3 && k <= end; k++)
            if (fb_char_bytes(text[end - k]) > k) n = end - k;
    } while (n < end);
    return n;
}

/* Decode the character at p: return its code point, store its length in bytes in *n_bytes. Requires: as many bytes at
 * p as fb_char_bytes returns. Ensures: the result is at most 0x10FFFF. */
static inline uint32_t fb_char(const uint8_t *p, size_t *n_bytes) {
    uint32_t lead = p[0];
    uint32_t c;
    if (lead < 0xC0) return *n_bytes = 1, lead;
    if (lead < 0xE0) return *n_bytes = 2, (lead & 0x1F) << 6 | (p[1] & 0x3F);
    if (lead < 0xF0) return *n_bytes = 3, (lead & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    *n_bytes = 4;
    c = (lead & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    return c > 0x10FFFF ? 0xFFFD : c;
}

/* Do the same for a character at p of which only n_left bytes may exist: an incomplete one is U+FFFD. */
static inline uint32_t fb_char_within(const uint8_t *p, size_t n_left, size_t *n_bytes) {
    if (fb_char_bytes(p[0]) <= n_left) return fb_char(p, n_bytes);
    *n_bytes = n_left;
    return 0xFFFD;
}

#endif
