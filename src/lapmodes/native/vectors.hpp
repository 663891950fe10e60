// Short vectors of the width that the instruction set has. GCC and Clang keep them in registers;
// elsewhere they are small arrays that the compiler may or may not vectorise.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "compiler.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

#if defined(LAPMODES_VECTOR_EXTENSIONS)

template <class T, int W>
struct VecOf {
    typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T, int W>
using Vec = typename VecOf<T, W>::type;

template <class T, int W>
inline Vec<T, W> larger(Vec<T, W> a, Vec<T, W> b) {
    return a > b ? a : b;
}
template <class T, int W>
inline Vec<T, W> smaller(Vec<T, W> a, Vec<T, W> b) {
    return a < b ? a : b;
}
// `value` where x is positive, `other` elsewhere.
template <class T, int W>
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value, Vec<T, W> other = Vec<T, W>{}) {
    return x > 0 ? value : other;
}
template <class T, int W>
inline Vec<T, W> splat(T a) {
    return a - Vec<T, W>{};
}
#if defined(__clang__) || __GNUC__ >= 12
template <int S, class V, int... I>
inline V swapped(V a, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, a, (I ^ S)...);
}
#else
template <int S, class V, int... I>
inline V swapped(V a, std::integer_sequence<int, I...>) {
    return __builtin_shuffle(a, decltype(a < a){(I ^ S)...});
}
#endif
// Folds all lanes by a function of two vectors; the order of the sums is fixed.
template <class T, int W, int S = W / 2, class F>
inline T fold(Vec<T, W> a, F f) {
    if constexpr (S == 0)
        return a[0];
    else
        return fold<T, W, S / 2>(f(a, swapped<S>(a, std::make_integer_sequence<int, W>{})), f);
}
// Lane i from a, or from b where i has the bit S; lane i ^ S instead where `swaps_a` or `swaps_b` says so.
#if defined(__clang__) || __GNUC__ >= 12
template <int S, bool swaps_a, bool swaps_b, class V, int... I>
inline V mixed(V a, V b, std::integer_sequence<int, I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shufflevector(a, b, (I & S ? W + (swaps_b ? I ^ S : I) : swaps_a ? I ^ S : I)...);
}
#else
template <int S, bool swaps_a, bool swaps_b, class V, int... I>
inline V mixed(V a, V b, std::integer_sequence<int, I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shuffle(a, b, decltype(a < a){(I & S ? W + (swaps_b ? I ^ S : I) : swaps_a ? I ^ S : I)...});
}
#endif
// Folds W vectors at once: lane i of the answer is fold(rows[i]), to the bit.
template <class T, int W, int S = 1, class F>
inline Vec<T, W> fold_rows(const Vec<T, W>* rows, F f) {
    if constexpr (S == W) {
        return rows[0];
    } else {
        constexpr auto lanes = std::make_integer_sequence<int, W>{};
        const Vec<T, W> a = fold_rows<T, W, 2 * S>(rows, f), b = fold_rows<T, W, 2 * S>(rows + S, f);
        return f(mixed<S, false, false>(a, b, lanes), mixed<S, true, true>(a, b, lanes));
    }
}
// Lane i of vector j becomes lane j of vector i.
template <class T, int W, int S = 1>
inline void transpose(Vec<T, W>* rows) {
    if constexpr (S < W) {
        constexpr auto lanes = std::make_integer_sequence<int, W>{};
        for (int i = 0; i < W; ++i) {
            if (i & S) continue;
            const Vec<T, W> a = rows[i], b = rows[i + S];
            rows[i] = mixed<S, false, true>(a, b, lanes);
            rows[i + S] = mixed<S, true, false>(a, b, lanes);
        }
        transpose<T, W, 2 * S>(rows);
    }
}
#else

template <class T, int W>
struct Vec {
    T lane[W];
    T& operator[](int i) { return lane[i]; }
    T operator[](int i) const { return lane[i]; }
    template <class F>
    static Vec map(F f) {
        Vec out;
        for (int i = 0; i < W; ++i) out.lane[i] = f(i);
        return out;
    }
    friend Vec operator+(Vec a, Vec b) { return map([&](int i) { return a.lane[i] + b.lane[i]; }); }
    friend Vec operator-(Vec a, Vec b) { return map([&](int i) { return a.lane[i] - b.lane[i]; }); }
    friend Vec operator*(Vec a, Vec b) { return map([&](int i) { return a.lane[i] * b.lane[i]; }); }
    friend Vec operator/(Vec a, Vec b) { return map([&](int i) { return a.lane[i] / b.lane[i]; }); }
    friend Vec operator*(T a, Vec b) { return map([&](int i) { return a * b.lane[i]; }); }
    friend Vec operator-(Vec a, T b) { return map([&](int i) { return a.lane[i] - b; }); }
    Vec& operator+=(Vec b) { return *this = *this + b; }
    Vec& operator-=(Vec b) { return *this = *this - b; }
};
template <class T, int W>
inline Vec<T, W> larger(Vec<T, W> a, Vec<T, W> b) {
    return Vec<T, W>::map([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <class T, int W>
inline Vec<T, W> smaller(Vec<T, W> a, Vec<T, W> b) {
    return Vec<T, W>::map([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
template <class T, int W>
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value, Vec<T, W> other = Vec<T, W>{}) {
    return Vec<T, W>::map([&](int i) { return x.lane[i] > 0 ? value.lane[i] : other.lane[i]; });
}
template <class T, int W>
inline Vec<T, W> splat(T a) {
    return Vec<T, W>::map([&](int) { return a; });
}
template <class T, int W, int S = W / 2, class F>
inline T fold(Vec<T, W> a, F f) {
    if constexpr (S == 0)
        return a.lane[0];
    else
        return fold<T, W, S / 2>(f(a, Vec<T, W>::map([&](int i) { return a.lane[i ^ S]; })), f);
}
template <class T, int W, class F>
inline Vec<T, W> fold_rows(const Vec<T, W>* rows, F f) {
    return Vec<T, W>::map([&](int i) { return fold<T, W>(rows[i], f); });
}
template <class T, int W>
inline void transpose(Vec<T, W>* rows) {
    for (int i = 0; i < W; ++i)
        for (int j = 0; j < i; ++j) std::swap(rows[i].lane[j], rows[j].lane[i]);
}

#endif

template <class T, int W>
inline Vec<T, W> load(const T* at) {
    Vec<T, W> out;
    std::memcpy(&out, at, sizeof out);
    return out;
}
template <class T, int W>
inline void store(T* at, Vec<T, W> a) {
    std::memcpy(at, &a, sizeof a);
}
template <class T, int W>
inline T sum_of(Vec<T, W> a) {
    return fold<T, W>(a, [](auto x, auto y) { return x + y; });
}
template <class T, int W>
inline Vec<T, W> sums_of(const Vec<T, W>* rows) {
    return fold_rows<T, W>(rows, [](auto x, auto y) { return x + y; });
}
template <class T, int W>
inline T largest_of(Vec<T, W> a) {
    return fold<T, W>(a, [](auto x, auto y) { return larger<T, W>(x, y); });
}
template <class T, int W>
inline Vec<T, W> largest_of_rows(const Vec<T, W>* rows) {
    return fold_rows<T, W>(rows, [](auto x, auto y) { return larger<T, W>(x, y); });
}
template <class T, int W>
inline Vec<T, W> smallest_of_rows(const Vec<T, W>* rows) {
    return fold_rows<T, W>(rows, [](auto x, auto y) { return smaller<T, W>(x, y); });
}
// Whether any lane is above zero.
template <class T, int W>
inline bool any_above_zero(Vec<T, W> a) {
#if defined(LAPMODES_INTRINSICS)
    if constexpr (sizeof a == 32) {
        const auto mask = a > 0;
        return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
    }
#endif
    return largest_of<T, W>(a) > 0;
}
// Whether any lane has no sign bit.
template <class T, int W>
inline bool any_positive(Vec<T, W> a) {
#if defined(LAPMODES_INTRINSICS)
    if constexpr (std::is_same_v<T, float> && W == 8) return _mm256_movemask_ps(a) != 0xff;
    if constexpr (std::is_same_v<T, double> && W == 4) return _mm256_movemask_pd(a) != 0xf;
#endif
    return largest_of<T, W>(a) >= 0;
}

LAPMODES_INLINE void prefetch(const void* at) { LAPMODES_PREFETCH(at); }

}  // namespace lapmodes::LAPMODES_ISA
