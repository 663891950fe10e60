// The sums of a mean-shift step over lists of each cluster's members: O(members * d), no (n, k) matrix.
// Lists are summed in pieces, so that several threads share a large cluster.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arrays.hpp"
#include "exponential.hpp"
#include "isa.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

// Rows are read twice, for their distances and for the sums: a block of them stays in the cache.
inline constexpr std::int64_t kMaxCachedRows = 256, kCachedEntries = std::int64_t(1) << 15;

// A weight is left out where it is at most this part of the mass summed before it, divided by the number of members.
// All such weights together are below the rounding of the sums, even when multiplied by a distance of 60 bandwidths.
inline constexpr double kNegligible = 1e-18;

// The members start .. stop of one cluster; peak, mass, value (1) OUT and sums (d) OUT. Weights are z exp(a - peak)
// with a = -h |x - c|^2 and `peak` the largest a so far: no width is so small that every weight underflows.
template <class T, class Source>
void sum_piece(const Source& rows, std::int64_t d, const Csr<T>& members, std::int64_t start, std::int64_t stop,
               const T* mode, T mode_sqnorm, InverseWidth<T> h, double* peak, double* mass, double* value,
               double* sums) {
    double weight[kMaxCachedRows];
    std::int32_t kept[kMaxCachedRows];
    const std::int64_t block = std::clamp<std::int64_t>(kCachedEntries / (d > 0 ? d : 1), 16, kMaxCachedRows);
    const double negligible = kNegligible / static_cast<double>(stop - start);
    *peak = -HUGE_VAL;
    *mass = *value = 0;
    std::fill(sums, sums + d, 0.0);
    for (std::int64_t first = start; first < stop; first += block) {
        const std::int64_t count = std::min(block, stop - first);
        const std::int32_t* who = members.indices + first;
        const T* z = members.values + first;
        double top = *peak;
        for (std::int64_t i = 0; i < count; ++i) {
            const double width = static_cast<double>(h(who[i]));
            weight[i] = width > 0 ? -width * rows.sqdist(who[i], mode, mode_sqnorm) : 0;
            top = std::max(top, weight[i]);
        }
        if (top == -HUGE_VAL) continue;
        if (top > *peak) {
            const double scale = std::exp(*peak - top);
            for (std::int64_t i = 0; i < d; ++i) sums[i] *= scale;
            *mass *= scale;
            *value *= scale;
            *peak = top;
        }
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i)
            weight[i] = static_cast<double>(z[i]) * exp_nonpositive(weight[i] - top);
        std::int64_t kept_count = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const double counted = h.per_point ? weight[i] * static_cast<double>(h(who[i])) : weight[i];
            *value += weight[i];
            if (counted <= *mass * negligible) continue;
            *mass += counted;
            kept[kept_count] = who[i];
            weight[kept_count++] = counted;
        }
        rows.add_weighted_rows(kept, weight, kept_count, sums);
    }
}

// mean_shift_sums for dense or sparse points.
template <class T, class Source>
void mean_shift_sums_of(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                        const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass,
                        double* value, double* sums, int threads) {
    const Source rows(X);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t p = 0; p < count; ++p) {
        const std::int64_t j = pieces[3 * p];
        sum_piece<T>(rows, X.d, members, pieces[3 * p + 1], pieces[3 * p + 2], modes + j * X.d, mode_sqnorm[j], h,
                     peak + p, mass + p, value + p, sums + p * X.d);
    }
}

// pieces (count, 3) IN: a cluster, and the first and the last + 1 of its members in the lists. peak, mass, value
// (count) OUT and sums (count, d) OUT: sums over a piece, scaled by exp(-peak).
template <class T>
void mean_shift_sums(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                     const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass,
                     double* value, double* sums, int threads) {
    auto run = X.dense ? mean_shift_sums_of<T, DenseRows<T>> : mean_shift_sums_of<T, SparseRows<T>>;
    run(X, members, pieces, count, modes, mode_sqnorm, h, peak, mass, value, sums, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
