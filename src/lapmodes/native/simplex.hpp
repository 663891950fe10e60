// Euclidean projection onto the probability simplex (Duchi et al. 2008; Wang & Carreira-Perpinan 2013).
#pragma once

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// Newton's method from the left on sum_k max(v_k - theta, 0) = 1. The function is convex and
// piecewise linear, so theta rises to the exact root in at most K steps, one or two for rows
// that are nearly one-hot. Subtracting the largest entry first makes it safe for any finite row.
template <class T, int Size>
inline void project_row(T* v, std::int64_t size) {
    const std::int64_t K = Size > 0 ? Size : size;
    T top = v[0];
#pragma omp simd reduction(max : top)
    for (std::int64_t k = 0; k < K; ++k) top = top < v[k] ? v[k] : top;
#pragma omp simd
    for (std::int64_t k = 0; k < K; ++k) v[k] -= top;
    T theta = -1;
    for (std::int64_t round = 0; round < K + 2; ++round) {
        T sum = 0, count = 0;
#pragma omp simd reduction(+ : sum, count)
        for (std::int64_t k = 0; k < K; ++k) {
            const T above = v[k] - theta;
            sum += above > 0 ? above : T(0);
            count += above > 0 ? T(1) : T(0);
        }
        const T next = theta + (sum - 1) / count;
        if (!(next > theta)) break;
        theta = next;
    }
#pragma omp simd
    for (std::int64_t k = 0; k < K; ++k) v[k] = v[k] > theta ? v[k] - theta : T(0);
}

template <class T>
void project_rows(T* V, std::int64_t n, std::int64_t k, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t row = 0; row < n; ++row) project_row<T, 0>(V + row * k, k);
}

}  // namespace lapmodes::LAPMODES_ISA
