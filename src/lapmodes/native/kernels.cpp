// Compiled once an instruction set, with LAPMODES_ISA naming it.
#include "kernels.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace lapmodes::LAPMODES_ISA {
static inline int thread_index() {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
}  // namespace lapmodes::LAPMODES_ISA

#include "certify.hpp"
#include "compare.hpp"
#include "mapping.hpp"
#include "modes.hpp"
#include "shift.hpp"
#include "sweep.hpp"
#include "weights.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T>
const Kernels<T>& kernels() {
    static constexpr Kernels<T> table{project_rows<T>,  sweep<T>,      certify<T>,          spreads<T>,
                                      kernel_values<T>, map_points<T>, gaussian_weights<T>, entropic_precisions<T>,
                                      shift_pieces<T>,  compare_groups<T>, pick_neighbors<T>};
    return table;
}

template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace lapmodes::LAPMODES_ISA
