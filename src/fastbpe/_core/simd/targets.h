/* Instruction sets that the compiler can generate code for, and the choice among them at run time. */
#ifndef FASTBPE_TARGETS_H
#define FASTBPE_TARGETS_H

#include <stdint.h>
#include <string.h>

/* clang-cl defines _MSC_VER and __clang__, but not always __GNUC__ and __x86_64__. MSVC itself has no attributes for
 * single functions: modules compiled with it have only the scalar code. */
#if defined(__GNUC__) || defined(__clang__)
#if defined(__x86_64__) || defined(_M_X64)
#define FB_X86 1
#include <immintrin.h>
#ifdef _MSC_VER
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif (defined(__aarch64__) || defined(_M_ARM64)) && !defined(__AARCH64EB__)
#define FB_NEON 1
#include <arm_neon.h>
#endif
#endif

#if defined(__GNUC__) || defined(__clang__)
#define FB_INLINE static inline __attribute__((always_inline))
#else
#define FB_INLINE static inline
#endif

/* Functions between FB_TARGET_BEGIN and FB_TARGET_END are compiled for these instruction sets. Nothing else is,
 * because wheels run on any processor; such a function is called only if the processor has these sets. */
#define FB_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define FB_TARGET_BEGIN(sets) FB_PRAGMA(clang attribute push(__attribute__((target(sets))), apply_to = function))
#define FB_TARGET_END _Pragma("clang attribute pop")
#else
#define FB_TARGET_BEGIN(sets) _Pragma("GCC push_options") FB_PRAGMA(GCC target(sets))
#define FB_TARGET_END _Pragma("GCC pop_options")
#endif

#ifdef FB_X86
/* Instruction sets, as bits. The kernels also use BMI, LZCNT and POPCNT: all processors with AVX2 have them. */
enum {
    FB_AVX2 = 1,
    FB_BMI2 = 2,
    FB_AVX512BW = 4,
    FB_AVX512VL = 8,
    FB_AVX512DQ = 16,
    FB_AVX512VBMI2 = 32
};

static inline void fb_cpuid(unsigned leaf, unsigned part, unsigned registers[4]) {
#ifdef _MSC_VER
    __cpuidex((int *)registers, (int)leaf, (int)part);
#else
    __cpuid_count(leaf, part, registers[0], registers[1], registers[2], registers[3]);
#endif
}

/* Registers whose contents the operating system saves for each thread. Requires: the processor has OSXSAVE. */
__attribute__((target("xsave"))) static inline uint64_t fb_kept_registers(void) { return (uint64_t)_xgetbv(0); }

/* Return the instruction sets among `sets` that the processor and the operating system support. This does not use
 * __builtin_cpu_supports, because a program compiled by clang-cl and linked by MSVC has no library that defines it. */
static inline unsigned fb_present(unsigned sets) {
    unsigned r[4], found = 0;
    fb_cpuid(0, 0, r);
    if (r[0] < 7) return 0;
    fb_cpuid(1, 0, r);
    if (!(r[2] >> 27 & 1)) return 0; /* OSXSAVE */
    uint64_t kept = fb_kept_registers();
    fb_cpuid(7, 0, r);
    if ((kept & 0x06) == 0x06) /* XMM, YMM */
        found |= (r[1] >> 5 & 1 ? FB_AVX2 : 0) | (r[1] >> 8 & 1 ? FB_BMI2 : 0);
#ifndef __APPLE__ /* macOS saves AVX-512 registers only once a thread has used them, and does not announce it before */
    if ((kept & 0xE6) == 0xE6) /* also masks, ZMM */
#endif
        found |= (r[1] >> 30 & 1 ? FB_AVX512BW : 0) | (r[1] >> 31 & 1 ? FB_AVX512VL : 0) |
                 (r[1] >> 17 & 1 ? FB_AVX512DQ : 0) | (r[2] >> 6 & 1 ? FB_AVX512VBMI2 : 0);
    return found & sets;
}

static inline int fb_processor_has(unsigned sets) { return fb_present(sets) == sets; }
#endif

/* Tell whether a SIMD path, named as in FASTBPE_SIMD (see scan.h), starts with an instruction set; "" matches all
   sets. */
static inline int fb_is_path_of(const char *path, const char *set) {
    return !*path || strncmp(path, set, strlen(set)) == 0;
}

#endif
