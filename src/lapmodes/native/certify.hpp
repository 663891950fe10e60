// Energy and certificate of an iterate, and what they are relative to; all arithmetic in double.
#pragma once

#include <type_traits>

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// Calls body(k) with a k that the compiler knows where rows are short: their loops are then unrolled.
template <std::int64_t K = 8, class Body>
void with_length(std::int64_t k, Body body) {
    if constexpr (K == 0)
        body(k);
    else if (k == K)
        body(std::integral_constant<std::int64_t, K>{});
    else
        with_length<K - 1>(k, body);
}

// out (k) = sum_m w_nm Z_m
template <class T, class Length>
inline void gather_in_double(const Csr<T>& W, std::int64_t n, const T* Z, Length K, double* out) {
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
template <class T, class Length>
inline void tally_in_double(const Problem<T>& p, std::int64_t n, Length K, const T* z, const double* wz, double* stats) {
    const T* b = p.B + n * K;
    const double d = p.diagonal[n], two_lam = 2 * static_cast<double>(p.lam);
    double smooth = 0, fidelity = 0, dot = 0, lowest = two_lam * (d * z[0] - wz[0]) - b[0];
#pragma omp simd reduction(+ : smooth, fidelity) reduction(min : lowest)
    for (std::int64_t k = 0; k < K; ++k) {
        const double zk = z[k], spread = d * zk - wz[k], g = two_lam * spread - b[k];
        smooth += zk * spread;
        fidelity += zk * b[k];
        lowest = g < lowest ? g : lowest;
    }
#pragma omp simd reduction(+ : dot)
    for (std::int64_t k = 0; k < K; ++k) {
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
    with_length(p.k, [&](auto K) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (std::int64_t block = 0; block < blocks; ++block) {
            double *wz = scratch + thread_index() * K, *sums = stats + block * kStatistics;
            for (int i = 0; i < kStatistics; ++i) sums[i] = 0;
            const std::int64_t stop = p.n < (block + 1) * kBlockRows ? p.n : (block + 1) * kBlockRows;
            for (std::int64_t n = block * kBlockRows; n < stop; ++n) {
                gather_in_double(p.W, n, Z, K, wz);
                if (p.masses)
                    for (std::int64_t k = 0; k < K; ++k) wz[k] -= static_cast<double>(p.diagonal[n]) * p.masses[k];
                tally_in_double(p, n, K, Z + n * K, wz, sums);
            }
        }
    });
}

// sums (blocks) OUT: by how much the largest entry of a row is above its least one, or above 0 if all are positive.
template <class T>
void spreads(const T* B, std::int64_t n, std::int64_t k, double* sums, int threads) {
    const std::int64_t blocks = (n + kBlockRows - 1) / kBlockRows;
    with_length(k, [&](auto K) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (std::int64_t block = 0; block < blocks; ++block) {
            sums[block] = 0;
            const std::int64_t stop = n < (block + 1) * kBlockRows ? n : (block + 1) * kBlockRows;
            for (std::int64_t row = block * kBlockRows; row < stop; ++row) {
                const T* b = B + row * K;
                T high = b[0], low = 0;
                for (std::int64_t j = 0; j < K; ++j) {
                    high = b[j] > high ? b[j] : high;
                    low = b[j] < low ? b[j] : low;
                }
                sums[block] += static_cast<double>(high) - static_cast<double>(low);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
