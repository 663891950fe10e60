// Clusters from forests: prominent modes of a density on a graph, and single linkage kept even.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace lapmodes {

class Forest {
  public:
    explicit Forest(std::int64_t n) : parent_(static_cast<std::size_t>(n)) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    std::int32_t root(std::int32_t x) {
        while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
        return x;
    }
    void hang(std::int32_t child, std::int32_t parent) { parent_[child] = parent; }

  private:
    std::vector<std::int32_t> parent_;
};

// labels (n) OUT: trees numbered in the order of their first member.
inline void number_trees(Forest& forest, std::int64_t n, std::int32_t* labels) {
    std::vector<std::int32_t> number(static_cast<std::size_t>(n), -1);
    std::int32_t next = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        std::int32_t& own = number[forest.root(static_cast<std::int32_t>(i))];
        if (own < 0) own = next++;
        labels[i] = own;
    }
}

// labels (n) OUT: the connected component of each node of a CSR graph, whichever way its edges point.
inline void components(const std::int64_t* indptr, const std::int32_t* indices, std::int64_t n, std::int32_t* labels) {
    Forest parts(n);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const std::int32_t a = parts.root(static_cast<std::int32_t>(i)), b = parts.root(indices[e]);
            if (a < b) parts.hang(b, a);
            if (b < a) parts.hang(a, b);
        }
    number_trees(parts, n, labels);
}

// kept (edges) OUT: whether each edge, in the order given, joins two trees (Kruskal); labels (n) OUT.
inline void spanning_forest(const std::int32_t* from, const std::int32_t* to, std::int64_t edges, std::int64_t n,
                            bool* kept, std::int32_t* labels) {
    Forest trees(n);
    for (std::int64_t e = 0; e < edges; ++e) {
        const std::int32_t a = trees.root(from[e]), b = trees.root(to[e]);
        kept[e] = a != b;
        if (kept[e]) trees.hang(a, b);
    }
    number_trees(trees, n, labels);
}

// Visits the edges (from, to), which come by falling saddle, and calls meet(edge, winner, loser) where two
// hills meet; the hill with the lower peak loses. The root of a hill is its peak.
template <class Meet>
void flood(const std::int32_t* from, const std::int32_t* to, std::int64_t edges, const double* height, Forest& hills,
           Meet meet) {
    for (std::int64_t e = 0; e < edges; ++e) {
        std::int32_t winner = hills.root(from[e]), loser = hills.root(to[e]);
        if (winner == loser) continue;
        if (height[winner] < height[loser] || (height[winner] == height[loser] && winner < loser))
            std::swap(winner, loser);
        meet(e, winner, loser);
        hills.hang(loser, winner);
    }
}

// The K most prominent hills of `height`; a hill's prominence (height above the saddle where it meets a
// higher one) counts times its number of points to the power `mass_power`.
// labels (n) OUT.
inline void prominent_modes(const std::int32_t* from, const std::int32_t* to, const double* saddle,
                            std::int64_t edges, const double* height, std::int64_t n, std::int64_t K,
                            double mass_power, std::int32_t* labels) {
    std::vector<double> prominence;
    std::vector<std::int64_t> size(static_cast<std::size_t>(n), 1);
    Forest hills(n);
    flood(from, to, edges, height, hills, [&](std::int64_t e, std::int32_t winner, std::int32_t loser) {
        const double mass = std::pow(static_cast<double>(size[loser]), mass_power);
        prominence.push_back((height[loser] - saddle[e]) * mass);
        size[winner] += size[loser];
    });
    std::vector<std::int64_t> order(prominence.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return prominence[a] > prominence[b]; });
    std::vector<bool> kept(prominence.size(), false);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(K - 1, static_cast<std::int64_t>(order.size())); ++i)
        kept[order[i]] = true;

    Forest again(n), clusters(n);
    std::size_t meeting = 0;
    flood(from, to, edges, height, again, [&](std::int64_t e, std::int32_t winner, std::int32_t loser) {
        if (!kept[meeting++]) {
            const std::int32_t shore = again.root(from[e]) == winner ? from[e] : to[e];
            clusters.hang(clusters.root(loser), clusters.root(shore));
        }
    });
    number_trees(clusters, n, labels);
}

// The sizes of the clusters and their Gini index, sum_{i<j} |s_i - s_j| / ((clusters - 1) n).
class Sizes {
  public:
    explicit Sizes(std::int64_t n) : clusters_(n), total_(static_cast<double>(n)) { count_[1] = n; }
    double gini() const { return clusters_ > 1 ? spread_ / ((static_cast<double>(clusters_) - 1) * total_) : 0; }
    std::int64_t clusters() const { return clusters_; }
    std::int64_t smallest() const { return count_.begin()->first; }
    void merge(std::int64_t a, std::int64_t b) {
        remove(a);
        remove(b);
        for (const auto& [size, count] : count_)
            spread_ += static_cast<double>(count) * (distance(a + b, size) - distance(a, size) - distance(b, size));
        spread_ -= distance(a, b);
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
    double total_, spread_ = 0;
};

// Genie (Gagolewski, Bartoszuk & Cena 2016) on the n - 1 edges of a spanning tree, which come by rising
// length: the shortest edge is joined, but while the sizes are uneven (Gini index above `most_uneven`) the
// shortest one at a smallest cluster. labels (n) OUT.
inline void even_linkage(const std::int32_t* from, const std::int32_t* to, std::int64_t n, std::int64_t K,
                         double most_uneven, std::int32_t* labels) {
    Forest clusters(n);
    Sizes sizes(n);
    std::vector<std::int64_t> size(static_cast<std::size_t>(n), 1);
    std::vector<bool> joined(static_cast<std::size_t>(n), false);
    std::int64_t shortest = 0, resume = 0, resume_size = 0;
    while (sizes.clusters() > K) {
        while (joined[shortest]) ++shortest;
        std::int64_t e = shortest;
        if (sizes.gini() > most_uneven) {
            // Merging never makes a cluster as small as the smallest, so the search goes on where it ended.
            const std::int64_t small = sizes.smallest();
            e = small == resume_size ? std::max(resume, shortest) : shortest;
            while (joined[e] || (size[clusters.root(from[e])] != small && size[clusters.root(to[e])] != small)) ++e;
            resume = e;
            resume_size = small;
        }
        joined[e] = true;
        const std::int32_t a = clusters.root(from[e]), b = clusters.root(to[e]);
        sizes.merge(size[a], size[b]);
        clusters.hang(a, b);
        size[b] += size[a];
    }
    number_trees(clusters, n, labels);
}

}  // namespace lapmodes
