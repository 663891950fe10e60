// Bindings of the algorithms on graphs and behind the starts. Sequential: callers run several at once.
#include "bindings.hpp"
#include "communities.hpp"
#include "forest.hpp"
#include "order.hpp"
#include "shared.hpp"

namespace {

template <class Nodes>
void check_nodes(const Nodes& nodes, Index n) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
        require(nodes.data()[i] >= 0 && nodes.data()[i] < n, "edges must join points from 0 to n - 1");
}

template <class T>
void bind_leiden(nb::module_& m) {
    m.def("leiden", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                       double resolution, int rounds, std::uint64_t seed, const Out<std::int32_t>& labels) {
        const auto n = static_cast<Index>(labels.size());
        require(static_cast<Index>(indptr.size()) == n + 1 && indices.size() == weights.size() &&
                    static_cast<Index>(indices.size()) == indptr.data()[n],
                "indptr, indices and weights must be those of an (n, n) matrix");
        check_nodes(indices, n);
        check_nodes(labels, n);
        nb::gil_scoped_release release;
        lapmodes::Level level{{indptr.data(), indptr.data() + n + 1},
                              {indices.data(), indices.data() + indices.size()},
                              {weights.data(), weights.data() + weights.size()},
                              std::vector<double>(static_cast<std::size_t>(n), 0.0)};
        for (Index v = 0; v < n; ++v)
            for (Index e = level.indptr[v]; e < level.indptr[v + 1]; ++e) level.degree[v] += level.weights[e];
        lapmodes::Labels own(labels.data(), labels.data() + n);
        const std::int32_t count = lapmodes::leiden(level, own, resolution, rounds, seed);
        for (Index v = 0; v < n; ++v) labels.data()[v] = own[v];
        return count;
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "resolution"_a, "rounds"_a,
       "seed"_a, "labels"_a.noconvert());
}

template <class T>
void bind_degrees(nb::module_& m) {
    m.def("cluster_degrees", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                                const In<std::int32_t>& labels, const Out<double>& degree, const Out<double>& within) {
        const auto n = static_cast<Index>(labels.size());
        require(static_cast<Index>(indptr.size()) == n + 1 && indices.size() == weights.size() &&
                    static_cast<Index>(indices.size()) == indptr.data()[n] && degree.size() == within.size(),
                "indptr, indices and weights must be those of an (n, n) matrix");
        check_nodes(indices, n);
        check_nodes(labels, static_cast<Index>(degree.size()));
        nb::gil_scoped_release release;
        lapmodes::add_cluster_degrees(indptr.data(), indices.data(), weights.data(), labels.data(), n, degree.data(),
                                      within.data());
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "labels"_a.noconvert(),
       "degree"_a.noconvert(), "within"_a.noconvert());
}

template <class T>
void bind_order(nb::module_& m) {
    m.def("stable_order", [](const In<T>& values, const Out<std::int32_t>& order) {
        require(values.size() == order.size(), "values and order must have the same size");
        nb::gil_scoped_release release;
        lapmodes::stable_order(values.data(), static_cast<Index>(values.size()), order.data());
    }, "values"_a.noconvert(), "order"_a.noconvert());
}

}  // namespace

void bind_starts(nb::module_& m) {
    m.def("shared_neighbors", [](const In<std::int32_t>& around, const In<Index>& indptr,
                                 const In<std::int32_t>& indices, const Out<double>& common) {
        require(around.ndim() == 2 && indptr.size() == around.shape(0) + 1 && indices.size() == common.size(),
                "around must be (n, k), indptr (n + 1), indices and common one entry an edge");
        const auto n = static_cast<Index>(around.shape(0)), k = static_cast<Index>(around.shape(1));
        check_nodes(indices, n);
        nb::gil_scoped_release release;
        lapmodes::shared_neighbors(around.data(), n, k, indptr.data(), indices.data(), common.data());
    }, "around"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "common"_a.noconvert());

    m.def("fresh_edges", [](const In<std::int32_t>& index, const Out<bool>& fresh) {
        require(index.ndim() == 2 && index.size() == fresh.size(), "index and fresh must be (n, k)");
        check_nodes(index, static_cast<Index>(index.shape(0)));
        nb::gil_scoped_release release;
        lapmodes::fresh_edges(index.data(), index.shape(0), index.shape(1), fresh.data());
    }, "index"_a.noconvert(), "fresh"_a.noconvert());

    m.def("components", [](const In<Index>& indptr, const In<std::int32_t>& indices, const Out<std::int32_t>& labels) {
        const auto n = static_cast<Index>(labels.size());
        require(static_cast<Index>(indptr.size()) == n + 1 && static_cast<Index>(indices.size()) == indptr.data()[n],
                "indptr and indices must be those of an (n, n) matrix");
        check_nodes(indices, n);
        nb::gil_scoped_release release;
        lapmodes::components(indptr.data(), indices.data(), n, labels.data());
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "labels"_a.noconvert());

    m.def("spanning_forest", [](const In<std::int32_t>& from, const In<std::int32_t>& to, const Out<bool>& kept,
                                const Out<std::int32_t>& labels) {
        const auto n = static_cast<Index>(labels.size());
        require(from.size() == to.size() && from.size() == kept.size(), "from, to and kept have one entry an edge");
        check_nodes(from, n);
        check_nodes(to, n);
        nb::gil_scoped_release release;
        lapmodes::spanning_forest(from.data(), to.data(), static_cast<Index>(from.size()), n, kept.data(),
                                  labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "kept"_a.noconvert(), "labels"_a.noconvert());

    m.def("prominent_modes", [](const In<std::int32_t>& from, const In<std::int32_t>& to, const In<double>& saddle,
                                const In<double>& height, Index K, double mass_power, const Out<std::int32_t>& labels) {
        const auto n = static_cast<Index>(height.size());
        require(from.size() == to.size() && from.size() == saddle.size() && labels.size() == height.size(),
                "from, to and saddle must have one entry an edge, height and labels one a point");
        check_nodes(from, n);
        check_nodes(to, n);
        nb::gil_scoped_release release;
        lapmodes::prominent_modes(from.data(), to.data(), saddle.data(), static_cast<Index>(from.size()),
                                  height.data(), n, K, mass_power, labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "saddle"_a.noconvert(), "height"_a.noconvert(), "K"_a,
       "mass_power"_a, "labels"_a.noconvert());

    m.def("even_linkage", [](const In<std::int32_t>& from, const In<std::int32_t>& to, Index K, double most_uneven,
                             const Out<std::int32_t>& labels) {
        const auto n = static_cast<Index>(labels.size());
        require(static_cast<Index>(from.size()) == n - 1 && from.size() == to.size() && K >= 1,
                "a spanning tree of n points has n - 1 edges");
        check_nodes(from, n);
        check_nodes(to, n);
        nb::gil_scoped_release release;
        lapmodes::even_linkage(from.data(), to.data(), n, K, most_uneven, labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "K"_a, "most_uneven"_a, "labels"_a.noconvert());

    bind_degrees<float>(m);
    bind_degrees<double>(m);
    bind_order<float>(m);
    bind_order<double>(m);
    bind_leiden<float>(m);
    bind_leiden<double>(m);
}
