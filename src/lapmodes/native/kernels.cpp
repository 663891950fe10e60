// Compiled once for each instruction set, with LAPMODES_ISA naming it.
#include "kernels.hpp"

#include "certify.hpp"
#include "compare_groups.hpp"
#include "entropic_precisions.hpp"
#include "gaussian_weights.hpp"
#include "isa.hpp"
#include "kernel_values.hpp"
#include "mapping.hpp"
#include "mean_shift.hpp"
#include "pick_neighbors.hpp"
#include "row_ranges.hpp"
#include "simplex.hpp"
#include "sweep.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T>
const Kernels<T>& kernels() {
    static constexpr Kernels<T> table{
        .project_rows = project_rows<T>,
        .sweep = sweep<T>,
        .certify = certify<T>,
        .row_ranges = row_ranges<T>,
        .kernel_values = kernel_values<T>,
        .mean_shift_sums = mean_shift_sums<T>,
        .map_points = map_points<T>,
        .gaussian_weights = gaussian_weights<T>,
        .entropic_precisions = entropic_precisions<T>,
        .compare_groups = compare_groups<T>,
        .pick_neighbors = pick_neighbors<T>,
    };
    return table;
}

template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace lapmodes::LAPMODES_ISA
