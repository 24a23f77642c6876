/* Check the keys of short pieces and the packed ids of cache entries in memory, on processors of either byte order.
 *
 *     cc -std=gnu11 -o keys_check tools/keys_check.c && ./keys_check
 *     s390x-linux-gnu-gcc -std=gnu11 -static -o keys_check tools/keys_check.c && qemu-s390x keys_check
 *
 * tests/unit/core/test_byte_order.py runs it. It prints what is wrong and exits with 1. */
#include <stdio.h>

#include "../src/fastbpe/_core/simd/entries.h"
#include "../src/fastbpe/_core/simd/keys.h"

static int check_key(size_t n) {
    uint8_t piece[16] = "abcdefghijklmno", key[16], expected[16] = {0};
    uint64_t high, halves[2], low = fb_make_key(piece, n, key, &high);
    memcpy(expected, piece, n);
    expected[15] = (uint8_t)n;
    memcpy(halves, expected, 16);
    if (!memcmp(key, expected, 16) && low == halves[0] && high == halves[1]) return 0;
    printf("the key of %d bytes is wrong\n", (int)n);
    return 1;
}

static int check_entry(size_t n) {
    uint32_t ids[FB_ENTRY_IDS], found[FB_ENTRY_IDS + 2];
    fb_entry entry;
    size_t i;
    for (i = 0; i < n; i++) ids[i] = 0xFFFFFu - 0x12345u * (uint32_t)i;
    if (!fb_entry_pack(&entry, ids, n) || entry.n_ids != n) return printf("%d ids are not packed\n", (int)n), 1;
    fb_entry_unpack(&entry, found);
    for (i = 0; i < n; i++)
        if (found[i] != ids[i]) return printf("id %d of %d is wrong\n", (int)i, (int)n), 1;
    return 0;
}

int main(void) {
    int n_wrong = 0;
    size_t n;
    for (n = 0; n <= 15; n++) n_wrong += check_key(n);
    for (n = 0; n <= FB_ENTRY_IDS; n++) n_wrong += check_entry(n);
    return n_wrong != 0;
}
