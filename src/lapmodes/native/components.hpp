// Connected components of a CSR graph, whichever way its edges point.
#pragma once

#include <cstdint>

#include "disjoint_sets.hpp"

namespace lapmodes {

// indptr (n + 1), indices IN; labels (n) OUT: the component of each node, numbered in the order of their first nodes.
inline void components(const std::int64_t* indptr, const std::int32_t* indices, std::int64_t n, std::int32_t* labels) {
    DisjointSets parts(n);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const std::int32_t a = parts.root(static_cast<std::int32_t>(i)), b = parts.root(indices[e]);
            if (a < b) parts.attach(b, a);
            if (b < a) parts.attach(a, b);
        }
    number_sets(parts, n, labels);
}

}  // namespace lapmodes
