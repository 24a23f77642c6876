/* The multiplier of Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): 2^64 divided by the
 * golden ratio, and odd. The top bits of key * FB_FIBONACCI are the slot of a key: neighbouring keys land far
 * apart. */
#ifndef FASTBPE_FIBONACCI_H
#define FASTBPE_FIBONACCI_H

#include <stdint.h>

#define FB_FIBONACCI UINT64_C(0x9E3779B97F4A7C15)

#endif
