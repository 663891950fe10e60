// The C-step's loops: kernel values of all points at all modes, and the sums of a mean-shift step.
#pragma once

#include <cmath>

#include "arrays.hpp"
#include "exponential.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

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

// Rows [n, stop) of B.
template <class T, class Source>
void kernel_block(const Points<T>& X, const Modes<T>& modes, std::int64_t n, std::int64_t stop, T* B) {
    const Source rows(X);
    for (; n + Source::kRows <= stop; n += Source::kRows) kernel_rows<T, Source::kRows>(rows, n, modes, B);
    for (; n < stop; ++n) kernel_rows<T, 1>(rows, n, modes, B);
}

template <class T>
auto kernel_block_for(const Points<T>& X) {
    return X.dense ? kernel_block<T, DenseRows<T>> : kernel_block<T, SparseRows<T>>;
}

template <class T>
void kernel_values(const Points<T>& X, const Modes<T>& modes, T* B, int threads) {
    const auto fill = kernel_block_for(X);
    const std::int64_t blocks = (X.n + kBlockRows - 1) / kBlockRows;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t first = block * kBlockRows, end = first + kBlockRows;
        fill(X, modes, first, X.n < end ? X.n : end, B);
    }
}

// Weights are exp(a - peak) with a = -h |x - c|^2; the peak follows the largest a seen, with so much
// slack that rescaling is rare: no width is so small that every weight underflows.
inline constexpr double kSlack = 100;

template <class T, class Source>
void shift_chunk(const Source& rows, std::int64_t start, std::int64_t stop, std::int64_t d, const T* Z,
                 const T* modes, std::int64_t k, const T* mode_sqnorm, InverseWidth<T> h, const bool* active,
                 double* peak, double* mass, double* value, double* sums) {
    for (std::int64_t j = 0; j < k; ++j) {
        peak[j] = -HUGE_VAL;
        mass[j] = value[j] = 0;
    }
    for (std::int64_t i = 0; i < k * d; ++i) sums[i] = 0;
    for (std::int64_t n = start; n < stop; ++n) {
        const double width = static_cast<double>(h(n));
        const double factor = h.per_point ? width : 1;
        for (std::int64_t j = 0; j < k; ++j) {
            const double z = static_cast<double>(Z[n * k + j]);
            if (!(z > 0) || !active[j]) continue;
            const double a = width > 0 ? -width * rows.sqdist(n, modes + j * d, mode_sqnorm[j]) : 0;
            if (a > peak[j] + kSlack) {
                const double scale = std::exp(peak[j] - a);
                for (std::int64_t i = 0; i < d; ++i) sums[j * d + i] *= scale;
                mass[j] *= scale;
                value[j] *= scale;
                peak[j] = a;
            }
            const double weight = z * std::exp(a - peak[j]);
            if (weight == 0) continue;
            value[j] += weight;
            mass[j] += weight * factor;
            rows.add_to(n, weight * factor, sums + j * d);
        }
    }
}

template <class T, class Source>
void shift_sums_of(const Points<T>& X, const T* Z, const T* modes, std::int64_t k, const T* mode_sqnorm,
                   InverseWidth<T> h, const bool* active, std::int64_t chunks, double* peak, double* mass, double* value, double* sums,
                   int threads) {
    const Source rows(X);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
        shift_chunk<T>(rows, X.n * chunk / chunks, X.n * (chunk + 1) / chunks, X.d, Z, modes, k, mode_sqnorm, h,
                       active, peak + chunk * k, mass + chunk * k, value + chunk * k, sums + chunk * k * X.d);
}

template <class T>
void shift_sums(const Points<T>& X, const T* Z, const T* modes, std::int64_t k, const T* mode_sqnorm,
                InverseWidth<T> h, const bool* active, std::int64_t chunks, double* peak, double* mass, double* value, double* sums,
                int threads) {
    auto run = X.dense ? shift_sums_of<T, DenseRows<T>> : shift_sums_of<T, SparseRows<T>>;
    run(X, Z, modes, k, mode_sqnorm, h, active, chunks, peak, mass, value, sums, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
