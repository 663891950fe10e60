// Shared neighbours: how many members the neighbourhoods at both ends of an edge have in common.
#pragma once

#include <cstdint>

namespace lapmodes {

// neighbors (n, k) IN: the neighbourhoods, each sorted; indptr (n + 1), indices IN: the edges; counts OUT: one for
// each.
inline void shared_neighbors(const std::int32_t* neighbors, std::int64_t n, std::int64_t k, const std::int64_t* indptr,
                             const std::int32_t* indices, double* counts) {
    for (std::int64_t v = 0; v < n; ++v) {
        const std::int32_t* own = neighbors + v * k;
        for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
            const std::int32_t* other = neighbors + static_cast<std::int64_t>(indices[e]) * k;
            std::int64_t i = 0, j = 0, count = 0;
            while (i < k && j < k) {
                count += own[i] == other[j];
                const bool behind = own[i] <= other[j], ahead = own[i] >= other[j];
                i += behind;
                j += ahead;
            }
            counts[e] = static_cast<double>(count);
        }
    }
}

}  // namespace lapmodes
