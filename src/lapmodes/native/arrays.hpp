// What the kernels take: plain views of the caller's arrays. All matrices are row-major and contiguous.
// A pointer to const is IN; every other one says whether it is OUT or IN/OUT.
#pragma once

#include <cstdint>

namespace lapmodes {

// Rows are handed to threads in blocks of this many. Sums are kept for each block, so that the result does not depend
// on the number of threads.
inline constexpr std::int64_t kBlockRows = 256;

constexpr std::int64_t block_count(std::int64_t n) { return (n + kBlockRows - 1) / kBlockRows; }

// Block b of n rows holds the rows [block_begin(b), block_end(b, n)).
constexpr std::int64_t block_begin(std::int64_t block) { return block * kBlockRows; }
constexpr std::int64_t block_end(std::int64_t block, std::int64_t n) {
    return n < (block + 1) * kBlockRows ? n : (block + 1) * kBlockRows;
}

// What the Z-step sums over the rows of each block: tr(Z'LZ), tr(B'Z), the certificate, and whether the step goes
// against the momentum. The first kRowStatistics are also kept for each row.
enum Statistic { kSmoothness, kFidelity, kGap, kRestart, kStatistics, kRowStatistics = kRestart };

// Modes are taken in groups that fill one cache line.
template <class T>
inline constexpr std::int64_t kLanes = 64 / sizeof(T);

// A CSR matrix: row n holds values[indptr[n] .. indptr[n + 1]) in columns indices[...].
template <class T>
struct Csr {
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const T* values;
};

// N points in D dimensions, dense or sparse (dense == nullptr).
template <class T>
struct Points {
    const T* dense;
    Csr<T> sparse;
    const T* sqnorm;  // sparse points only: the squared norm of each row
    std::int64_t n;
    std::int64_t d;
};

// 1 / (2 sigma^2): one value for all points (per_point == nullptr) or one for each point.
// Zero is the limit of infinite bandwidth.
template <class T>
struct InverseWidth {
    const T* per_point;
    T common;
    T operator()(std::int64_t n) const { return per_point ? per_point[n] : common; }
};

// K modes as columns, and what is wanted of them: exp(-|x_n - c_j|^2 h_n), or -|x_n - c_j|^2 where `squared` is set.
template <class T>
struct Modes {
    const T* columns;  // (d, padded), padded to a multiple of kLanes
    const T* sqnorm;   // (padded): the squared norm of each mode, read for sparse points only
    std::int64_t k;
    std::int64_t padded;
    InverseWidth<T> h;
    bool squared;
};

// The assignment problem: minimise lam tr(Z'LZ) - tr(B'Z), L = diag(diagonal) - W, rows of Z on the simplex.
template <class T>
struct Problem {
    Csr<T> W;
    const T* diagonal;  // (n)
    const T* B;         // (n, k)
    std::int64_t n;
    std::int64_t k;
    T lam;
};

// One step of accelerated projected gradient on it, from Z (n, k) with the given momentum.
template <class T>
struct Sweep {
    const T* Z;
    T* Z_old;                         // IN: the previous iterate, OUT: the next one
    T* WZ_old;                        // IN: W Z_old, OUT: W Z
    const T* step;                    // (n): the step size of each row
    T momentum;
    std::uint8_t* changed_at;         // (n) IN/OUT: when a row or a neighbour of it last changed, see active_rows.hpp
    std::int32_t* announced_at;       // (n) IN/OUT: when a row last announced a change to its neighbours
    std::int64_t sweep_number;
    std::int64_t sweeps_since_stats;  // since energy and certificate were last summed; 0: they are not wanted now
    T* row_stats;                     // (blocks, kRowStatistics, kBlockRows) IN/OUT: each row's part of the sums
};

// New points, their weights to training points, and what is known of those.
template <class T>
struct Mapping {
    Points<T> X;
    Csr<T> cross;            // (n, N)
    const T* Z;              // (N, k), or nullptr where assignments are sparse
    Csr<T> sparse_Z;
    const T* sample_weight;  // (N), or nullptr
    const T* degrees;        // (N) where the Laplacian is normalised, else nullptr
    double lam;
    T* scaled_weights;       // OUT: the weights of the mean over the neighbours, one for each entry of `cross`
};

// The m nearest of each of n points, nearest first.
template <class T>
struct Neighborhood {
    const std::int32_t* indices;  // (n, m)
    const T* distances;           // (n, m)
    std::int64_t n;
    std::int64_t m;
};

// Weights exp(-(d / own_n) (d / other_j)) of the neighbours j of n; without `other` own_n stands for it.
template <class T>
struct Widths {
    const T* own;
    bool common;      // own is one number for all points
    const T* other;   // one for each point that may be a neighbour, or nullptr
    bool normalized;  // weights are divided by their sum, which may be too small for a number
};

// Rows of X (., d) in groups: those of group g have the numbers order[starts[g] .. starts[g + 1]).
template <class T>
struct Groups {
    const T* X;
    const std::int32_t* order;
    const std::int64_t* starts;
    std::int64_t count;
    std::int64_t d;

    const std::int32_t* numbers(std::int64_t g) const { return order + starts[g]; }
    std::int64_t size(std::int64_t g) const { return starts[g + 1] - starts[g]; }
};

// The k nearest found so far of each point.
template <class T>
struct Shortlists {
    T* sqdist;            // (n, k) IN/OUT
    std::int32_t* index;  // (n, k) IN/OUT
    std::int64_t k;
    const bool* closed;   // (n): lists that take nothing more; read by compare_groups only
};

}  // namespace lapmodes
