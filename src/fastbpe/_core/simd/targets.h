/* Instruction sets that the compiler can generate code for, and the choice among them at run time. */
#ifndef FASTBPE_TARGETS_H
#define FASTBPE_TARGETS_H

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FB_X86 1
#elif defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
#define FB_NEON 1
#endif

#ifdef __GNUC__
#define FB_INLINE static inline __attribute__((always_inline))
#else
#define FB_INLINE static inline
#endif

/* Functions between FB_TARGET_BEGIN and FB_TARGET_END are compiled for these instruction sets. Nothing else is:
 * wheels run on any processor, and a function is called only if the processor has its sets. */
#define FB_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define FB_TARGET_BEGIN(sets) FB_PRAGMA(clang attribute push(__attribute__((target(sets))), apply_to = function))
#define FB_TARGET_END _Pragma("clang attribute pop")
#else
#define FB_TARGET_BEGIN(sets) _Pragma("GCC push_options") FB_PRAGMA(GCC target(sets))
#define FB_TARGET_END _Pragma("GCC pop_options")
#endif

/* Tell whether a SIMD path, as FASTBPE_SIMD names it (see scan.h), starts with an instruction set; "" matches all
   sets. */
static inline int fb_is_path_of(const char *path, const char *set) {
    return !*path || strncmp(path, set, strlen(set)) == 0;
}

#endif
