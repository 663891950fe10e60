// The K most prominent modes of a density on a graph, with all points that lead up to each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "disjoint_sets.hpp"

namespace lapmodes {

// Visits the edges (from, to), which come by falling density of their saddles, and calls merge(edge, higher, lower)
// where the basins of two modes meet, before they become one. Modes are given by their points; the one with the higher
// density stays the root of both.
template <class Merge>
void merge_basins(const std::int32_t* from, const std::int32_t* to, std::int64_t edges, const double* density,
                  DisjointSets& basins, Merge merge) {
    for (std::int64_t e = 0; e < edges; ++e) {
        std::int32_t higher = basins.root(from[e]), lower = basins.root(to[e]);
        if (higher == lower) continue;
        if (density[higher] < density[lower] || (density[higher] == density[lower] && higher < lower))
            std::swap(higher, lower);
        merge(e, higher, lower);
        basins.attach(lower, higher);
    }
}

// from, to, saddle (edges) IN: edges by falling density of their saddles; density (n) IN; size (n) IN: what each point
// counts; labels (n) OUT. A mode's prominence, its density minus that of the saddle where it meets a higher one, counts
// times the size of its basin to the power `mass_power`. All but the K - 1 most prominent merges are made.
inline void density_modes(const std::int32_t* from, const std::int32_t* to, const double* saddle, std::int64_t edges,
                          const double* density, std::vector<std::int64_t> size, std::int64_t K, double mass_power,
                          std::int32_t* labels) {
    const auto n = static_cast<std::int64_t>(size.size());
    std::vector<double> prominence;
    DisjointSets basins(n);
    merge_basins(from, to, edges, density, basins, [&](std::int64_t e, std::int32_t higher, std::int32_t lower) {
        const double mass = std::pow(static_cast<double>(size[lower]), mass_power);
        prominence.push_back((density[lower] - saddle[e]) * mass);
        size[higher] += size[lower];
    });
    std::vector<std::int64_t> order(prominence.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return prominence[a] > prominence[b]; });
    std::vector<bool> stays_apart(prominence.size(), false);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(K - 1, static_cast<std::int64_t>(order.size())); ++i)
        stays_apart[order[i]] = true;

    DisjointSets again(n), clusters(n);
    std::size_t merges = 0;
    merge_basins(from, to, edges, density, again, [&](std::int64_t e, std::int32_t higher, std::int32_t lower) {
        if (stays_apart[merges++]) return;
        // The lower mode joins the cluster of the point where it meets the higher one, which need not be that of the
        // higher mode itself.
        const std::int32_t met = again.root(from[e]) == higher ? from[e] : to[e];
        clusters.attach(clusters.root(lower), clusters.root(met));
    });
    number_sets(clusters, n, labels);
}

}  // namespace lapmodes
