// Single linkage that keeps the sizes of clusters even: Genie (Gagolewski, Bartoszuk & Cena 2016).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "disjoint_sets.hpp"

namespace lapmodes {

// The sizes of the clusters and their Gini index, sum_{i<j} |s_i - s_j| / ((clusters - 1) n), which is 0 where all are
// equal and 1 where one cluster has everything.
class ClusterSizes {
   public:
    ClusterSizes(const std::int64_t* size, std::int64_t n) : clusters_(n) {
        for (std::int64_t i = 0; i < n; ++i) ++count_[size[i]];
        double before = 0, sum = 0;  // clusters that are smaller, and their sizes
        for (const auto& [each, count] : count_) {
            const double own = static_cast<double>(each), many = static_cast<double>(count);
            differences_ += many * (own * before - sum);
            before += many;
            sum += own * many;
        }
        total_ = sum;
    }
    double gini() const { return clusters_ > 1 ? differences_ / ((static_cast<double>(clusters_) - 1) * total_) : 0; }
    std::int64_t clusters() const { return clusters_; }
    std::int64_t smallest() const { return count_.begin()->first; }
    void merge(std::int64_t a, std::int64_t b) {
        remove(a);
        remove(b);
        for (const auto& [size, count] : count_)
            differences_ +=
                static_cast<double>(count) * (distance(a + b, size) - distance(a, size) - distance(b, size));
        differences_ -= distance(a, b);
        ++count_[a + b];
        --clusters_;
    }

   private:
    static double distance(std::int64_t a, std::int64_t b) { return static_cast<double>(a > b ? a - b : b - a); }
    void remove(std::int64_t size) {
        const auto at = count_.find(size);
        if (--at->second == 0) count_.erase(at);
    }
    std::map<std::int64_t, std::int64_t> count_;
    std::int64_t clusters_;
    double total_ = 0, differences_ = 0;
};

// from, to (n - 1) IN: the edges of a spanning tree, shortest first; size (n) IN: what each point counts, at least 1;
// labels (n) OUT: the K clusters. The shortest edge is merged next, but while the Gini index is above `max_gini` the
// shortest one that leads to a smallest cluster.
inline void even_linkage(const std::int32_t* from, const std::int32_t* to, std::vector<std::int64_t> size,
                         std::int64_t K, double max_gini, std::int32_t* labels) {
    const auto n = static_cast<std::int64_t>(size.size());
    DisjointSets clusters(n);
    ClusterSizes sizes(size.data(), n);
    std::vector<bool> merged(static_cast<std::size_t>(n), false);
    std::int64_t shortest = 0, resume = 0, resume_at_size = 0;
    while (sizes.clusters() > K) {
        while (merged[shortest]) ++shortest;
        std::int64_t e = shortest;
        if (sizes.gini() > max_gini) {
            // Merging makes no cluster as small as the smallest, so the search goes on where the last one ended.
            const std::int64_t small = sizes.smallest();
            e = small == resume_at_size ? std::max(resume, shortest) : shortest;
            while (merged[e] || (size[clusters.root(from[e])] != small && size[clusters.root(to[e])] != small)) ++e;
            resume = e;
            resume_at_size = small;
        }
        merged[e] = true;
        const std::int32_t a = clusters.root(from[e]), b = clusters.root(to[e]);
        sizes.merge(size[a], size[b]);
        clusters.attach(a, b);
        size[b] += size[a];
    }
    number_sets(clusters, n, labels);
}

}  // namespace lapmodes
