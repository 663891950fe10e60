// Masses of clusters: each point counts its degree.
#pragma once

#include "arrays.hpp"

namespace lapmodes {

// sums (blocks, k) OUT: sum over the rows of a block of degree_n z_n.
template <class T>
void masses(const T* degree, const T* Z, std::int64_t n, std::int64_t k, double* sums, int threads) {
    const std::int64_t blocks = (n + kBlockRows - 1) / kBlockRows;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t block = 0; block < blocks; ++block) {
        double* sum = sums + block * k;
        for (std::int64_t j = 0; j < k; ++j) sum[j] = 0;
        const std::int64_t stop = n < (block + 1) * kBlockRows ? n : (block + 1) * kBlockRows;
        for (std::int64_t row = block * kBlockRows; row < stop; ++row) {
            const double d = degree[row];
            const T* z = Z + row * k;
            for (std::int64_t j = 0; j < k; ++j) sum[j] += d * z[j];
        }
    }
}

}  // namespace lapmodes
