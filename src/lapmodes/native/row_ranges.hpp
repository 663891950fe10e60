// The ranges of a matrix's rows: what a relative certificate is relative to.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "fixed_length.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// B (n, k) IN; sums (blocks) OUT: the sum over the rows of a block of the largest entry minus the smallest one, or
// minus 0 where all entries of a row are positive.
template <class T>
void row_ranges(const T* B, std::int64_t n, std::int64_t k, double* sums, int threads) {
    with_fixed_length(k, [&](auto K) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (std::int64_t block = 0; block < block_count(n); ++block) {
            double sum = 0;
            for (std::int64_t row = block_begin(block); row < block_end(block, n); ++row) {
                const T* b = B + row * K;
                T high = b[0], low = 0;
                for (std::int64_t j = 0; j < K; ++j) {
                    high = b[j] > high ? b[j] : high;
                    low = b[j] < low ? b[j] : low;
                }
                sum += static_cast<double>(high) - static_cast<double>(low);
            }
            sums[block] = sum;
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
