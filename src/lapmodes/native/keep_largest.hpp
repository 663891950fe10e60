// The largest entries of each row of a matrix.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// value, column (m + 1) OUT: the m largest entries of a row and the one after them, largest first, the first among
// equals.
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

// B (n, k) IN; column, value (n, m) OUT: the largest entries of each row, largest first; bound, least (n) OUT: the
// largest entry that is not kept, and the smallest of all.
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
