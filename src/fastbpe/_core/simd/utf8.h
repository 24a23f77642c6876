/* Reading one character of valid UTF-8. */
#ifndef FASTBPE_UTF8_H
#define FASTBPE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decode the character at p: return its code point, store its length in bytes in *n_bytes. Requires: valid UTF-8
   at p. */
static inline uint32_t fb_char(const uint8_t *p, size_t *n_bytes) {
    uint32_t lead = p[0];
    if (lead < 0x80) return *n_bytes = 1, lead;
    if (lead < 0xE0) return *n_bytes = 2, (lead & 0x1F) << 6 | (p[1] & 0x3F);
    if (lead < 0xF0) return *n_bytes = 3, (lead & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    *n_bytes = 4;
    return (lead & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

#endif
