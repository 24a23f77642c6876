/* The multiplier of Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4). The top bits of
 * key * FB_GOLDEN_RATIO are the slot of a key: neighbouring keys get slots far apart.
 */
#ifndef FASTBPE_HASHING_H
#define FASTBPE_HASHING_H

#include <stdint.h>

#define FB_GOLDEN_RATIO UINT64_C(0x9E3779B97F4A7C15) /* 2^64 over the golden ratio, rounded to an odd number */

#endif
