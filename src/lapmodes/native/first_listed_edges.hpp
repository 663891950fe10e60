// Each edge of neighbour lists once, though both of its ends may list it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapmodes {

// index (n, k) IN: the neighbours of each point; first (n, k) OUT: whether no earlier point lists the same edge.
inline void first_listed_edges(const std::int32_t* index, std::int64_t n, std::int64_t k, bool* first) {
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t e = i * k; e < (i + 1) * k; ++e) {
            const std::int32_t* theirs = index + index[e] * k;
            first[e] = i < index[e] || std::find(theirs, theirs + k, i) == theirs + k;
        }
}

}  // namespace lapmodes
