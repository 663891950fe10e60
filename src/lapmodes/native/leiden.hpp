// Communities of a weighted graph by the Leiden method (Traag, Waltman & van Eck 2019), deterministic for a seed.
// Maximises sum_c (w_cc - resolution d_c^2 / 2m), with w_cc the weight inside community c and d_c its degree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace lapmodes {

using Labels = std::vector<std::int32_t>;

// One level of the hierarchy: a CSR graph whose nodes stand for sets of points.
struct Level {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> weights;
    std::vector<double> degree;
    std::int64_t n() const { return static_cast<std::int64_t>(degree.size()); }
};

// labels IN/OUT: numbered from 0 in the order of their first members. Returns how many there are.
inline std::int32_t renumber(Labels& labels) {
    std::vector<std::int32_t> number(labels.size(), -1);
    std::int32_t next = 0;
    for (auto& label : labels) {
        if (number[label] < 0) number[label] = next++;
        label = number[label];
    }
    return next;
}

// The weights between one node and the communities of its neighbours.
class NeighborWeights {
   public:
    explicit NeighborWeights(std::int64_t n) : weight_(static_cast<std::size_t>(n), 0.0) {}
    // Sums the weights of the edges from v to the neighbours u for which counts(u) holds.
    template <class Counts>
    void sum(const Level& level, std::int64_t v, const Labels& labels, Counts counts) {
        for (const auto c : communities_) weight_[c] = 0;
        communities_.clear();
        for (std::int64_t e = level.indptr[v]; e < level.indptr[v + 1]; ++e) {
            const std::int32_t u = level.indices[e];
            if (u == v || !counts(u)) continue;
            const std::int32_t c = labels[u];
            if (weight_[c] == 0) communities_.push_back(c);
            weight_[c] += level.weights[e];
        }
    }
    const Labels& communities() const { return communities_; }
    double operator[](std::int32_t c) const { return weight_[c]; }

   private:
    std::vector<double> weight_;
    Labels communities_;
};

// The nodes in random order: blocks of them, and the nodes of each block, as neighbours with near numbers then share
// the cache.
inline Labels shuffled(std::int64_t n, std::mt19937_64& random) {
    constexpr std::int64_t kBlock = 1 << 15;
    const auto shuffle = [&](std::int32_t* first, std::int64_t count) {
        for (std::int64_t i = count - 1; i > 0; --i)
            std::swap(first[i], first[random() % static_cast<std::uint64_t>(i + 1)]);
    };
    Labels blocks(static_cast<std::size_t>((n + kBlock - 1) / kBlock)), order;
    std::iota(blocks.begin(), blocks.end(), 0);
    shuffle(blocks.data(), static_cast<std::int64_t>(blocks.size()));
    order.reserve(static_cast<std::size_t>(n));
    for (const std::int64_t block : blocks) {
        const std::int64_t first = block * kBlock, end = std::min(first + kBlock, n);
        const auto at = static_cast<std::int64_t>(order.size());
        for (std::int64_t v = first; v < end; ++v) order.push_back(static_cast<std::int32_t>(v));
        shuffle(order.data() + at, end - first);
    }
    return order;
}

// labels IN/OUT: single nodes move to the community that raises the objective most, until none of them does. Returns
// whether any moved. `penalty` is the resolution over the sum of all degrees.
inline bool move_nodes(const Level& level, Labels& labels, double penalty, std::mt19937_64& random) {
    const std::int64_t n = level.n();
    std::vector<double> mass(static_cast<std::size_t>(n), 0.0);
    Labels members(static_cast<std::size_t>(n), 0), unused;
    for (std::int64_t v = 0; v < n; ++v) mass[labels[v]] += level.degree[v], ++members[labels[v]];
    for (std::int64_t c = n - 1; c >= 0; --c)
        if (members[c] == 0) unused.push_back(static_cast<std::int32_t>(c));
    const Labels order = shuffled(n, random);
    std::deque<std::int32_t> queue(order.begin(), order.end());
    std::vector<bool> queued(static_cast<std::size_t>(n), true);
    NeighborWeights weight_to(n);
    bool moved = false;
    while (!queue.empty()) {
        const std::int32_t v = queue.front(), own = labels[v];
        queue.pop_front();
        queued[v] = false;
        weight_to.sum(level, v, labels, [](std::int32_t) { return true; });
        const double node_penalty = penalty * level.degree[v];
        mass[own] -= level.degree[v];
        std::int32_t best = own;
        double gain = weight_to[own] - node_penalty * mass[own];
        const double least = 1e-12 * level.degree[v];
        for (const auto c : weight_to.communities()) {
            const double here = weight_to[c] - node_penalty * mass[c];
            if (here > gain + least) best = c, gain = here;
        }
        if (gain < -least && members[own] > 1 && !unused.empty()) {
            best = unused.back();
            unused.pop_back();
        }
        mass[best] += level.degree[v];
        if (best == own) continue;
        moved = true;
        labels[v] = best;
        ++members[best];
        if (--members[own] == 0) unused.push_back(own);
        for (std::int64_t e = level.indptr[v]; e < level.indptr[v + 1]; ++e) {
            const std::int32_t u = level.indices[e];
            if (labels[u] != best && !queued[u]) {
                queued[u] = true;
                queue.push_back(u);
            }
        }
    }
    return moved;
}

// Splits each community into well-connected parts, which grow from single nodes. Returns the part of each node.
inline Labels refine(const Level& level, const Labels& labels, double penalty, std::mt19937_64& random) {
    const std::int64_t n = level.n();
    Labels parts(static_cast<std::size_t>(n));
    std::iota(parts.begin(), parts.end(), 0);
    std::vector<double> community_mass(static_cast<std::size_t>(n), 0.0), mass = level.degree;
    std::vector<double> weight_to_rest(mass.size(), 0.0);  // from each part to the rest of its community
    std::vector<bool> is_singleton(static_cast<std::size_t>(n), true);
    for (std::int64_t v = 0; v < n; ++v) community_mass[labels[v]] += level.degree[v];
    for (std::int64_t v = 0; v < n; ++v)
        for (std::int64_t e = level.indptr[v]; e < level.indptr[v + 1]; ++e)
            if (level.indices[e] != v && labels[level.indices[e]] == labels[v]) weight_to_rest[v] += level.weights[e];
    const auto well_connected = [&](std::int32_t part, std::int32_t label) {
        return weight_to_rest[part] >= penalty * mass[part] * (community_mass[label] - mass[part]);
    };
    NeighborWeights weight_to(n);
    for (const std::int32_t v : shuffled(n, random)) {
        const std::int32_t label = labels[v];
        if (!is_singleton[v] || !well_connected(v, label)) continue;
        weight_to.sum(level, v, parts, [&](std::int32_t u) { return labels[u] == label; });
        std::int32_t best = v;
        double gain = 0;
        for (const auto part : weight_to.communities()) {
            const double here = weight_to[part] - penalty * level.degree[v] * mass[part];
            if (here > gain && well_connected(part, label)) best = part, gain = here;
        }
        if (best == v) continue;
        weight_to_rest[best] += weight_to_rest[v] - 2 * weight_to[best];
        mass[best] += level.degree[v];
        mass[v] = weight_to_rest[v] = 0;
        parts[v] = best;
        is_singleton[v] = is_singleton[best] = false;
    }
    return parts;
}

// The graph between the parts; weights inside a part stay as a loop.
inline Level merge_parts(const Level& level, const Labels& parts, std::int64_t count) {
    Level coarse;
    coarse.degree.assign(static_cast<std::size_t>(count), 0.0);
    std::vector<std::int64_t> first(static_cast<std::size_t>(count) + 1, 0);
    for (const auto part : parts) ++first[part + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    Labels members(parts.size());
    auto next = first;
    for (std::size_t v = 0; v < parts.size(); ++v) members[next[parts[v]]++] = static_cast<std::int32_t>(v);
    std::vector<double> weight(static_cast<std::size_t>(count), 0.0);
    Labels seen;
    coarse.indptr.push_back(0);
    for (std::int64_t part = 0; part < count; ++part) {
        for (std::int64_t i = first[part]; i < first[part + 1]; ++i) {
            const std::int32_t v = members[i];
            coarse.degree[part] += level.degree[v];
            for (std::int64_t e = level.indptr[v]; e < level.indptr[v + 1]; ++e) {
                const std::int32_t other = parts[level.indices[e]];
                if (weight[other] == 0) seen.push_back(other);
                weight[other] += level.weights[e];
            }
        }
        for (const auto other : seen) {
            coarse.indices.push_back(other);
            coarse.weights.push_back(weight[other]);
            weight[other] = 0;
        }
        seen.clear();
        coarse.indptr.push_back(static_cast<std::int64_t>(coarse.indices.size()));
    }
    return coarse;
}

// labels (n) IN: the communities to begin with, OUT: those found, numbered from 0. Returns how many there are.
inline std::int32_t leiden(const Level& finest, Labels& labels, double resolution, int rounds, std::uint64_t seed) {
    const double total = std::accumulate(finest.degree.begin(), finest.degree.end(), 0.0);
    const double penalty = total > 0 ? resolution / total : 0;
    std::mt19937_64 random(seed);
    for (int round = 0; round < rounds; ++round) {
        renumber(labels);
        const Level* level = &finest;
        Level merged;
        Labels node_of(labels.size()), current = labels;  // the node of each point, and the community of each node
        std::iota(node_of.begin(), node_of.end(), 0);
        bool changed = false;
        for (;;) {
            changed |= move_nodes(*level, current, penalty, random);
            renumber(current);  // there are at most as many communities as parts: the numbers fit the next level
            Labels parts = refine(*level, current, penalty, random);
            const std::int32_t count = renumber(parts);
            for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = current[node_of[i]];
            if (count == level->n()) break;
            Labels coarse(static_cast<std::size_t>(count));
            for (std::size_t v = 0; v < parts.size(); ++v) coarse[parts[v]] = current[v];
            for (auto& node : node_of) node = parts[node];
            merged = merge_parts(*level, parts, count);
            level = &merged;
            current = std::move(coarse);
        }
        if (!changed) break;
    }
    return renumber(labels);
}

}  // namespace lapmodes
