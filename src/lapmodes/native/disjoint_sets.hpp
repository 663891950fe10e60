// Disjoint sets of numbers: union and find with path halving.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace lapmodes {

class DisjointSets {
   public:
    explicit DisjointSets(std::int64_t n) : parent_(static_cast<std::size_t>(n)) {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    std::int32_t root(std::int32_t x) {
        while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
        return x;
    }
    // Joins the set of the root `child` to that of `parent`, whose root stays.
    void attach(std::int32_t child, std::int32_t parent) { parent_[child] = parent; }

   private:
    std::vector<std::int32_t> parent_;
};

// labels (n) OUT: the sets, numbered in the order of their first members.
inline void number_sets(DisjointSets& sets, std::int64_t n, std::int32_t* labels) {
    std::vector<std::int32_t> number(static_cast<std::size_t>(n), -1);
    std::int32_t next = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        std::int32_t& own = number[sets.root(static_cast<std::int32_t>(i))];
        if (own < 0) own = next++;
        labels[i] = own;
    }
}

}  // namespace lapmodes
