// The table of hot loops. It is compiled once an instruction set (kernels.cpp); module.cpp
// picks the best one the processor has.
#pragma once

#include "arrays.hpp"

namespace lapmodes {

template <class T>
struct Kernels {
    // V (n, k) IN/OUT: each row is replaced by its projection onto the simplex.
    void (*project_rows)(T* V, std::int64_t n, std::int64_t k, int threads);

    // stats (blocks, kStatistics) OUT: energy and certificate at Z where wanted, else 0; restart test.
    void (*sweep)(const Problem<T>& problem, const Sweep<T>& sweep, double* stats, int threads);

    // stats OUT as in sweep (restart column zero), all arithmetic in double.
    void (*certify)(const Problem<T>& problem, const T* Z, double* scratch, double* stats, int threads);

    // sums (blocks) OUT: by how much a row's largest entry is above its least one, or above 0 if all are positive.
    void (*spreads)(const T* B, std::int64_t n, std::int64_t k, double* sums, int threads);

    // B (n, k) OUT.
    void (*kernel_values)(const Points<T>& X, const Modes<T>& modes, T* B, int threads);

    // Z (n, k) OUT: assignments of new points.
    void (*map_points)(const Mapping<T>& mapping, const Modes<T>& modes, T* Z, int threads);

    // weights (n, m) OUT, beta (n) OUT: affinities of neighbours; see weights.hpp.
    void (*gaussian_weights)(const Neighborhood<T>& near, const Widths<T>& widths, T* weights, int threads);
    void (*entropic_precisions)(const T* distances, std::int64_t n, std::int64_t m, double perplexity, double* beta,
                                int threads);

    // Sums of one mean-shift step over pieces (count, 3) IN: cluster, first and last + 1 of its members in the lists.
    // peak, mass, value (count) OUT and sums (count, d) OUT, scaled by exp(-peak).
    void (*shift_pieces)(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                         const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass,
                         double* value, double* sums, int threads);

    // Shortlists of nearest neighbours; see compare.hpp and neighbors.hpp.
    void (*compare_groups)(const Groups<T>& queries, const Groups<T>& rows, const std::int32_t* pairs, std::int64_t count,
                           bool same, const Shortlists<T>& lists, int threads);
    void (*pick_neighbors)(const T* Q, std::int64_t n, const T* X, std::int64_t d, const std::int32_t* candidates,
                           std::int64_t m, bool same, bool further, const Shortlists<T>& lists, int threads);
};

// The best one that the processor has; defined in module.cpp.
template <class T>
const Kernels<T>& kernels();

namespace baseline {
template <class T>
const Kernels<T>& kernels();
}
#ifdef LAPMODES_X86
namespace avx2 {
template <class T>
const Kernels<T>& kernels();
}
#endif
#ifdef LAPMODES_AVX512
namespace avx512 {
template <class T>
const Kernels<T>& kernels();
}
#endif

}  // namespace lapmodes
