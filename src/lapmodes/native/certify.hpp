// Energy and certificate of assignments; all arithmetic is in double.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "fixed_length.hpp"
#include "isa.hpp"
#include "threads.hpp"

namespace lapmodes::LAPMODES_ISA {

// wz (K) OUT: sum_m w_nm Z_m.
template <class T, class Length>
inline void gather_in_double(const Csr<T>& W, std::int64_t n, const T* Z, Length K, double* wz) {
    for (std::int64_t k = 0; k < K; ++k) wz[k] = 0;
    for (std::int64_t e = W.indptr[n]; e < W.indptr[n + 1]; ++e) {
        const double w = static_cast<double>(W.values[e]);
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * K;
#pragma omp simd
        for (std::int64_t k = 0; k < K; ++k) wz[k] += w * z[k];
    }
}

// stats (kStatistics) IN/OUT: row n's part of energy and certificate is added, from z and wz = (W Z)_n.
// gap_n = sum_k z_k (g_k - min g) with g = 2 lam (d z - wz) - b: summed over n it bounds E(Z) - min E.
template <class T, class Length>
inline void add_row_in_double(const Problem<T>& p, std::int64_t n, Length K, const T* z, const double* wz,
                              double* stats) {
    const T* b = p.B + n * K;
    const double d = p.diagonal[n], two_lam = 2 * static_cast<double>(p.lam);
    double smooth = 0, fidelity = 0, gap = 0, lowest = two_lam * (d * z[0] - wz[0]) - b[0];
#pragma omp simd reduction(+ : smooth, fidelity) reduction(min : lowest)
    for (std::int64_t k = 0; k < K; ++k) {
        const double zk = z[k], Lz = d * zk - wz[k], g = two_lam * Lz - b[k];
        smooth += zk * Lz;
        fidelity += zk * b[k];
        lowest = g < lowest ? g : lowest;
    }
#pragma omp simd reduction(+ : gap)
    for (std::int64_t k = 0; k < K; ++k) {
        const double g = two_lam * (d * z[k] - wz[k]) - b[k];
        gap += z[k] * (g - lowest);
    }
    stats[kSmoothness] += smooth;
    stats[kFidelity] += fidelity;
    stats[kGap] += gap;
}

// scratch (threads, k) OUT; stats (blocks, kStatistics) OUT: energy and certificate, the restart column zero.
template <class T>
void certify(const Problem<T>& p, const T* Z, double* scratch, double* stats, int threads) {
    with_fixed_length(p.k, [&](auto K) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (std::int64_t block = 0; block < block_count(p.n); ++block) {
            double *wz = scratch + thread_index() * K, *sums = stats + block * kStatistics;
            for (int i = 0; i < kStatistics; ++i) sums[i] = 0;
            for (std::int64_t n = block_begin(block); n < block_end(block, p.n); ++n) {
                gather_in_double(p.W, n, Z, K, wz);
                add_row_in_double(p, n, K, Z + n * K, wz, sums);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
