// Bindings of the loops that new points go through: affinities to their neighbours, then the mapping.

#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "kernels.hpp"
#include "threads.hpp"

using namespace lapmodes;

namespace {

using Column = std::int32_t;

// An array of a tuple, as it is: the tuple keeps it alive.
template <class A>
A array_of(const nb::tuple& arrays, std::size_t i) {
    return nb::cast<A>(arrays[i], false);
}

// (X,) or (indptr, indices, values, sqnorm, d)
template <class T>
Points<T> points_of(const nb::tuple& arrays) {
    require(arrays.size() == 1 || arrays.size() == 5, "points must be (X,) or (indptr, indices, values, sqnorm, d)");
    if (arrays.size() == 1) return dense_points(array_of<In<T>>(arrays, 0));
    return sparse_points(array_of<In<Index>>(arrays, 0), array_of<In<Column>>(arrays, 1), array_of<In<T>>(arrays, 2),
                         array_of<In<T>>(arrays, 3), nb::cast<Index>(arrays[4]));
}

// (indptr, indices, values) of n rows
template <class T>
Csr<T> csr_of(const nb::tuple& arrays, Index n) {
    require(arrays.size() == 3, "a CSR matrix must be (indptr, indices, values)");
    const auto indptr = array_of<In<Index>>(arrays, 0);
    const auto indices = array_of<In<Column>>(arrays, 1);
    const auto values = array_of<In<T>>(arrays, 2);
    require(static_cast<Index>(indptr.size()) == n + 1 && indices.size() == values.size() &&
                static_cast<Index>(indices.size()) == indptr.data()[n],
            "indptr, indices and values do not fit together");
    return {indptr.data(), indices.data(), values.data()};
}

void check_columns(const Column* columns, Index count, Index width) {
    std::uint32_t largest = 0;  // negative columns are large ones
    for (Index i = 0; i < count; ++i) {
        const auto column = static_cast<std::uint32_t>(columns[i]);
        largest = column > largest ? column : largest;
    }
    require(count == 0 || static_cast<Index>(largest) < width, "neighbours must be from 0 to n_train - 1");
}

template <class T>
const T* optional_of(const std::optional<In<T>>& array, Index n) {
    require(!array || static_cast<Index>(array->size()) == n, "an optional array has the wrong size");
    return array ? array->data() : nullptr;
}

template <class T>
void bind(nb::module_& m) {
    m.def("gaussian_weights", [](const In<Column>& indices, const In<T>& distances, const In<T>& own,
                                 const std::optional<In<T>>& other, bool relative, const Out<T>& weights,
                                 int threads) {
        require(distances.ndim() == 2 && indices.size() == distances.size() && weights.size() == distances.size(),
                "indices, distances and weights must be (n, m)");
        const auto n = static_cast<Index>(distances.shape(0)), m = static_cast<Index>(distances.shape(1));
        const Neighborhood<T> near{indices.data(), distances.data(), n, m};
        require(own.size() == 1 || static_cast<Index>(own.size()) == n, "own must have 1 or n entries");
        if (other) check_columns(near.indices, n * m, static_cast<Index>(other->size()));
        const Widths<T> widths{own.data(), own.size() == 1, other ? other->data() : nullptr, relative};
        threads = useful_threads(threads, n * m * 4);
        nb::gil_scoped_release release;
        kernels<T>().gaussian_weights(near, widths, weights.data(), threads);
    }, "indices"_a.noconvert(), "distances"_a.noconvert(), "own"_a.noconvert(), "other"_a.noconvert().none(),
       "relative"_a, "weights"_a.noconvert(), "threads"_a);

    m.def("entropic_precisions", [](const In<T>& distances, double perplexity, const Out<double>& beta, int threads) {
        require(distances.ndim() == 2 && distances.shape(1) > 0 && beta.size() == distances.shape(0),
                "distances must be (n, m) and beta (n,)");
        const auto n = static_cast<Index>(distances.shape(0)), m = static_cast<Index>(distances.shape(1));
        threads = useful_threads(threads, n * m * 30);
        nb::gil_scoped_release release;
        kernels<T>().entropic_precisions(distances.data(), n, m, perplexity, beta.data(), threads);
    }, "distances"_a.noconvert(), "perplexity"_a, "beta"_a.noconvert(), "threads"_a);

    m.def("map_points", [](const nb::tuple& X, const nb::tuple& cross, const nb::tuple& Z, Index n_train,
                           const In<T>& modes_t, const In<T>& mode_sqnorm, const In<T>& h, bool squared, double lam,
                           const std::optional<In<T>>& sample_weight, const std::optional<In<T>>& degrees,
                           const std::optional<In<T>>& masses, const Out<T>& share, const Out<T>& out, int threads) {
        const Points<T> points = points_of<T>(X);
        const Modes<T> modes = modes_of(points, modes_t, mode_sqnorm, h, squared, out);
        Mapping<T> mapping{};
        mapping.X = points;
        mapping.cross = csr_of<T>(cross, points.n);
        if (Z.size() == 1) {
            const auto dense = array_of<In<T>>(Z, 0);
            require(static_cast<Index>(dense.size()) == n_train * modes.k, "Z must be (n_train, k)");
            mapping.Z = dense.data();
        } else {
            mapping.sparse_Z = csr_of<T>(Z, n_train);
        }
        mapping.sample_weight = optional_of(sample_weight, n_train);
        mapping.degrees = optional_of(degrees, n_train);
        mapping.masses = optional_of(masses, modes.k);
        mapping.lam = lam;
        mapping.share = share.data();
        const Index edges = mapping.cross.indptr[points.n];
        check_columns(mapping.cross.indices, edges, n_train);
        require(static_cast<Index>(share.size()) == edges, "share must have an entry for each weight");
        threads = useful_threads(threads, points.n * modes.k * (points.d + 16) + edges * modes.k);
        nb::gil_scoped_release release;
        kernels<T>().map_points(mapping, modes, out.data(), threads);
    }, "X"_a, "cross"_a, "Z"_a, "n_train"_a, "modes_t"_a.noconvert(), "mode_sqnorm"_a.noconvert(), "h"_a.noconvert(),
       "squared"_a, "lam"_a, "sample_weight"_a.noconvert().none(), "degrees"_a.noconvert().none(),
       "masses"_a.noconvert().none(), "share"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_mapping(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}
