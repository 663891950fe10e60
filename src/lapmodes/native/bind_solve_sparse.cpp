// Bindings of the solver's loops for many clusters, whose assignments hold only what is not zero.
// They are compiled once, for any processor.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "isa.hpp"
#include "keep_largest.hpp"
#include "sparse_sweep.hpp"
#include "sparse_term.hpp"
#include "threads.hpp"

namespace lapmodes {
namespace {

using namespace LAPMODES_ISA;

constexpr const char* kColumnsMessage = "columns must be from 0 to k - 1";

// The caller keeps the arrays alive as long as the term.
template <class T>
SparseTerm<T> term_of(const nb::tuple& points, const In<T>& modes, const In<T>& mode_sqnorm, const In<T>& h,
                      bool squared, const std::optional<In<T>>& sample_weight, const std::optional<nb::tuple>& prior,
                      const In<Column>& column, const In<T>& value, const In<T>& bound) {
    const Points<T> X = points_of<T>(points);
    require(modes.ndim() == 2 && length(modes, 1) == X.d, "modes must be (k, d)");
    const Index k = length(modes, 0);
    require(size_of(mode_sqnorm) == k, "mode_sqnorm must be (k,)");
    require(column.ndim() == 2 && length(column, 0) == X.n && column.size() == value.size() && size_of(bound) == X.n,
            "column and value must be (n, m), bound (n,)");
    require_below(column.data(), size_of(column), k, kColumnsMessage);
    return {.X = X,
            .modes = modes.data(),
            .mode_sqnorm = mode_sqnorm.data(),
            .h = width_of(h, X.n),
            .squared = squared,
            .weight = optional_of(sample_weight, X.n),
            .prior = prior ? csr_of<T>(*prior, X.n) : Csr<T>{},
            .column = column.data(),
            .value = value.data(),
            .bound = bound.data(),
            .k = k,
            .m = length(column, 1)};
}

// arrays: (count, column, value)
PaddedRows rows_of(const In<Index>& start, const nb::tuple& arrays, Index n) {
    require(arrays.size() == 3, "rows must be (count, column, value)");
    const auto count = array_of<Out<Column>>(arrays, 0), column = array_of<Out<Column>>(arrays, 1);
    const auto value = array_of<Out<double>>(arrays, 2);
    require(size_of(start) == n + 1 && size_of(count) == n && column.size() == value.size() &&
                size_of(column) == start.data()[n],
            "start must have n + 1 entries, count n, column and value start[n]");
    return {start.data(), count.data(), column.data(), value.data()};
}

void require_valid(const PaddedRows& rows, Index n, Index k) {
    for (Index i = 0; i < n; ++i) {
        require(rows.count[i] >= 0 && rows.count[i] <= rows.start[i + 1] - rows.start[i],
                "a row is larger than its room");
        for (Index e = rows.start[i]; e < rows.start[i] + rows.count[i]; ++e)
            require(rows.column[e] >= 0 && rows.column[e] < k, kColumnsMessage);
    }
}

template <class T>
void bind(nb::module_& m, const char* name) {
    nb::class_<SparseTerm<T>>(m, name);

    m.def("sparse_term", &term_of<T>, "points"_a, "modes"_a.noconvert(), "mode_sqnorm"_a.noconvert(),
          "h"_a.noconvert(), "squared"_a, "sample_weight"_a.noconvert().none(), "prior"_a.none(),
          "column"_a.noconvert(), "value"_a.noconvert(), "bound"_a.noconvert());

    m.def("keep_largest", [](const In<T>& B, const Out<Column>& column, const Out<T>& value, const Out<T>& bound,
                             const Out<T>& least, int threads) {
        require(B.ndim() == 2 && B.shape(1) > 0 && column.ndim() == 2 && column.shape(0) == B.shape(0) &&
                    column.shape(1) <= B.shape(1) && value.size() == column.size() && bound.size() == B.shape(0) &&
                    least.size() == B.shape(0),
                "B must be (n, k), column and value (n, m) with m <= k, bound and least (n,)");
        threads = useful_threads(threads, size_of(B));
        nb::gil_scoped_release release;
        keep_largest(B.data(), length(B, 0), length(B, 1), length(column, 1), column.data(), value.data(),
                     bound.data(), least.data(), threads);
    }, "B"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "bound"_a.noconvert(),
       "least"_a.noconvert(), "threads"_a);

    m.def("sparse_sweep", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights,
                             const In<T>& diagonal, const SparseTerm<T>& term, double lam, double slack,
                             const In<Index>& start, const nb::tuple& Z, const nb::tuple& Z_old,
                             const std::optional<nb::tuple>& Z_next, const std::optional<In<double>>& step,
                             double momentum, const Out<double>& stats, int threads) {
        const Index n = term.X.n;
        require(size_of(diagonal) == n, "diagonal must have n entries");
        require(!Z_next || step, "a step needs step sizes");
        require(size_of(stats) == block_count(n) * kStatistics, "stats must be (blocks, 4)");
        const SparseProblem<T> problem{csr_of(indptr, indices, weights, n), diagonal.data(), &term, n, lam, slack};
        const PaddedRows now = rows_of(start, Z, n), old = rows_of(start, Z_old, n);
        const PaddedRows next = Z_next ? rows_of(start, *Z_next, n) : PaddedRows{};
        const double* sizes = optional_of(step, n);
        require_valid(now, n, term.k);
        require_valid(old, n, term.k);
        threads = useful_threads(threads, 8 * size_of(indices));
        nb::gil_scoped_release release;
        return sparse_sweep(problem, now, old, next, sizes, momentum, stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(), "term"_a,
       "lam"_a, "slack"_a, "start"_a.noconvert(), "Z"_a, "Z_old"_a, "Z_next"_a.none(), "step"_a.noconvert().none(),
       "momentum"_a, "stats"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_solve_sparse(nb::module_& m) {
    bind<float>(m, "SparseTerm32");
    bind<double>(m, "SparseTerm64");
}

}  // namespace lapmodes
