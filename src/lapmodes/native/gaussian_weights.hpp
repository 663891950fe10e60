// Gaussian weights of neighbours.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "exponential.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// weights (n, m) OUT. Where they are normalised, the weight of the nearest neighbour is taken for 1 first; differences
// of squares are formed as products, which neither cancel nor overflow.
template <class T>
void gaussian_weights(const Neighborhood<T>& near, const Widths<T>& widths, T* weights, int threads) {
    const std::int64_t m = near.m;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t block = 0; block < block_count(near.n); ++block) {
        const std::int64_t first = block_begin(block), stop = block_end(block, near.n);
        for (std::int64_t row = first; row < stop; ++row) {
            const T* d = near.distances + row * m;
            const T own = widths.own[widths.common ? 0 : row], base = widths.normalized ? d[0] : T(0);
            T* w = weights + row * m;
            if (widths.other) {
                const std::int32_t* at = near.indices + row * m;
                for (std::int64_t i = 0; i < m; ++i)
                    w[i] = -((d[i] - base) / own) * ((d[i] + base) / widths.other[at[i]]);
            } else {
                for (std::int64_t i = 0; i < m; ++i) w[i] = -((d[i] - base) / own) * ((d[i] + base) / own);
            }
        }
#pragma omp simd
        for (std::int64_t i = first * m; i < stop * m; ++i) weights[i] = exp_nonpositive(weights[i]);
        if (!widths.normalized) continue;
        for (std::int64_t row = first; row < stop; ++row) {
            T total = 0;
            for (std::int64_t i = 0; i < m; ++i) total += weights[row * m + i];
            for (std::int64_t i = 0; i < m; ++i) weights[row * m + i] /= total;
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
