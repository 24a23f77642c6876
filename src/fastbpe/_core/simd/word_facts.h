/* Facts about a vocabulary that decide where text can be split in code-point mode: see words.h. */
#ifndef FASTBPE_WORD_FACTS_H
#define FASTBPE_WORD_FACTS_H

#include <stdint.h>

#include "hashing.h"

/* Facts about the tokens of a vocabulary. A space stands for U+2581 if the text has spaces in its place. */
typedef struct {
    uint64_t within[128][2];   /* [c], bits by ASCII character: it may follow c inside a token; if by_words, as far as
                                * has_behind and has_before tell, so that all kernels split alike */
    const uint8_t *has_behind; /* bits by code point: inside some token another character follows it */
    const uint8_t *has_before; /* bits by code point: inside some token it follows another character */
    const uint64_t *pairs;     /* bits by fb_pair_bit: the two characters, one of them from U+0800 on, may be adjacent
                                * inside a token */
    uint32_t pair_shift;       /* 64 - log2 of the number of these bits */
    uint32_t space_too;        /* a character that also stands for a space, or 0x20 */
    int by_words;              /* inside a token a space follows only spaces: words are hardly ever split further */
    uint8_t before[16];        /* if by_words: bit (c >> 4) of byte (c & 15): a piece begins before ASCII character c */
    uint8_t behind[16];        /* the same: a piece ends after c */
} fb_words;

/* The index of a pair's bit: Fibonacci hashing. Different pairs may share a bit, which then allows both. */
static inline uint64_t fb_pair_bit(uint32_t c, uint32_t next, uint32_t shift) {
    return (((uint64_t)c << 21 | next) * FB_GOLDEN_RATIO) >> shift;
}

#endif
