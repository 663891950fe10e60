// Bindings of the algorithms behind the starts: communities, density modes, linkage.
// They use one thread: callers run several of them at once.
#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "cluster_degrees.hpp"
#include "density_modes.hpp"
#include "even_linkage.hpp"
#include "leiden.hpp"

namespace lapmodes {
namespace {

// What each of n points counts: one, or as given.
std::vector<Index> sizes_of(const std::optional<In<Index>>& sizes, Index n) {
    const Index* given = optional_of(sizes, n);
    return given ? std::vector<Index>(given, given + n) : std::vector<Index>(static_cast<std::size_t>(n), 1);
}

void bind_trees(nb::module_& m) {
    m.def("density_modes", [](const In<std::int32_t>& from, const In<std::int32_t>& to, const In<double>& saddle,
                              const In<double>& density, const std::optional<In<Index>>& sizes, Index K, double mass_power,
                              const Out<std::int32_t>& labels) {
        const Index n = size_of(density), edges = size_of(from);
        require(from.size() == to.size() && from.size() == saddle.size() && labels.size() == density.size(),
                "from, to and saddle must have one entry an edge, density and labels one a point");
        require_nodes(from.data(), edges, n);
        require_nodes(to.data(), edges, n);
        std::vector<Index> size = sizes_of(sizes, n);
        nb::gil_scoped_release release;
        density_modes(from.data(), to.data(), saddle.data(), edges, density.data(), std::move(size), K, mass_power,
                      labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "saddle"_a.noconvert(), "density"_a.noconvert(),
       "sizes"_a.noconvert().none(), "K"_a, "mass_power"_a, "labels"_a.noconvert());

    m.def("even_linkage", [](const In<std::int32_t>& from, const In<std::int32_t>& to,
                             const std::optional<In<Index>>& sizes, Index K, double max_gini,
                             const Out<std::int32_t>& labels) {
        const Index n = size_of(labels);
        require(size_of(from) == n - 1 && from.size() == to.size() && K >= 1,
                "a spanning tree of n points has n - 1 edges");
        require_nodes(from.data(), n - 1, n);
        require_nodes(to.data(), n - 1, n);
        std::vector<Index> size = sizes_of(sizes, n);
        nb::gil_scoped_release release;
        even_linkage(from.data(), to.data(), std::move(size), K, max_gini, labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "sizes"_a.noconvert().none(), "K"_a, "max_gini"_a, "labels"_a.noconvert());
}

template <class T>
void bind_communities(nb::module_& m) {
    m.def("leiden", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights, double resolution,
                       int rounds, std::uint64_t seed, const Out<std::int32_t>& labels) {
        const Index n = size_of(labels);
        csr_of(indptr, indices, weights, n);
        require_nodes(indices.data(), size_of(indices), n);
        require_nodes(labels.data(), n, n);
        nb::gil_scoped_release release;
        Level level{{indptr.data(), indptr.data() + n + 1},
                    {indices.data(), indices.data() + indices.size()},
                    {weights.data(), weights.data() + weights.size()},
                    std::vector<double>(static_cast<std::size_t>(n), 0.0)};
        for (Index v = 0; v < n; ++v)
            for (Index e = level.indptr[v]; e < level.indptr[v + 1]; ++e) level.degree[v] += level.weights[e];
        Labels own(labels.data(), labels.data() + n);
        const std::int32_t count = leiden(level, own, resolution, rounds, seed);
        for (Index v = 0; v < n; ++v) labels.data()[v] = own[v];
        return count;
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "resolution"_a, "rounds"_a,
       "seed"_a, "labels"_a.noconvert());

    m.def("cluster_degrees", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& weights,
                                const In<std::int32_t>& labels, const Out<double>& degree, const Out<double>& within) {
        const Index n = size_of(labels);
        csr_of(indptr, indices, weights, n);
        require(degree.size() == within.size(), "degree and within must have one entry a cluster");
        require_nodes(indices.data(), size_of(indices), n);
        require_below(labels.data(), n, size_of(degree), "labels must be from 0 to the number of clusters - 1");
        nb::gil_scoped_release release;
        add_cluster_degrees(indptr.data(), indices.data(), weights.data(), labels.data(), n, degree.data(),
                            within.data());
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "labels"_a.noconvert(),
       "degree"_a.noconvert(), "within"_a.noconvert());
}

}  // namespace

void bind_start(nb::module_& m) {
    bind_trees(m);
    bind_communities<float>(m);
    bind_communities<double>(m);
}

}  // namespace lapmodes
