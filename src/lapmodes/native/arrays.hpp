// Plain views of the caller's arrays. All matrices are row-major and contiguous.
#pragma once

#include <cstdint>

namespace lapmodes {

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
    const T* sqnorm;  // sparse only: squared norm of each row
    std::int64_t n;
    std::int64_t d;
};

// The assignment problem: minimise lam tr(Z'LZ) - tr(B'Z), L = diag(diagonal) - W + c diagonal diagonal'.
template <class T>
struct Problem {
    Csr<T> W;
    const T* diagonal;
    const T* B;
    std::int64_t n;
    std::int64_t k;
    T lam;
    const T* masses;  // (k) c Z'diagonal at the Z in hand; nullptr where c = 0
};

// One step of accelerated projected gradient on it, from Z (n, k) with the given momentum.
template <class T>
struct Sweep {
    const T* Z;
    T* Z_old;               // IN: previous iterate, OUT: next iterate
    T* WZ_old;              // IN: W Z_old, OUT: W Z
    const T* step;          // step size of each row
    T momentum;
    std::uint8_t* touched;  // in which sweep (modulo 256) a row last learned that it or a neighbour changed
    std::int32_t* told;     // in which one it last told its neighbours, see awake.hpp
    std::int64_t number;    // of this sweep
    std::int64_t since;     // sweeps since the last one that summed energy and certificate; 0: they are not wanted
    T* shares;              // (blocks, 3, kBlockRows) of each row in energy and certificate
};

// 1 / (2 sigma^2): one value for all points (per_point == nullptr) or one a point.
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
    const T* sqnorm;   // (padded): squared norm of each, read for sparse points only
    std::int64_t k;
    std::int64_t padded;
    InverseWidth<T> h;
    bool squared;
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
    const T* masses;         // (k) with balance, else nullptr
    double lam;
    T* share;                // scratch, one an entry of `cross`
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
    bool common;     // own is one number for all points
    const T* other;  // one for each point that may be a neighbour, or nullptr
    bool relative;   // weights are divided by their sum, which may be smaller than any number
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
    std::int64_t largest() const {
        std::int64_t most = 0;
        for (std::int64_t g = 0; g < count; ++g) most = size(g) > most ? size(g) : most;
        return most;
    }
};

// The k nearest found so far of each point: (n, k).
template <class T>
struct Shortlists {
    T* sqdist;
    std::int32_t* index;
    std::int64_t k;
    const bool* closed;  // (n) lists that take nothing more; read by comparisons only
};

// Modes are taken in groups that fill one cache line.
template <class T>
inline constexpr std::int64_t kLanes = 64 / sizeof(T);

// Rows are handed to threads in blocks of this many; sums are kept a block, so that
// the result does not depend on the number of threads.
inline constexpr std::int64_t kBlockRows = 256;

// What a sweep sums over the rows of one block; the first kShares are kept a row.
enum Statistic { kSmoothness, kFidelity, kGap, kRestart, kStatistics, kShares = kRestart };

}  // namespace lapmodes
