// Kernel values of all points at all modes.
#pragma once

#include "arrays.hpp"
#include "exponential.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T, int Rows, class Source>
inline void kernel_rows(const Source& rows, std::int64_t n, const T* modes_t, std::int64_t k, std::int64_t padded,
                        const T* mode_sqnorm, InverseWidth<T> h, bool squared, T* B) {
    T d2[Rows * kLanes<T>];
    for (std::int64_t k0 = 0; k0 < k; k0 += kLanes<T>) {
        rows.template sqdist_tile<Rows>(n, modes_t, padded, k0, mode_sqnorm, d2);
        const std::int64_t width = k - k0 < kLanes<T> ? k - k0 : kLanes<T>;
        for (int r = 0; r < Rows; ++r) {
            T* row = d2 + r * kLanes<T>;
            const T minus_h = -h(n + r);
            if (squared) {
                for (std::int64_t l = 0; l < kLanes<T>; ++l) row[l] = -row[l];
            } else {
#pragma omp simd
                for (std::int64_t l = 0; l < kLanes<T>; ++l) row[l] = exp_nonpositive(minus_h * row[l]);
            }
            T* out = B + (n + r) * k + k0;
            for (std::int64_t l = 0; l < width; ++l) out[l] = row[l];
        }
    }
}

template <class T, class Source>
void kernel_values_of(const Points<T>& X, const T* modes_t, std::int64_t k, std::int64_t padded,
                      const T* mode_sqnorm, InverseWidth<T> h, bool squared, T* B, int threads) {
    const Source rows(X);
    const std::int64_t blocks = (X.n + kBlockRows - 1) / kBlockRows;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t stop = X.n < (block + 1) * kBlockRows ? X.n : (block + 1) * kBlockRows;
        std::int64_t n = block * kBlockRows;
        for (; n + Source::kRows <= stop; n += Source::kRows)
            kernel_rows<T, Source::kRows>(rows, n, modes_t, k, padded, mode_sqnorm, h, squared, B);
        for (; n < stop; ++n) kernel_rows<T, 1>(rows, n, modes_t, k, padded, mode_sqnorm, h, squared, B);
    }
}

template <class T>
void kernel_values(const Points<T>& X, const T* modes_t, std::int64_t k, std::int64_t padded,
                   const T* mode_sqnorm, InverseWidth<T> h, bool squared, T* B, int threads) {
    auto run = X.dense ? kernel_values_of<T, DenseRows<T>> : kernel_values_of<T, SparseRows<T>>;
    run(X, modes_t, k, padded, mode_sqnorm, h, squared, B, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
