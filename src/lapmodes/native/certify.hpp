// Energy and certificate of an iterate, all arithmetic in double.
#pragma once

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// out (k) = sum_m w_nm Z_m
template <class T>
inline void gather_in_double(const Csr<T>& W, std::int64_t n, const T* Z, std::int64_t K, double* out) {
    for (std::int64_t k = 0; k < K; ++k) out[k] = 0;
    for (std::int64_t e = W.indptr[n]; e < W.indptr[n + 1]; ++e) {
        const double w = static_cast<double>(W.values[e]);
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * K;
#pragma omp simd
        for (std::int64_t k = 0; k < K; ++k) out[k] += w * z[k];
    }
}

// Adds row n's share of energy and certificate, from z and wz = (W Z)_n.
// gap_n = sum_k z_k (g_k - min g) with g = 2 lam (d z - wz) - b: summed over n it bounds E(Z) - min E.
template <class T>
inline void tally_in_double(const Problem<T>& p, std::int64_t n, const T* z, const double* wz, double* stats) {
    const T* b = p.B + n * p.k;
    const double d = p.diagonal[n], two_lam = 2 * static_cast<double>(p.lam);
    double smooth = 0, fidelity = 0, dot = 0, lowest = two_lam * (d * z[0] - wz[0]) - b[0];
#pragma omp simd reduction(+ : smooth, fidelity) reduction(min : lowest)
    for (std::int64_t k = 0; k < p.k; ++k) {
        const double zk = z[k], spread = d * zk - wz[k], g = two_lam * spread - b[k];
        smooth += zk * spread;
        fidelity += zk * b[k];
        lowest = g < lowest ? g : lowest;
    }
#pragma omp simd reduction(+ : dot)
    for (std::int64_t k = 0; k < p.k; ++k) {
        const double g = two_lam * (d * z[k] - wz[k]) - b[k];
        dot += z[k] * (g - lowest);
    }
    stats[kSmoothness] += smooth;
    stats[kFidelity] += fidelity;
    stats[kGap] += dot;
}

template <class T>
void certify(const Problem<T>& p, const T* Z, double* scratch, double* stats, int threads) {
    const std::int64_t blocks = (p.n + kBlockRows - 1) / kBlockRows;
#pragma omp parallel num_threads(threads)
    {
        double* wz = scratch + thread_index() * p.k;
#pragma omp for schedule(static)
        for (std::int64_t block = 0; block < blocks; ++block) {
            double* sums = stats + block * kStatistics;
            for (int i = 0; i < kStatistics; ++i) sums[i] = 0;
            const std::int64_t stop = p.n < (block + 1) * kBlockRows ? p.n : (block + 1) * kBlockRows;
            for (std::int64_t n = block * kBlockRows; n < stop; ++n) {
                gather_in_double(p.W, n, Z, p.k, wz);
                if (p.masses)
                    for (std::int64_t k = 0; k < p.k; ++k) wz[k] -= static_cast<double>(p.diagonal[n]) * p.masses[k];
                tally_in_double(p, n, Z + n * p.k, wz, sums);
            }
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
