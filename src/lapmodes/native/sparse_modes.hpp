// The sums of a mean-shift step where each cluster lists its members: O(members * d), no (n, k) matrix.
#pragma once

#include <cmath>

#include "arrays.hpp"
#include "points.hpp"

namespace lapmodes::LAPMODES_ISA {

// As shift_chunk of modes.hpp for one cluster: weights are z exp(a - peak), the peak follows the largest a.
template <class T, class Source>
void shift_cluster(const Source& rows, std::int64_t d, const Csr<T>& members, std::int64_t j, const T* mode,
                   T mode_sqnorm, InverseWidth<T> h, double* peak, double* mass, double* value, double* sums) {
    constexpr double slack = 100;  // rescaling is rare
    *peak = -HUGE_VAL;
    *mass = *value = 0;
    for (std::int64_t i = 0; i < d; ++i) sums[i] = 0;
    for (std::int64_t e = members.indptr[j]; e < members.indptr[j + 1]; ++e) {
        const std::int64_t n = members.indices[e];
        const double z = static_cast<double>(members.values[e]), width = static_cast<double>(h(n));
        if (!(z > 0)) continue;
        const double a = width > 0 ? -width * rows.sqdist(n, mode, mode_sqnorm) : 0;
        if (a > *peak + slack) {
            const double scale = std::exp(*peak - a);
            for (std::int64_t i = 0; i < d; ++i) sums[i] *= scale;
            *mass *= scale;
            *value *= scale;
            *peak = a;
        }
        const double weight = z * std::exp(a - *peak);
        if (weight == 0) continue;
        const double factor = h.per_point ? width : 1;
        *value += weight;
        *mass += weight * factor;
        rows.add_to(n, weight * factor, sums);
    }
}

template <class T, class Source>
void shift_clusters_of(const Points<T>& X, const Csr<T>& members, const T* modes, std::int64_t k,
                       const T* mode_sqnorm, InverseWidth<T> h, const bool* active, double* peak, double* mass,
                       double* value, double* sums, int threads) {
    const Source rows(X);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t j = 0; j < k; ++j) {
        if (active[j]) {
            shift_cluster<T>(rows, X.d, members, j, modes + j * X.d, mode_sqnorm[j], h, peak + j, mass + j, value + j,
                             sums + j * X.d);
            continue;
        }
        peak[j] = -HUGE_VAL;
        mass[j] = value[j] = 0;
        for (std::int64_t i = 0; i < X.d; ++i) sums[j * X.d + i] = 0;
    }
}

template <class T>
void shift_clusters(const Points<T>& X, const Csr<T>& members, const T* modes, std::int64_t k, const T* mode_sqnorm,
                    InverseWidth<T> h, const bool* active, double* peak, double* mass, double* value, double* sums,
                    int threads) {
    auto run = X.dense ? shift_clusters_of<T, DenseRows<T>> : shift_clusters_of<T, SparseRows<T>>;
    run(X, members, modes, k, mode_sqnorm, h, active, peak, mass, value, sums, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
