// The minimum spanning forest of a graph whose edges come in the order of their lengths (Kruskal).
#pragma once

#include <cstdint>

#include "disjoint_sets.hpp"

namespace lapmodes {

// from, to (edges) IN; kept (edges) OUT: whether each edge, in the order given, joins two trees; labels (n) OUT: the
// tree of each node.
inline void spanning_forest(const std::int32_t* from, const std::int32_t* to, std::int64_t edges, std::int64_t n,
                            bool* kept, std::int32_t* labels) {
    DisjointSets trees(n);
    for (std::int64_t e = 0; e < edges; ++e) {
        const std::int32_t a = trees.root(from[e]), b = trees.root(to[e]);
        kept[e] = a != b;
        if (kept[e]) trees.attach(a, b);
    }
    number_sets(trees, n, labels);
}

}  // namespace lapmodes
