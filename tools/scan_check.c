/* Compare every scanner path with pieces.h on files, without Python: for instruction sets that only an emulator has.
 *
 *     aarch64-linux-gnu-gcc -std=gnu11 -O2 -static -Ibuild/cython -o scan_check tools/scan_check.c && qemu-aarch64 ./scan_check FILE...
 *
 * The files must be UTF-8. Prints the first difference of each path and pattern; exits with 1 if there is one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../src/fastbpe/_core/simd/scan.h"

static const fb_pattern patterns[] = {
    {FB_GPT2, 0, 1, 0},   {FB_CL100K, 3, 1, 1}, {FB_CL100K, 3, 1, 0},
    {FB_CL100K, 1, 1, 0}, {FB_O200K, 3, 1, 0},  {FB_O200K, 1, 0, 0},
    {FB_DEEPSEEK, 3, 0, 0},
};

static int check(const char *name, const uint8_t *text, size_t n, size_t *ends) {
    int failed = 0;
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        for (size_t path = 0; path < FB_N_PATHS; path++) {
            if (!fb_paths[path].present()) continue;
            size_t at = 0, wanted = 0, i = 0;
            size_t n_ends = fb_paths[path].scan[patterns[k].family](text, n, &at, ends, n + FB_ROOM, &patterns[k]);
            while (i < n_ends && ends[i] == (wanted = fb_piece_end(text, n, wanted, &patterns[k]))) i++;
            if (i == n_ends && wanted == n && at == n) continue;
            printf("%s: pattern %zu, %s: piece %zu of %zu ends at %zu, not at %zu\n", name, k, fb_paths[path].name, i,
                   n_ends, i < n_ends ? ends[i] : at, wanted);
            failed = 1;
        }
    }
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL || fseek(file, 0, SEEK_END)) return perror(argv[i]), 2;
        size_t n = (size_t)ftell(file);
        uint8_t *text = malloc(n + 1);
        size_t *ends = malloc((n + FB_ROOM) * sizeof *ends);
        rewind(file);
        if (text == NULL || ends == NULL || fread(text, 1, n, file) != n) return perror(argv[i]), 2;
        failed |= check(argv[i], text, n, ends);
        fclose(file);
        free(text);
        free(ends);
    }
    puts(failed ? "differences" : "no difference");
    return failed;
}
