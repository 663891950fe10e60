// Bindings of the C-step: kernel values, lists of members, the sums of mean-shift.
#include "bindings.hpp"
#include "kernels.hpp"
#include "members.hpp"
#include "threads.hpp"

using namespace lapmodes;

namespace {

template <class T>
void kernel_values(const Points<T>& X, const In<T>& modes_t, const In<T>& mode_sqnorm, const In<T>& h, bool squared,
                   const Out<T>& B, int threads) {
    const Modes<T> modes = modes_of(X, modes_t, mode_sqnorm, h, squared, B);
    threads = useful_threads(threads, X.n * modes.k * (X.d + 8));
    nb::gil_scoped_release release;
    kernels<T>().kernel_values(X, modes, B.data(), threads);
}

template <class T>
void shift_pieces(const Points<T>& X, const In<Index>& indptr, const In<std::int32_t>& rows, const In<T>& values,
                  const In<Index>& pieces, const In<T>& modes, const In<T>& mode_sqnorm, const In<T>& h,
                  const Out<double>& peak, const Out<double>& mass, const Out<double>& value, const Out<double>& sums,
                  int threads) {
    require(modes.ndim() == 2 && static_cast<Index>(modes.shape(1)) == X.d && mode_sqnorm.size() == modes.shape(0) &&
                indptr.size() == modes.shape(0) + 1 && rows.size() == values.size() &&
                static_cast<Index>(rows.size()) == indptr.data()[indptr.size() - 1],
            "X, modes and the lists of members do not fit together");
    const auto count = static_cast<Index>(peak.size());
    require(static_cast<Index>(pieces.size()) == 3 * count && static_cast<Index>(sums.size()) == count * X.d &&
                mass.size() == peak.size() && value.size() == peak.size(),
            "pieces, peak, mass, value and sums do not fit together");
    for (Index p = 0; p < count; ++p) {
        const Index* piece = pieces.data() + 3 * p;
        require(piece[0] >= 0 && piece[0] < static_cast<Index>(modes.shape(0)) && piece[1] >= 0 &&
                    piece[1] <= piece[2] && piece[2] <= static_cast<Index>(rows.size()),
                "pieces must lie in the lists of members");
        require(piece[1] == piece[2] || rows.data()[piece[2] - 1] < X.n, "members come in order and are below n");
    }
    const InverseWidth<T> width = width_of(h, X.n);
    const Index entries = X.dense ? X.n * X.d : X.sparse.indptr[X.n];
    threads = useful_threads(threads, entries + 8 * static_cast<Index>(rows.size()));
    nb::gil_scoped_release release;
    kernels<T>().shift_pieces(X, {indptr.data(), rows.data(), values.data()}, pieces.data(), count, modes.data(),
                              mode_sqnorm.data(), width, peak.data(), mass.data(), value.data(), sums.data(), threads);
}

template <class T>
void bind(nb::module_& m) {
    // Points come as (X,) or as (indptr, indices, values, sqnorm, d).
    m.def("kernel_values", [](const In<T>& X, const In<T>& modes_t, const In<T>& mode_sqnorm, const In<T>& h,
                              bool squared, const Out<T>& B, int threads) {
        kernel_values<T>(dense_points(X), modes_t, mode_sqnorm, h, squared, B, threads);
    }, "X"_a.noconvert(), "modes_t"_a.noconvert(), "mode_sqnorm"_a.noconvert(), "h"_a.noconvert(), "squared"_a,
       "B"_a.noconvert(), "threads"_a);

    m.def("kernel_values", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& values,
                              const In<T>& sqnorm, Index d, const In<T>& modes_t, const In<T>& mode_sqnorm,
                              const In<T>& h, bool squared, const Out<T>& B, int threads) {
        kernel_values<T>(sparse_points(indptr, indices, values, sqnorm, d), modes_t, mode_sqnorm, h, squared, B,
                         threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(), "sqnorm"_a.noconvert(), "d"_a,
       "modes_t"_a.noconvert(), "mode_sqnorm"_a.noconvert(), "h"_a.noconvert(), "squared"_a, "B"_a.noconvert(),
       "threads"_a);

    m.def("shift_pieces", [](const In<T>& X, const In<Index>& indptr, const In<std::int32_t>& rows,
                             const In<T>& values, const In<Index>& pieces, const In<T>& modes,
                             const In<T>& mode_sqnorm, const In<T>& h, const Out<double>& peak,
                             const Out<double>& mass, const Out<double>& value, const Out<double>& sums,
                             int threads) {
        shift_pieces<T>(dense_points(X), indptr, rows, values, pieces, modes, mode_sqnorm, h, peak, mass, value, sums,
                        threads);
    });

    m.def("shift_pieces", [](const In<Index>& x_indptr, const In<std::int32_t>& x_indices, const In<T>& x_values,
                             const In<T>& sqnorm, Index d, const In<Index>& indptr, const In<std::int32_t>& rows,
                             const In<T>& values, const In<Index>& pieces, const In<T>& modes,
                             const In<T>& mode_sqnorm, const In<T>& h, const Out<double>& peak,
                             const Out<double>& mass, const Out<double>& value, const Out<double>& sums,
                             int threads) {
        shift_pieces<T>(sparse_points(x_indptr, x_indices, x_values, sqnorm, d), indptr, rows, values, pieces, modes,
                        mode_sqnorm, h, peak, mass, value, sums, threads);
    });

    m.def("count_members", [](const In<T>& Z, const Out<Index>& counts, int threads) {
        require(Z.ndim() == 2 && counts.ndim() == 2 && counts.shape(1) == Z.shape(1), "counts must be (chunks, k)");
        threads = useful_threads(threads, static_cast<Index>(Z.size()));
        nb::gil_scoped_release release;
        lapmodes::count_members(Z.data(), static_cast<Index>(Z.shape(0)), static_cast<Index>(Z.shape(1)),
                                static_cast<Index>(counts.shape(0)), counts.data(), threads);
    }, "Z"_a.noconvert(), "counts"_a.noconvert(), "threads"_a);

    // `at` must hold the sums of count_members' counts before each: it is trusted.
    m.def("list_members", [](const In<T>& Z, const Out<Index>& at, const Out<std::int32_t>& rows,
                             const Out<T>& values, int threads) {
        require(Z.ndim() == 2 && at.ndim() == 2 && at.shape(1) == Z.shape(1) && rows.size() == values.size(),
                "at must be (chunks, k), rows and values one entry a member");
        threads = useful_threads(threads, static_cast<Index>(Z.size()));
        nb::gil_scoped_release release;
        lapmodes::list_members(Z.data(), static_cast<Index>(Z.shape(0)), static_cast<Index>(Z.shape(1)),
                               static_cast<Index>(at.shape(0)), at.data(), rows.data(), values.data(), threads);
    }, "Z"_a.noconvert(), "at"_a.noconvert(), "rows"_a.noconvert(), "values"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_cstep(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}
