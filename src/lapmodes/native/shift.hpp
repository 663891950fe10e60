// The sums of a mean-shift step over lists of each cluster's members: O(members * d), no (n, k) matrix.
#pragma once

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "exponential.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

// Rows are read twice, for their distances and for the sums: a block of them stays in the cache.
inline constexpr std::int64_t kMostRows = 256, kBlockEntries = std::int64_t(1) << 15;

// Weights up to this share of the mass before them, over the number of members, are left out: all of them together
// are below the rounding of the sums, also after multiplication by a distance of 60 bandwidths.
inline constexpr double kNegligible = 1e-18;

// The members start .. stop of one cluster. Weights are z exp(a - peak) with a = -h |x - c|^2 and `peak` the largest a
// so far: no width is so small that every weight underflows.
template <class T, class Source>
void shift_piece(const Source& rows, std::int64_t d, const Csr<T>& members, std::int64_t start, std::int64_t stop,
                 const T* mode, T mode_sqnorm, InverseWidth<T> h, double* peak, double* mass, double* value,
                 double* sums) {
    double weight[kMostRows];
    std::int32_t kept[kMostRows];
    const std::int64_t block = std::clamp<std::int64_t>(kBlockEntries / (d > 0 ? d : 1), 16, kMostRows);
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
        std::int64_t some = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const double share = h.per_point ? weight[i] * static_cast<double>(h(who[i])) : weight[i];
            *value += weight[i];
            if (share <= *mass * negligible) continue;
            *mass += share;
            kept[some] = who[i];
            weight[some++] = share;
        }
        rows.add_to(kept, weight, some, sums);
    }
}

template <class T, class Source>
void shift_pieces_of(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                     const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass,
                     double* value, double* sums, int threads) {
    const Source rows(X);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t p = 0; p < count; ++p) {
        const std::int64_t j = pieces[3 * p];
        shift_piece<T>(rows, X.d, members, pieces[3 * p + 1], pieces[3 * p + 2], modes + j * X.d, mode_sqnorm[j], h,
                       peak + p, mass + p, value + p, sums + p * X.d);
    }
}

template <class T>
void shift_pieces(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                  const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass, double* value,
                  double* sums, int threads) {
    auto run = X.dense ? shift_pieces_of<T, DenseRows<T>> : shift_pieces_of<T, SparseRows<T>>;
    run(X, members, pieces, count, modes, mode_sqnorm, h, peak, mass, value, sums, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
