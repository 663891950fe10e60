// How a row of K numbers is laid out as vectors of W lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "isa.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// The first K of W lanes from `row`, the others zero.
template <int K, class T, class V>
inline V load_first(const T* row, V out) {
    for (int l = 0; l < K; ++l) out[l] = row[l];
    return out;
}
#if defined(LAPMODES_INTRINSICS)
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
inline Vec<T, W> join_first(Vec<T, W> a, Vec<T, W> b) {
    Vec<T, W> first;
    for (int l = 0; l < W; ++l) first[l] = l < K ? T(1) : T(0);
    return where_positive<T, W>(first, a, b);
}

// A row of at least W entries: its vectors begin at 0, W, 2 W, ... and the last one at K - W, so that it overlaps the
// one before. Elementwise work may do the shared entries twice; sums must count them once, through `without_repeats`.
template <class T, int Width, int Vectors>
struct LongRow {
    static constexpr int W = Width;
    static constexpr int kVectors = Vectors;               // 0: known at run time only
    static constexpr int kEntries = Vectors == 1 ? W : 0;  // of a row that is one vector, else 0
    using V = Vec<T, W>;

    explicit LongRow(std::int64_t k) : k(k), count(Vectors > 0 ? Vectors : (k + W - 1) / W) {
        T first_time[W];
        for (int l = 0; l < W; ++l) first_time[l] = k - W + l >= (count - 1) * W ? T(1) : T(0);
        unrepeated = load<T, W>(first_time);
    }
    std::int64_t size() const { return Vectors > 0 ? Vectors : count; }
    V load_row(const T* row, std::int64_t r) const { return load<T, W>(row + offset(r)); }
    void store_row(T* row, std::int64_t r, V a) const { store<T, W>(row + offset(r), a); }
    V with_padding(V a, T) const { return a; }
    V without_repeats(std::int64_t r, V a) const { return r + 1 < size() ? a : where_positive<T, W>(unrepeated, a); }
    std::int64_t offset(std::int64_t r) const { return r + 1 < size() ? r * W : k - W; }

    std::int64_t k, count;
    V unrepeated;  // of the last vector: 1 where an entry is not in the vector before, else 0
};

// A row that is shorter than a vector: one vector with K entries and zeros, or what `with_padding` puts there.
template <class T, int Width, int K>
struct ShortRow {
    static constexpr int W = Width;
    static constexpr int kVectors = 1;
    static constexpr int kEntries = K;
    static constexpr std::int64_t k = K;
    using V = Vec<T, W>;

    static constexpr std::int64_t size() { return 1; }
    V load_row(const T* row, std::int64_t) const { return load_first<K>(row, V{}); }
    void store_row(T* row, std::int64_t, V a) const { std::memcpy(row, &a, K * sizeof(T)); }
    V with_padding(V a, T other) const { return join_first<T, W, K>(a, splat<T, W>(other)); }
    V without_repeats(std::int64_t, V a) const { return a; }
};

// Calls body(layout) for rows of at least one vector; where they are a few, the compiler knows how many.
template <class T, class Body>
void with_long_row(std::int64_t k, Body body) {
    constexpr int W = kVectorBytes / sizeof(T);
    switch ((k + W - 1) / W) {
        case 1: return body(LongRow<T, W, 1>(k));
        case 2: return body(LongRow<T, W, 2>(k));
        case 3: return body(LongRow<T, W, 3>(k));
        case 4: return body(LongRow<T, W, 4>(k));
        case 5: return body(LongRow<T, W, 5>(k));
        default: return body(LongRow<T, W, 0>(k));
    }
}

// Calls body(layout) for rows of any length. Those shorter than a vector fill part of one. The widest vectors would be
// mostly empty there, so vectors of at most 32 bytes are used.
template <class T, int K = (kVectorBytes < 32 ? kVectorBytes : 32) / sizeof(T) - 1, class Body>
void with_row_layout(std::int64_t k, Body body) {
    constexpr int W = kVectorBytes / sizeof(T), half = (kVectorBytes < 32 ? kVectorBytes : 32) / sizeof(T);
    if constexpr (K > 0) {
        if (k == K) return body(ShortRow<T, half, K>{});
        return with_row_layout<T, K - 1>(k, body);
    } else {
        if constexpr (half < W)
            if (k < W) return body(LongRow<T, half, 2>(k));
        with_long_row<T>(k, body);
    }
}

}  // namespace lapmodes::LAPMODES_ISA
