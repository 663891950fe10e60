// The table of hot loops. It is compiled once for each instruction set (kernels.cpp); module.cpp picks the best one
// that the processor has. Each kernel is described, with what is IN and OUT, in the header of its name.
#pragma once

#include <cstdint>

#include "arrays.hpp"

namespace lapmodes {

template <class T>
struct Kernels {
    // simplex.hpp; V (n, k) IN/OUT.
    void (*project_rows)(T* V, std::int64_t n, std::int64_t k, int threads);

    // sweep.hpp; sweep IN/OUT, stats (blocks, kStatistics) OUT.
    void (*sweep)(const Problem<T>& problem, const Sweep<T>& sweep, double* stats, int threads);

    // certify.hpp; scratch (threads, k) OUT, stats (blocks, kStatistics) OUT.
    void (*certify)(const Problem<T>& problem, const T* Z, double* scratch, double* stats, int threads);

    // row_ranges.hpp; sums (blocks) OUT.
    void (*row_ranges)(const T* B, std::int64_t n, std::int64_t k, double* sums, int threads);

    // kernel_values.hpp; B (n, k) OUT.
    void (*kernel_values)(const Points<T>& X, const Modes<T>& modes, T* B, int threads);

    // mean_shift.hpp; peak, mass, value (count) OUT, sums (count, d) OUT.
    void (*mean_shift_sums)(const Points<T>& X, const Csr<T>& members, const std::int64_t* pieces, std::int64_t count,
                            const T* modes, const T* mode_sqnorm, InverseWidth<T> h, double* peak, double* mass,
                            double* value, double* sums, int threads);

    // mapping.hpp; Z (n, k) OUT.
    void (*map_points)(const Mapping<T>& mapping, const Modes<T>& modes, T* Z, int threads);

    // gaussian_weights.hpp; weights (n, m) OUT.
    void (*gaussian_weights)(const Neighborhood<T>& near, const Widths<T>& widths, T* weights, int threads);

    // entropic_precisions.hpp; beta (n) OUT.
    void (*entropic_precisions)(const T* distances, std::int64_t n, std::int64_t m, double perplexity, double* beta,
                                int threads);

    // compare_groups.hpp; lists IN/OUT.
    void (*compare_groups)(const Groups<T>& queries, const Groups<T>& rows, const std::int32_t* pairs,
                           std::int64_t count, bool same, const Shortlists<T>& lists, int threads);

    // pick_neighbors.hpp; lists OUT.
    void (*pick_neighbors)(const T* Q, std::int64_t n, const T* X, std::int64_t d, const std::int32_t* candidates,
                           std::int64_t m, bool same, bool expand, const Shortlists<T>& lists, int threads);
};

// The table of the instruction set in use; defined in module.cpp.
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
