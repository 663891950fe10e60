// The Z-step's inner loop: one pass over the graph that gathers neighbours, takes the gradient at
// the extrapolated point, projects, and sums the energy and the certificate of the current iterate.
#pragma once

#include "arrays.hpp"
#include "simplex.hpp"

namespace lapmodes::LAPMODES_ISA {

// out (k) = sum_m w_nm Z_m
template <class T, int Size, class Out>
inline void gather(const Csr<T>& W, std::int64_t n, const T* Z, std::int64_t k, Out* out) {
    const std::int64_t K = Size > 0 ? Size : k;
    for (std::int64_t j = 0; j < K; ++j) out[j] = 0;
    const std::int64_t end = W.indptr[n + 1];
    for (std::int64_t e = W.indptr[n]; e < end; ++e) {
        const Out w = static_cast<Out>(W.values[e]);
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * K;
#pragma omp simd
        for (std::int64_t j = 0; j < K; ++j) out[j] += w * z[j];
    }
}

// Adds row n's share of energy and certificate, from z and wz = (W Z)_n.
// gap_n = sum_k z_k (g_k - min g) with g = 2 lam (d z - wz) - b: summed over n it bounds E(Z) - min E.
template <class T, int Size, class Acc>
inline void tally(const Problem<T>& p, std::int64_t n, const T* z, const Acc* wz, double* stats) {
    const std::int64_t K = Size > 0 ? Size : p.k;
    const T* b = p.B + n * K;
    const Acc d = p.diagonal[n], two_lam = 2 * static_cast<Acc>(p.lam);
    Acc smooth = 0, fidelity = 0, dot = 0, lowest = two_lam * (d * z[0] - wz[0]) - b[0];
#pragma omp simd reduction(+ : smooth, fidelity) reduction(min : lowest)
    for (std::int64_t k = 0; k < K; ++k) {
        const Acc zk = z[k], spread = d * zk - wz[k], g = two_lam * spread - b[k];
        smooth += zk * spread;
        fidelity += zk * b[k];
        lowest = g < lowest ? g : lowest;
    }
#pragma omp simd reduction(+ : dot)
    for (std::int64_t k = 0; k < K; ++k) {
        const Acc g = two_lam * (d * z[k] - wz[k]) - b[k];
        dot += z[k] * (g - lowest);
    }
    stats[kSmoothness] += static_cast<double>(smooth);
    stats[kFidelity] += static_cast<double>(fidelity);
    stats[kGap] += static_cast<double>(dot);
}

template <class T, int Size>
void sweep_sized(const Problem<T>& p, const T* Z, T* Z_old, T* WZ_old, const T* step, T momentum, T* scratch,
                 double* stats, int threads) {
    const std::int64_t K = Size > 0 ? Size : p.k;
    const std::int64_t blocks = (p.n + kBlockRows - 1) / kBlockRows;
#pragma omp parallel num_threads(threads)
    {
        T fixed[Size > 0 ? 2 * Size : 1];
        T* wz = Size > 0 ? fixed : scratch + thread_index() * 2 * K;
        T* v = wz + K;
#pragma omp for schedule(dynamic, 4)
        for (std::int64_t block = 0; block < blocks; ++block) {
            double sums[kStatistics] = {0, 0, 0, 0};
            const std::int64_t stop = p.n < (block + 1) * kBlockRows ? p.n : (block + 1) * kBlockRows;
            for (std::int64_t n = block * kBlockRows; n < stop; ++n) {
                const T *z = Z + n * K, *b = p.B + n * K;
                T *z_old = Z_old + n * K, *wz_old = WZ_old + n * K;
                gather<T, Size, T>(p.W, n, Z, K, wz);
                tally<T, Size, T>(p, n, z, wz, sums);
                const T s = step[n], keep = 1 - 2 * p.lam * p.diagonal[n] * s, pull = 2 * p.lam * s;
#pragma omp simd
                for (std::int64_t k = 0; k < K; ++k) {
                    const T y = z[k] + momentum * (z[k] - z_old[k]);
                    const T wy = wz[k] + momentum * (wz[k] - wz_old[k]);
                    wz_old[k] = wz[k];
                    z_old[k] = y;
                    v[k] = keep * y + pull * wy + s * b[k];
                }
                project_row<T, Size>(v, K);
                T uphill = 0;
#pragma omp simd reduction(+ : uphill)
                for (std::int64_t k = 0; k < K; ++k) {
                    uphill += (z_old[k] - v[k]) * (v[k] - z[k]);
                    z_old[k] = v[k];
                }
                sums[kRestart] += static_cast<double>(uphill) / static_cast<double>(s);
            }
            for (int i = 0; i < kStatistics; ++i) stats[block * kStatistics + i] = sums[i];
        }
    }
}

// Small numbers of clusters get a loop of their own, unrolled by the compiler.
template <class T>
void sweep(const Problem<T>& p, const T* Z, T* Z_old, T* WZ_old, const T* step, T momentum, T* scratch,
           double* stats, int threads) {
    auto run = sweep_sized<T, 0>;
    switch (p.k) {
        case 2: run = sweep_sized<T, 2>; break;
        case 3: run = sweep_sized<T, 3>; break;
        case 4: run = sweep_sized<T, 4>; break;
        case 5: run = sweep_sized<T, 5>; break;
        case 6: run = sweep_sized<T, 6>; break;
        case 7: run = sweep_sized<T, 7>; break;
        case 8: run = sweep_sized<T, 8>; break;
        case 10: run = sweep_sized<T, 10>; break;
        case 12: run = sweep_sized<T, 12>; break;
        case 16: run = sweep_sized<T, 16>; break;
        case 20: run = sweep_sized<T, 20>; break;
        default: break;
    }
    run(p, Z, Z_old, WZ_old, step, momentum, scratch, stats, threads);
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
                gather<T, 0, double>(p.W, n, Z, p.k, wz);
                tally<T, 0, double>(p, n, Z + n * p.k, wz, sums);
            }
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
