// Short vectors of the width that the instruction set has. GCC and Clang keep them in registers;
// elsewhere they are small arrays that the compiler may or may not vectorise.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace lapmodes::LAPMODES_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

#if defined(__GNUC__)

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
// `value` where x is positive, 0 elsewhere
template <class T, int W>
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value) {
    return x > 0 ? value : Vec<T, W>{};
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
// Lane i from a, or from b where i has the bit S; `other` takes lane i ^ S instead.
#if defined(__clang__) || __GNUC__ >= 12
template <int S, bool other, class V, int... I>
inline V mixed(V a, V b, std::integer_sequence<int, I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shufflevector(a, b, ((other ? I ^ S : I) + (I & S ? W : 0))...);
}
#else
template <int S, bool other, class V, int... I>
inline V mixed(V a, V b, std::integer_sequence<int, I...>) {
    constexpr int W = sizeof...(I);
    return __builtin_shuffle(a, b, decltype(a < a){((other ? I ^ S : I) + (I & S ? W : 0))...});
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
        return f(mixed<S, false>(a, b, lanes), mixed<S, true>(a, b, lanes));
    }
}
#else

template <class T, int W>
struct Vec {
    T lane[W];
    T& operator[](int i) { return lane[i]; }
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
inline Vec<T, W> where_positive(Vec<T, W> x, Vec<T, W> value) {
    return Vec<T, W>::map([&](int i) { return x.lane[i] > 0 ? value.lane[i] : T(0); });
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

// Whether any lane has no sign.
template <class T, int W>
inline bool any_positive(Vec<T, W> a) {
#if defined(__AVX2__)
    if constexpr (std::is_same_v<T, float> && W == 8) return _mm256_movemask_ps(a) != 0xff;
    if constexpr (std::is_same_v<T, double> && W == 4) return _mm256_movemask_pd(a) != 0xf;
#endif
    return largest_of<T, W>(a) >= 0;
}

// GCC takes a function that only prefetches for one without effect, and drops its calls unless it is inlined first.
#ifdef __GNUC__
#define LAPMODES_INLINE inline __attribute__((always_inline))
LAPMODES_INLINE void prefetch(const void* at) { __builtin_prefetch(at); }
#else
#define LAPMODES_INLINE inline
inline void prefetch(const void*) {}
#endif

// The first K of W lanes from `row`, the others zero.
template <int K, class T, class V>
inline V load_first(const T* row, V out) {
    for (int l = 0; l < K; ++l) out[l] = row[l];
    return out;
}
#if defined(__AVX2__)
template <int K>
inline Vec<float, 8> load_first(const float* row, Vec<float, 8>) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(K), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_maskload_ps(row, mask);
}
template <int K>
inline Vec<double, 4> load_first(const double* row, Vec<double, 4>) {
    const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(K), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_maskload_pd(row, mask);
}
#endif
// The first K lanes of a, the others of b.
template <class T, int W, int K>
inline Vec<T, W> mixed_first(Vec<T, W> a, Vec<T, W> b) {
    Vec<T, W> first;
    for (int l = 0; l < W; ++l) first[l] = l < K ? T(1) : T(0);
    return first > 0 ? a : b;
}

// How a row of K entries is cut into vectors: at 0, W, 2 W, ... and the last one at K - W, overlapping the one
// before. Elementwise work may do the shared entries twice; sums count them once, through `once`.
template <class T, int Width, int Vectors>
struct Cut {
    static constexpr int W = Width;
    static constexpr int kFixed = Vectors;  // 0: any number of vectors
    using V = Vec<T, W>;

    explicit Cut(std::int64_t k) : k(k), count(Vectors > 0 ? Vectors : (k + W - 1) / W) {
        T keep[W];
        for (int l = 0; l < W; ++l) keep[l] = k - W + l >= (count - 1) * W ? T(1) : T(0);
        once = load<T, W>(keep);
    }
    std::int64_t size() const { return Vectors > 0 ? Vectors : count; }
    V load_row(const T* row, std::int64_t r) const { return load<T, W>(row + at(r)); }
    void store_row(T* row, std::int64_t r, V a) const { store<T, W>(row + at(r), a); }
    V filled(V a, T) const { return a; }
    std::int64_t at(std::int64_t r) const { return r + 1 < size() ? r * W : k - W; }
    V counted(std::int64_t r, V a) const { return r + 1 < size() ? a : where_positive<T, W>(once, a); }

    std::int64_t k, count;
    V once;
};

// A row that is shorter than a vector: one vector with K entries and zeros, or what `filled` puts there.
template <class T, int Width, int K>
struct Short {
    static constexpr int W = Width;
    static constexpr int kFixed = 1;
    static constexpr std::int64_t k = K;
    using V = Vec<T, W>;

    static constexpr std::int64_t size() { return 1; }
    V load_row(const T* row, std::int64_t) const { return load_first<K>(row, V{}); }
    void store_row(T* row, std::int64_t, V a) const { std::memcpy(row, &a, K * sizeof(T)); }
    V filled(V a, T other) const { return mixed_first<T, W, K>(a, splat<T, W>(other)); }
    V counted(std::int64_t, V a) const { return a; }
};

// Calls body(cut) for rows of at least one vector, with a fixed number of vectors for short ones.
template <class T, class Body>
void with_wide_cut(std::int64_t k, Body body) {
    constexpr int W = kVectorBytes / sizeof(T);
    switch ((k + W - 1) / W) {
        case 1: return body(Cut<T, W, 1>(k));
        case 2: return body(Cut<T, W, 2>(k));
        case 3: return body(Cut<T, W, 3>(k));
        case 4: return body(Cut<T, W, 4>(k));
        case 5: return body(Cut<T, W, 5>(k));
        default: return body(Cut<T, W, 0>(k));
    }
}

// Calls body(cut) for rows of any length. Those shorter than a vector fill part of one; the widest vectors would be
// mostly empty there, so that half of one is used.
template <class T, int K = (kVectorBytes < 32 ? kVectorBytes : 32) / sizeof(T) - 1, class Body>
void with_cut(std::int64_t k, Body body) {
    constexpr int W = kVectorBytes / sizeof(T), half = (kVectorBytes < 32 ? kVectorBytes : 32) / sizeof(T);
    if constexpr (K > 0) {
        if (k == K) return body(Short<T, half, K>{});
        return with_cut<T, K - 1>(k, body);
    } else {
        if constexpr (half < W)
            if (k < W) return body(Cut<T, half, 2>(k));
        with_wide_cut<T>(k, body);
    }
}

}  // namespace lapmodes::LAPMODES_ISA
