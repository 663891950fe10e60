// The linear term b_nk of the assignment problem without its (n, k) matrix: the largest entries of each row are
// kept, with a bound on all others; what is not kept is computed where it is asked for.
#pragma once

#include <limits>
#include <vector>

#include "arrays.hpp"
#include "exponential.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

// Places that hold nothing are null: weight (each point counts 1), pull.indptr (nothing is added).
template <class T>
struct Term {
    Points<T> X;
    const T* modes;        // (k, d)
    const T* mode_sqnorm;  // (k), read for sparse points only
    InverseWidth<T> h;
    bool squared;
    const T* weight;             // (n)
    Csr<T> pull;                 // (n, k), added to the kernel
    const std::int32_t* column;  // (n, m): where the largest entries are, largest first
    const T* value;              // (n, m)
    const T* bound;              // (n): no other entry of the row is larger
    std::int64_t k;
    std::int64_t m;
};

// One entry of the term.
template <class T, class Source>
inline double entry(const Term<T>& term, const Source& rows, std::int64_t n, std::int32_t k) {
    const T d2 = static_cast<T>(rows.sqdist(n, term.modes + k * term.X.d, term.mode_sqnorm[k]));
    T b = term.squared ? -d2 : exp_nonpositive(-term.h(n) * d2);
    if (term.weight) b *= term.weight[n];
    if (term.pull.indptr)
        for (std::int64_t e = term.pull.indptr[n]; e < term.pull.indptr[n + 1]; ++e)
            if (term.pull.indices[e] == k) b += term.pull.values[e];
    return static_cast<double>(b);
}

// The m largest entries of a row and the one after them, largest first, the first among equals. room: m + 1 of each.
template <class T>
inline void largest_of_row(const T* b, std::int64_t k, std::int64_t m, T* value, std::int32_t* column) {
    for (std::int64_t i = 0; i <= m; ++i) {
        value[i] = -std::numeric_limits<T>::infinity();
        column[i] = 0;
    }
    for (std::int64_t first = 0; first < k; first += kLanes<T>) {
        const std::int64_t stop = k < first + kLanes<T> ? k : first + kLanes<T>;
        T top = b[first];
#pragma omp simd reduction(max : top)
        for (std::int64_t j = first; j < stop; ++j) top = b[j] > top ? b[j] : top;
        if (!(top > value[m])) continue;
        for (std::int64_t j = first; j < stop; ++j) {
            if (!(b[j] > value[m])) continue;
            std::int64_t i = m;
            for (; i > 0 && b[j] > value[i - 1]; --i) {
                value[i] = value[i - 1];
                column[i] = column[i - 1];
            }
            value[i] = b[j];
            column[i] = static_cast<std::int32_t>(j);
        }
    }
}

// B (n, k) IN; column, value (n, m) OUT; bound, least (n) OUT: the largest entry that is not kept, the smallest of all.
template <class T>
void keep_largest(const T* B, std::int64_t n, std::int64_t k, std::int64_t m, std::int32_t* column, T* value,
                  T* bound, T* least, int threads) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<T> values(m + 1);
        std::vector<std::int32_t> columns(m + 1);
#pragma omp for schedule(static)
        for (std::int64_t i = 0; i < n; ++i) {
            const T* b = B + i * k;
            largest_of_row(b, k, m, values.data(), columns.data());
            for (std::int64_t j = 0; j < m; ++j) {
                value[i * m + j] = values[j];
                column[i * m + j] = columns[j];
            }
            bound[i] = values[m];
            T low = b[0];
#pragma omp simd reduction(min : low)
            for (std::int64_t j = 0; j < k; ++j) low = b[j] < low ? b[j] : low;
            least[i] = low;
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
