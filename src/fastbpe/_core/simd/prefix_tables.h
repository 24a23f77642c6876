/* The tables of prefixes.h, for modules that contain them but do not search, and so compile without intrinsics. */
#ifndef FASTBPE_PREFIX_TABLES_H
#define FASTBPE_PREFIX_TABLES_H

#include <stdint.h>

#define FB_PREFIX 3 /* bytes of a string that are compared */

/* Bit g of an entry: some string of group g may have a byte of this value, or with this nibble, at this offset. */
typedef struct {
    uint8_t bytes[FB_PREFIX][256];
    uint8_t low[FB_PREFIX][16], high[FB_PREFIX][16]; /* [offset][low or high nibble of the byte] */
} fb_prefixes;

#endif
