// Everything that depends on the compiler, the processor or the operating system, so that no other file has to ask; only
// vectors.hpp, which is about short vectors, has a second version for compilers without them.
#pragma once

#if (defined(__GNUC__) || defined(__clang__)) && !defined(LAPMODES_PLAIN_VECTORS)
#define LAPMODES_VECTOR_EXTENSIONS  // short vectors that are kept in registers; -DLAPMODES_PLAIN_VECTORS does without
#endif

#if defined(LAPMODES_VECTOR_EXTENSIONS) && defined(__AVX2__)
#define LAPMODES_INTRINSICS  // the vectors above are those of the processor
#include <immintrin.h>
#endif

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef _WIN32
#include <intrin.h>
#else
#include <pthread.h>
#endif

// GCC takes a function that only prefetches for one without effect, and drops its calls unless it is inlined first.
#if defined(__GNUC__) || defined(__clang__)
#define LAPMODES_INLINE inline __attribute__((always_inline))
#define LAPMODES_NOINLINE __attribute__((noinline))
#define LAPMODES_PREFETCH(at) __builtin_prefetch(at)
#else
#define LAPMODES_INLINE __forceinline
#define LAPMODES_NOINLINE __declspec(noinline)
#define LAPMODES_PREFETCH(at) static_cast<void>(at)
#endif

namespace lapmodes {

// 2: AVX-512 (F, DQ, BW, VL); 1: AVX2 and FMA; 0: neither, or not an x86 processor.
inline int processor_level() {
#if !defined(LAPMODES_X86)
    return 0;
#elif defined(_MSC_VER)
    int words[4];
    __cpuidex(words, 1, 0);
    const bool fma = words[2] & (1 << 12), saves = words[2] & (1 << 27);
    const unsigned long long kept = saves ? _xgetbv(0) : 0;  // the registers that the operating system saves
    __cpuidex(words, 7, 0);
    const unsigned all = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31), have = static_cast<unsigned>(words[1]);
    if ((kept & 0xe6) == 0xe6 && (have & all) == all) return 2;
    return (kept & 6) == 6 && fma && (have & (1u << 5)) ? 1 : 0;
#else
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
#endif
}

// Calls `function` in every child that is forked from now on; there are none on Windows.
inline void in_forked_children([[maybe_unused]] void (*function)()) {
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, function);
#endif
}

inline int openmp_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

inline int thread_index() {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

}  // namespace lapmodes
