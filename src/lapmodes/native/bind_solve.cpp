// Bindings of the solver's loops: the Z-step, the C-step and the mapping for new points.
#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "bindings.hpp"
#include "kernels.hpp"
#include "members.hpp"
#include "threads.hpp"

namespace lapmodes {
namespace {

template <class T>
Problem<T> problem_of(const In<Index>& indptr, const In<Column>& indices, const In<T>& weights, const In<T>& diagonal,
                      const In<T>& B, double lam) {
    require(B.ndim() == 2 && B.shape(1) > 0, "B must be (n, k)");
    const Index n = length(B, 0);
    require(size_of(diagonal) == n, "diagonal must have n entries");
    return {csr_of(indptr, indices, weights, n), diagonal.data(), B.data(), n, length(B, 1), static_cast<T>(lam)};
}

// answer: (n, k), one row for each of n points and one column for each mode
template <class T>
Modes<T> modes_of(const Points<T>& X, const In<T>& columns, const In<T>& sqnorm, const In<T>& h, bool squared,
                  const Out<T>& answer) {
    require(columns.ndim() == 2 && answer.ndim() == 2 && answer.shape(1) > 0,
            "modes must be (d, padded), the answer (n, k)");
    const Index padded = length(columns, 1), k = length(answer, 1);
    require(length(columns, 0) == X.d && length(answer, 0) == X.n, "X, the modes and the answer do not fit together");
    require(padded % kLanes<T> == 0 && padded >= k && size_of(sqnorm) == padded,
            "modes must be padded to a multiple of LANES");
    return {columns.data(), sqnorm.data(), k, padded, width_of(h, X.n), squared};
}

void require_statistics(const Out<double>& stats, Index n) {
    require(size_of(stats) == block_count(n) * kStatistics, "stats must be (blocks, 4)");
}

template <class T>
void bind_assignments(nb::module_& m) {
    m.def("project_rows", [](const Out<T>& V, int threads) {
        require(V.ndim() == 2 && V.shape(1) > 0, "V must be (n, k)");
        threads = useful_threads(threads, size_of(V) * 8);
        nb::gil_scoped_release release;
        kernels<T>().project_rows(V.data(), length(V, 0), length(V, 1), threads);
    }, "V"_a.noconvert(), "threads"_a);

    m.def("sweep", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights, const In<T>& diagonal,
                      const In<T>& B, double lam, const In<T>& Z, const Out<T>& Z_old, const Out<T>& WZ_old,
                      const In<T>& step, double momentum, const Out<std::uint8_t>& changed_at,
                      const Out<std::int32_t>& announced_at, Index sweep_number, Index sweeps_since_stats,
                      const Out<T>& row_stats, const Out<double>& stats, int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam);
        require(Z.size() == B.size() && Z_old.size() == B.size() && WZ_old.size() == B.size(),
                "Z, Z_old and WZ_old must have the shape of B");
        require(size_of(step) == p.n && size_of(changed_at) == p.n && size_of(announced_at) == p.n,
                "step, changed_at and announced_at must have n entries");
        require(size_of(row_stats) == block_count(p.n) * kRowStatistics * kBlockRows,
                "row_stats must be (blocks, 3, BLOCK_ROWS)");
        require_statistics(stats, p.n);
        const Sweep<T> sweep{Z.data(), Z_old.data(), WZ_old.data(), step.data(), static_cast<T>(momentum),
                             changed_at.data(), announced_at.data(), sweep_number, sweeps_since_stats,
                             row_stats.data()};
        threads = useful_threads(threads, (size_of(indices) + 8 * p.n) * p.k);
        nb::gil_scoped_release release;
        kernels<T>().sweep(p, sweep, stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "Z"_a.noconvert(), "Z_old"_a.noconvert(), "WZ_old"_a.noconvert(),
       "step"_a.noconvert(), "momentum"_a, "changed_at"_a.noconvert(), "announced_at"_a.noconvert(), "sweep_number"_a,
       "sweeps_since_stats"_a, "row_stats"_a.noconvert(), "stats"_a.noconvert(), "threads"_a);

    m.def("certify", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights,
                        const In<T>& diagonal, const In<T>& B, double lam, const In<T>& Z, const Out<double>& stats,
                        int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam);
        require(Z.size() == B.size(), "Z must have the shape of B");
        require_statistics(stats, p.n);
        threads = useful_threads(threads, (size_of(indices) + 8 * p.n) * p.k);
        std::vector<double> scratch(static_cast<std::size_t>(threads * p.k));
        nb::gil_scoped_release release;
        kernels<T>().certify(p, Z.data(), scratch.data(), stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "Z"_a.noconvert(), "stats"_a.noconvert(), "threads"_a);

    m.def("row_ranges", [](const In<T>& B, const Out<double>& sums, int threads) {
        require(B.ndim() == 2 && B.shape(1) > 0, "B must be (n, k)");
        require(size_of(sums) == block_count(length(B, 0)), "sums must have an entry for each block");
        threads = useful_threads(threads, size_of(B));
        nb::gil_scoped_release release;
        kernels<T>().row_ranges(B.data(), length(B, 0), length(B, 1), sums.data(), threads);
    }, "B"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);
}

template <class T>
void bind_modes(nb::module_& m) {
    m.def("kernel_values", [](const nb::tuple& points, const In<T>& modes_t, const In<T>& mode_sqnorm, const In<T>& h,
                              bool squared, const Out<T>& B, int threads) {
        const Points<T> X = points_of<T>(points);
        const Modes<T> modes = modes_of(X, modes_t, mode_sqnorm, h, squared, B);
        threads = useful_threads(threads, X.n * modes.k * (X.d + 8));
        nb::gil_scoped_release release;
        kernels<T>().kernel_values(X, modes, B.data(), threads);
    }, "points"_a, "modes_t"_a.noconvert(), "mode_sqnorm"_a.noconvert(), "h"_a.noconvert(), "squared"_a,
       "B"_a.noconvert(), "threads"_a);

    m.def("count_members", [](const In<T>& Z, const Out<Index>& counts, int threads) {
        require(Z.ndim() == 2 && counts.ndim() == 2 && counts.shape(1) == Z.shape(1), "counts must be (chunks, k)");
        threads = useful_threads(threads, size_of(Z));
        nb::gil_scoped_release release;
        count_members(Z.data(), length(Z, 0), length(Z, 1), length(counts, 0), counts.data(), threads);
    }, "Z"_a.noconvert(), "counts"_a.noconvert(), "threads"_a);

    // `next` must be what the counts of count_members give: it is trusted.
    m.def("list_members", [](const In<T>& Z, const Out<Index>& next, const Out<std::int32_t>& rows,
                             const Out<T>& values, int threads) {
        require(Z.ndim() == 2 && next.ndim() == 2 && next.shape(1) == Z.shape(1) && rows.size() == values.size(),
                "next must be (chunks, k), rows and values one entry a member");
        threads = useful_threads(threads, size_of(Z));
        nb::gil_scoped_release release;
        list_members(Z.data(), length(Z, 0), length(Z, 1), length(next, 0), next.data(), rows.data(), values.data(),
                     threads);
    }, "Z"_a.noconvert(), "next"_a.noconvert(), "rows"_a.noconvert(), "values"_a.noconvert(), "threads"_a);

    m.def("mean_shift_sums", [](const nb::tuple& points, const In<Index>& indptr, const In<std::int32_t>& rows,
                                const In<T>& values, const In<Index>& pieces, const In<T>& modes,
                                const In<T>& mode_sqnorm, const In<T>& h, const Out<double>& peak,
                                const Out<double>& mass, const Out<double>& value, const Out<double>& sums,
                                int threads) {
        const Points<T> X = points_of<T>(points);
        require(modes.ndim() == 2 && length(modes, 1) == X.d && mode_sqnorm.size() == modes.shape(0),
                "modes must be (k, d), mode_sqnorm (k,)");
        const Csr<T> members = csr_of(indptr, rows, values, length(modes, 0));
        const Index count = size_of(peak);
        require(size_of(pieces) == 3 * count && size_of(sums) == count * X.d && mass.size() == peak.size() &&
                    value.size() == peak.size(),
                "pieces, peak, mass, value and sums do not fit together");
        for (Index p = 0; p < count; ++p) {
            const Index* piece = pieces.data() + 3 * p;
            require(piece[0] >= 0 && piece[0] < length(modes, 0) && piece[1] >= 0 && piece[1] <= piece[2] &&
                        piece[2] <= size_of(rows),
                    "pieces must lie in the lists of members");
            require(piece[1] == piece[2] || rows.data()[piece[2] - 1] < X.n, "members come in order and are below n");
        }
        const InverseWidth<T> width = width_of(h, X.n);
        threads = useful_threads(threads, (X.dense ? X.n * X.d : X.sparse.indptr[X.n]) + 8 * size_of(rows));
        nb::gil_scoped_release release;
        kernels<T>().mean_shift_sums(X, members, pieces.data(), count, modes.data(), mode_sqnorm.data(), width,
                                     peak.data(), mass.data(), value.data(), sums.data(), threads);
    }, "points"_a, "indptr"_a.noconvert(), "rows"_a.noconvert(), "values"_a.noconvert(), "pieces"_a.noconvert(),
       "modes"_a.noconvert(), "mode_sqnorm"_a.noconvert(), "h"_a.noconvert(), "peak"_a.noconvert(),
       "mass"_a.noconvert(), "value"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);
}

template <class T>
void bind_mapping(nb::module_& m) {
    m.def("map_points", [](const nb::tuple& points, const nb::tuple& cross, const nb::tuple& Z, Index n_train,
                           const In<T>& modes_t, const In<T>& mode_sqnorm, const In<T>& h, bool squared, double lam,
                           const std::optional<In<T>>& sample_weight, const std::optional<In<T>>& degrees,
                           const Out<T>& scaled_weights, const Out<T>& out, int threads) {
        Mapping<T> mapping{};
        mapping.X = points_of<T>(points);
        const Modes<T> modes = modes_of(mapping.X, modes_t, mode_sqnorm, h, squared, out);
        mapping.cross = csr_of<T>(cross, mapping.X.n);
        if (Z.size() == 1) {
            const auto dense = array_of<In<T>>(Z, 0);
            require(size_of(dense) == n_train * modes.k, "Z must be (n_train, k)");
            mapping.Z = dense.data();
        } else {
            mapping.sparse_Z = csr_of<T>(Z, n_train);
        }
        mapping.sample_weight = optional_of(sample_weight, n_train);
        mapping.degrees = optional_of(degrees, n_train);
        mapping.lam = lam;
        mapping.scaled_weights = scaled_weights.data();
        const Index edges = mapping.cross.indptr[mapping.X.n];
        require_below(mapping.cross.indices, edges, n_train, "neighbours must be from 0 to n_train - 1");
        require(size_of(scaled_weights) == edges, "scaled_weights must have an entry for each weight");
        threads = useful_threads(threads, mapping.X.n * modes.k * (mapping.X.d + 16) + edges * modes.k);
        nb::gil_scoped_release release;
        kernels<T>().map_points(mapping, modes, out.data(), threads);
    }, "points"_a, "cross"_a, "Z"_a, "n_train"_a, "modes_t"_a.noconvert(), "mode_sqnorm"_a.noconvert(),
       "h"_a.noconvert(), "squared"_a, "lam"_a, "sample_weight"_a.noconvert().none(), "degrees"_a.noconvert().none(),
       "scaled_weights"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_solve(nb::module_& m) {
    bind_assignments<float>(m);
    bind_assignments<double>(m);
    bind_modes<float>(m);
    bind_modes<double>(m);
    bind_mapping<float>(m);
    bind_mapping<double>(m);
}

}  // namespace lapmodes
