/* What decides where text made of code points may be cut; see words.h. */
#ifndef FASTBPE_WORD_FACTS_H
#define FASTBPE_WORD_FACTS_H

#include <stdint.h>

#include "fibonacci.h"

/* Facts about the tokens of a vocabulary. Bits stand for code points; a space for what it stands for in the text. */
typedef struct {
    uint64_t within[128][2];   /* ASCII: what may follow a character within a token, more where that costs less */
    const uint8_t *has_behind; /* by code point: within some token another character follows */
    const uint8_t *has_before; /* by code point: within some token it follows another */
    const uint64_t *pairs;     /* a bit for the hash of each two that follow each other within a token */
    uint32_t pair_shift;       /* 64 - log2 of those bits */
    uint32_t space_too;        /* a character that stands for a space as well, or 0x20 */
    int by_words;              /* a space follows nothing but spaces within a token: what lies between is hardly cut */
    uint8_t before[16];        /* by_words: what is cut before, in bit (c >> 4) of byte (c & 15) */
    uint8_t behind[16];        /* by_words: what is cut behind */
} fb_words;

static inline uint64_t fb_pair_bit(uint32_t c, uint32_t next, uint32_t shift) {
    return (((uint64_t)c << 21 | next) * FB_FIBONACCI) >> shift;
}

#endif
