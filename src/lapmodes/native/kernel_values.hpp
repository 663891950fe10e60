// Kernel values of all points at all modes: b_nk = exp(-|x_n - c_k|^2 h_n), or -|x_n - c_k|^2.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "exponential.hpp"
#include "isa.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

// B OUT: the rows [n, n + Rows).
template <class T, int Rows, class Source>
inline void kernel_rows(const Source& rows, std::int64_t n, const Modes<T>& modes, T* B) {
    T d2[Rows * kLanes<T>];
    for (std::int64_t k0 = 0; k0 < modes.k; k0 += kLanes<T>) {
        rows.template sqdist_tile<Rows>(n, modes.columns, modes.padded, k0, modes.sqnorm, d2);
        const std::int64_t width = modes.k - k0 < kLanes<T> ? modes.k - k0 : kLanes<T>;
        for (int r = 0; r < Rows; ++r) {
            T* row = d2 + r * kLanes<T>;
            const T minus_h = -modes.h(n + r);
            if (modes.squared) {
                for (std::int64_t l = 0; l < kLanes<T>; ++l) row[l] = -row[l];
            } else {
#pragma omp simd
                for (std::int64_t l = 0; l < kLanes<T>; ++l) row[l] = exp_nonpositive(minus_h * row[l]);
            }
            T* out = B + (n + r) * modes.k + k0;
            for (std::int64_t l = 0; l < width; ++l) out[l] = row[l];
        }
    }
}

// B OUT: the rows [n, stop).
template <class T, class Source>
void kernel_block(const Points<T>& X, const Modes<T>& modes, std::int64_t n, std::int64_t stop, T* B) {
    const Source rows(X);
    for (; n + Source::kRows <= stop; n += Source::kRows) kernel_rows<T, Source::kRows>(rows, n, modes, B);
    for (; n < stop; ++n) kernel_rows<T, 1>(rows, n, modes, B);
}

// The function above for points of this kind.
template <class T>
auto kernel_block_for(const Points<T>& X) {
    return X.dense ? kernel_block<T, DenseRows<T>> : kernel_block<T, SparseRows<T>>;
}

// B (n, k) OUT.
template <class T>
void kernel_values(const Points<T>& X, const Modes<T>& modes, T* B, int threads) {
    const auto block_values = kernel_block_for(X);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t block = 0; block < block_count(X.n); ++block)
        block_values(X, modes, block_begin(block), block_end(block, X.n), B);
}

}  // namespace lapmodes::LAPMODES_ISA
