// Bindings of the loops for many clusters, whose assignments hold only what is not zero.

#include <vector>

#define LAPMODES_ISA portable
#include "bindings.hpp"
#include "sparse_sweep.hpp"
#include "threads.hpp"

using namespace lapmodes;
using namespace lapmodes::portable;

namespace {

using Column = std::int32_t;

template <class T>
Index size_of(const T& array) {
    return static_cast<Index>(array.size());
}

void check_columns(const Column* columns, Index count, Index k) {
    for (Index i = 0; i < count; ++i) require(columns[i] >= 0 && columns[i] < k, "columns must be from 0 to k - 1");
}

// The caller holds the arrays as long as the term.
template <class T>
Term<T> term_of(const Points<T>& X, const In<T>& modes, const In<T>& mode_sqnorm, const In<T>& h, bool squared,
                const In<T>& weight, const In<Index>& pull_indptr, const In<Column>& pull_indices,
                const In<T>& pull_values, const In<Column>& column, const In<T>& value, const In<T>& bound) {
    require(modes.ndim() == 2 && static_cast<Index>(modes.shape(1)) == X.d, "modes must be (k, d)");
    const auto k = static_cast<Index>(modes.shape(0));
    require(size_of(mode_sqnorm) == k, "mode_sqnorm must be (k,)");
    require(weight.size() == 0 || size_of(weight) == X.n, "weight must have none or n entries");
    require(pull_indptr.size() == 0 || size_of(pull_indptr) == X.n + 1, "pull_indptr must have none or n + 1 entries");
    require(pull_indices.size() == pull_values.size() &&
                (pull_indptr.size() == 0 || pull_indptr.data()[X.n] == size_of(pull_indices)),
            "pull must be an (n, k) matrix");
    require(column.ndim() == 2 && static_cast<Index>(column.shape(0)) == X.n && column.size() == value.size() &&
                size_of(bound) == X.n,
            "column and value must be (n, m), bound (n,)");
    check_columns(column.data(), size_of(column), k);
    return {X,
            modes.data(),
            mode_sqnorm.data(),
            width_of(h, X.n),
            squared,
            weight.size() ? weight.data() : nullptr,
            {pull_indptr.size() ? pull_indptr.data() : nullptr, pull_indices.data(), pull_values.data()},
            column.data(),
            value.data(),
            bound.data(),
            k,
            static_cast<Index>(column.shape(1))};
}

Slots slots_of(const In<Index>& start, const Out<Column>& count, const Out<Column>& column, const Out<double>& value) {
    require(start.size() == count.size() + 1 && column.size() == value.size() &&
                start.data()[count.size()] == size_of(column),
            "start must have n + 1 entries, count n, column and value start[n]");
    return {start.data(), count.data(), column.data(), value.data()};
}

void check_rows(const Slots& rows, Index n, Index k) {
    for (Index i = 0; i < n; ++i) {
        require(rows.count[i] >= 0 && rows.count[i] <= rows.start[i + 1] - rows.start[i], "a row is larger than its room");
        check_columns(rows.column + rows.start[i], rows.count[i], k);
    }
}

template <class T>
void bind_term(nb::module_& m, const char* name) {
    nb::class_<Term<T>>(m, name);
    m.def("sparse_term", [](const In<T>& X, const In<T>& modes, const In<T>& mode_sqnorm, const In<T>& h, bool squared,
                            const In<T>& weight, const In<Index>& pull_indptr, const In<Column>& pull_indices,
                            const In<T>& pull_values, const In<Column>& column, const In<T>& value,
                            const In<T>& bound) {
        return term_of(dense_points(X), modes, mode_sqnorm, h, squared, weight, pull_indptr, pull_indices, pull_values,
                       column, value, bound);
    });
    m.def("sparse_term", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& values,
                            const In<T>& sqnorm, Index d, const In<T>& modes, const In<T>& mode_sqnorm, const In<T>& h,
                            bool squared, const In<T>& weight, const In<Index>& pull_indptr,
                            const In<Column>& pull_indices, const In<T>& pull_values, const In<Column>& column,
                            const In<T>& value, const In<T>& bound) {
        return term_of(sparse_points(indptr, indices, values, sqnorm, d), modes, mode_sqnorm, h, squared, weight,
                       pull_indptr, pull_indices, pull_values, column, value, bound);
    });
}

template <class T>
void bind(nb::module_& m) {
    m.def("keep_largest", [](const In<T>& B, const Out<Column>& column, const Out<T>& value, const Out<T>& bound,
                             const Out<T>& least, int threads) {
        require(B.ndim() == 2 && B.shape(1) > 0 && column.ndim() == 2 && column.shape(0) == B.shape(0) &&
                    column.shape(1) <= B.shape(1) && value.size() == column.size() && bound.size() == B.shape(0) &&
                    least.size() == B.shape(0),
                "B must be (n, k), column and value (n, m) with m <= k, bound and least (n,)");
        threads = useful_threads(threads, size_of(B));
        nb::gil_scoped_release release;
        keep_largest<T>(B.data(), B.shape(0), B.shape(1), column.shape(1), column.data(), value.data(), bound.data(),
                        least.data(), threads);
    }, "B"_a.noconvert(), "column"_a.noconvert(), "value"_a.noconvert(), "bound"_a.noconvert(),
       "least"_a.noconvert(), "threads"_a);

    m.def("sparse_sweep", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights,
                             const In<T>& diagonal, const Term<T>& term, double lam, double slack,
                             const In<Index>& start,
                             const Out<Column>& count, const Out<Column>& column, const Out<double>& value,
                             const Out<Column>& old_count, const Out<Column>& old_column,
                             const Out<double>& old_value, const Out<Column>& next_count,
                             const Out<Column>& next_column, const Out<double>& next_value, const In<double>& step,
                             double momentum, const Out<double>& stats, int threads) {
        const Index n = term.X.n;
        require(size_of(indptr) == n + 1 && size_of(diagonal) == n && indices.size() == weights.size() &&
                    indptr.data()[n] == size_of(indices),
                "the graph must be an (n, n) matrix");
        const Slots Z = slots_of(start, count, column, value), old = slots_of(start, old_count, old_column, old_value);
        const bool steps = next_count.size() > 0;
        const Slots next = steps ? slots_of(start, next_count, next_column, next_value) : Slots{};
        require(size_of(count) == n && (!steps || size_of(step) == n), "Z and step must have n rows");
        require(size_of(stats) == (n + kBlockRows - 1) / kBlockRows * kStatistics, "stats must be (blocks, 4)");
        check_rows(Z, n, term.k);
        check_rows(old, n, term.k);
        threads = useful_threads(threads, 8 * size_of(indices));
        nb::gil_scoped_release release;
        const SparseProblem<T> problem{{indptr.data(), indices.data(), weights.data()}, diagonal.data(), &term, n, lam,
                                       slack};
        return sparse_sweep<T>(problem, Z, old, next, step.data(), momentum, stats.data(), threads);
    });
}

}  // namespace

void bind_sparse(nb::module_& m) {
    bind_term<float>(m, "SparseTerm32");
    bind_term<double>(m, "SparseTerm64");
    bind<float>(m);
    bind<double>(m);
}
