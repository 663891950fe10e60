// Lists of each cluster's members from assignments Z (n, k), in two passes over chunks of rows: the first counts, so
// that in the second each chunk knows where its members go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lapmodes {

// Z (n, k) IN; counts (chunks, k) OUT: the positive entries of each column in each chunk.
template <class T>
void count_members(const T* Z, std::int64_t n, std::int64_t k, std::int64_t chunks, std::int64_t* counts,
                   int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t c = 0; c < chunks; ++c) {
        std::vector<std::int32_t> count(static_cast<std::size_t>(k), 0);
        for (std::int64_t i = n * c / chunks; i < n * (c + 1) / chunks; ++i)
            for (std::int64_t j = 0; j < k; ++j) count[j] += Z[i * k + j] > 0;
        std::copy(count.begin(), count.end(), counts + c * k);
    }
}

// Z (n, k) IN; next (chunks, k) IN/OUT: where a chunk's next member of each cluster goes; rows, values OUT: the
// members, cluster by cluster.
template <class T>
void list_members(const T* Z, std::int64_t n, std::int64_t k, std::int64_t chunks, std::int64_t* next,
                  std::int32_t* rows, T* values, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t c = 0; c < chunks; ++c)
        for (std::int64_t i = n * c / chunks; i < n * (c + 1) / chunks; ++i)
            for (std::int64_t j = 0; j < k; ++j) {
                if (!(Z[i * k + j] > 0)) continue;
                const std::int64_t to = next[c * k + j]++;
                rows[to] = static_cast<std::int32_t>(i);
                values[to] = Z[i * k + j];
            }
}

}  // namespace lapmodes
