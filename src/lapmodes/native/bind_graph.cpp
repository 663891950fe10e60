// Bindings of what graphs are made of: neighbour search, weights of neighbours, and algorithms on edges.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "components.hpp"
#include "first_listed_edges.hpp"
#include "kernels.hpp"
#include "row_keys.hpp"
#include "shared_neighbors.hpp"
#include "spanning_forest.hpp"
#include "stable_order.hpp"
#include "threads.hpp"

namespace lapmodes {
namespace {

template <class T>
Groups<T> groups_of(const In<T>& X, const In<std::int32_t>& order, const In<Index>& starts) {
    require(X.ndim() == 2, "X must be (n, d)");
    require(starts.size() > 0 && starts.data()[starts.size() - 1] == size_of(order),
            "starts must end with the number of rows in order");
    return {X.data(), order.data(), starts.data(), size_of(starts) - 1, length(X, 1)};
}

template <class T>
Shortlists<T> lists_of(const Out<T>& sqdist, const Out<std::int32_t>& index, const bool* closed, Index n) {
    require(sqdist.ndim() == 2 && length(sqdist, 0) == n && sqdist.shape(1) > 0 && sqdist.size() == index.size(),
            "sqdist and index must be (n, k)");
    return {sqdist.data(), index.data(), length(sqdist, 1), closed};
}

template <class T>
void bind_neighbors(nb::module_& m) {
    m.def("compare_groups", [](const In<T>& Q, const In<std::int32_t>& q_order, const In<Index>& q_starts,
                               const In<T>& X, const In<std::int32_t>& order, const In<Index>& starts,
                               const In<std::int32_t>& pairs, bool same, const Out<T>& sqdist,
                               const Out<std::int32_t>& index, const In<bool>& closed, int threads) {
        const Groups<T> queries = groups_of(Q, q_order, q_starts), rows = groups_of(X, order, starts);
        require(queries.d == rows.d, "Q and X must have the same columns");
        require(pairs.ndim() == 2 && pairs.shape(1) == 2, "pairs must be (count, 2)");
        require(closed.size() == Q.shape(0), "closed must have an entry for each list");
        const Shortlists<T> lists = lists_of(sqdist, index, closed.data(), length(Q, 0));
        const Index count = length(pairs, 0), mean_rows = rows.count ? length(X, 0) / rows.count : 0;
        threads = useful_threads(threads, count * mean_rows * mean_rows * rows.d);
        nb::gil_scoped_release release;
        kernels<T>().compare_groups(queries, rows, pairs.data(), count, same, lists, threads);
    }, "Q"_a.noconvert(), "q_order"_a.noconvert(), "q_starts"_a.noconvert(), "X"_a.noconvert(), "order"_a.noconvert(),
       "starts"_a.noconvert(), "pairs"_a.noconvert(), "same"_a, "sqdist"_a.noconvert(), "index"_a.noconvert(),
       "closed"_a.noconvert(), "threads"_a);

    m.def("pick_neighbors", [](const In<T>& Q, const In<T>& X, const In<std::int32_t>& candidates, bool expand,
                               const Out<T>& sqdist, const Out<std::int32_t>& index, int threads) {
        require(Q.ndim() == 2 && X.ndim() == 2 && Q.shape(1) == X.shape(1), "Q and X must have the same columns");
        require(candidates.ndim() == 2 && candidates.shape(0) == Q.shape(0), "candidates must be (n, m)");
        const bool same = Q.data() == X.data();
        require(same || !expand, "candidates of candidates must be of the same points");
        require_below(candidates.data(), size_of(candidates), length(X, 0), "candidates must be numbers of rows of X");
        const Shortlists<T> lists = lists_of(sqdist, index, nullptr, length(Q, 0));
        threads = useful_threads(threads, size_of(candidates) * length(Q, 1));
        nb::gil_scoped_release release;
        kernels<T>().pick_neighbors(Q.data(), length(Q, 0), X.data(), length(Q, 1), candidates.data(),
                                    length(candidates, 1), same, expand, lists, threads);
    }, "Q"_a.noconvert(), "X"_a.noconvert(), "candidates"_a.noconvert(), "expand"_a, "sqdist"_a.noconvert(),
       "index"_a.noconvert(), "threads"_a);
}

template <class T>
void bind_weights(nb::module_& m) {
    m.def("gaussian_weights", [](const In<Column>& indices, const In<T>& distances, const In<T>& own_widths,
                                 const std::optional<In<T>>& other_widths, bool normalized, const Out<T>& weights,
                                 int threads) {
        require(distances.ndim() == 2 && indices.size() == distances.size() && weights.size() == distances.size(),
                "indices, distances and weights must be (n, m)");
        const Neighborhood<T> near{indices.data(), distances.data(), length(distances, 0), length(distances, 1)};
        require(own_widths.size() == 1 || size_of(own_widths) == near.n, "own_widths must have 1 or n entries");
        if (other_widths)
            require_below(near.indices, near.n * near.m, size_of(*other_widths),
                          "neighbours must be from 0 to n_train - 1");
        const Widths<T> widths{own_widths.data(), own_widths.size() == 1,
                               other_widths ? other_widths->data() : nullptr, normalized};
        threads = useful_threads(threads, near.n * near.m * 4);
        nb::gil_scoped_release release;
        kernels<T>().gaussian_weights(near, widths, weights.data(), threads);
    }, "indices"_a.noconvert(), "distances"_a.noconvert(), "own_widths"_a.noconvert(),
       "other_widths"_a.noconvert().none(), "normalized"_a, "weights"_a.noconvert(), "threads"_a);

    m.def("entropic_precisions", [](const In<T>& distances, double perplexity, const Out<double>& beta, int threads) {
        require(distances.ndim() == 2 && distances.shape(1) > 0 && beta.size() == distances.shape(0),
                "distances must be (n, m) and beta (n,)");
        threads = useful_threads(threads, size_of(distances) * 30);
        nb::gil_scoped_release release;
        kernels<T>().entropic_precisions(distances.data(), length(distances, 0), length(distances, 1), perplexity,
                                         beta.data(), threads);
    }, "distances"_a.noconvert(), "perplexity"_a, "beta"_a.noconvert(), "threads"_a);
}

template <class T>
void bind_order(nb::module_& m) {
    m.def("stable_order", [](const In<T>& values, const Out<std::int32_t>& order) {
        require(values.size() == order.size(), "values and order must have the same size");
        nb::gil_scoped_release release;
        stable_order(values.data(), size_of(values), order.data());
    }, "values"_a.noconvert(), "order"_a.noconvert());
}

template <class T>
void bind_rows(nb::module_& m) {
    m.def("row_keys", [](const In<T>& X, const Out<std::uint64_t>& keys, int threads) {
        require(X.ndim() == 2 && X.shape(0) == keys.size(), "X must be (n, d), keys one entry a row");
        threads = useful_threads(threads, size_of(X) * 4);
        nb::gil_scoped_release release;
        row_keys<T>({X.data(), {}, nullptr, length(X, 0), length(X, 1)}, keys.data(), threads);
    }, "X"_a.noconvert(), "keys"_a.noconvert(), "threads"_a);

    m.def("row_keys", [](const In<Index>& indptr, const In<Column>& indices, const In<T>& values,
                         const Out<std::uint64_t>& keys, int threads) {
        const Index n = size_of(keys);
        const Csr<T> rows = csr_of(indptr, indices, values, n);
        threads = useful_threads(threads, size_of(values) * 8);
        nb::gil_scoped_release release;
        row_keys<T>({nullptr, rows, nullptr, n, 0}, keys.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(), "keys"_a.noconvert(), "threads"_a);
}

// These use one thread: callers run several of them at once.
void bind_edges(nb::module_& m) {
    m.def("shared_neighbors", [](const In<std::int32_t>& neighbors, const In<Index>& indptr, const In<Column>& indices,
                                 const Out<double>& counts) {
        require(neighbors.ndim() == 2 && indptr.size() == neighbors.shape(0) + 1 && indices.size() == counts.size(),
                "neighbors must be (n, k), indptr (n + 1), indices and counts one entry an edge");
        const Index n = length(neighbors, 0);
        require_nodes(indices.data(), size_of(indices), n);
        nb::gil_scoped_release release;
        shared_neighbors(neighbors.data(), n, length(neighbors, 1), indptr.data(), indices.data(), counts.data());
    }, "neighbors"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "counts"_a.noconvert());

    m.def("first_listed_edges", [](const In<std::int32_t>& index, const Out<bool>& first) {
        require(index.ndim() == 2 && index.size() == first.size(), "index and first must be (n, k)");
        require_nodes(index.data(), size_of(index), length(index, 0));
        nb::gil_scoped_release release;
        first_listed_edges(index.data(), length(index, 0), length(index, 1), first.data());
    }, "index"_a.noconvert(), "first"_a.noconvert());

    m.def("components", [](const In<Index>& indptr, const In<Column>& indices, const Out<std::int32_t>& labels) {
        const Index n = size_of(labels);
        require(size_of(indptr) == n + 1 && size_of(indices) == indptr.data()[n],
                "indptr and indices must be those of an (n, n) matrix");
        require_nodes(indices.data(), size_of(indices), n);
        nb::gil_scoped_release release;
        components(indptr.data(), indices.data(), n, labels.data());
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "labels"_a.noconvert());

    m.def("spanning_forest", [](const In<std::int32_t>& from, const In<std::int32_t>& to, const Out<bool>& kept,
                                const Out<std::int32_t>& labels) {
        const Index n = size_of(labels), edges = size_of(from);
        require(from.size() == to.size() && from.size() == kept.size(), "from, to and kept have one entry an edge");
        require_nodes(from.data(), edges, n);
        require_nodes(to.data(), edges, n);
        nb::gil_scoped_release release;
        spanning_forest(from.data(), to.data(), edges, n, kept.data(), labels.data());
    }, "from_"_a.noconvert(), "to"_a.noconvert(), "kept"_a.noconvert(), "labels"_a.noconvert());
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_neighbors<float>(m);
    bind_neighbors<double>(m);
    bind_weights<float>(m);
    bind_weights<double>(m);
    bind_order<float>(m);
    bind_order<double>(m);
    bind_rows<float>(m);
    bind_rows<double>(m);
    bind_edges(m);
}

}  // namespace lapmodes
