// Shortlists of nearest neighbours and the distances that decide who is on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "arrays.hpp"
#include "isa.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// The k nearest so far of one point, nearest first; among equal distances the lower index first, so that the result
// does not depend on the order in which candidates come. Any thread may read it; one at a time may offer.
template <class T>
class Shortlist {
   public:
    Shortlist(const Shortlists<T>& lists, std::int64_t of)
        : sqdist_(lists.sqdist + of * lists.k), index_(lists.index + of * lists.k), k_(lists.k) {}

    T worst() const { return get(sqdist_[k_ - 1]); }
    bool takes(T d2, std::int32_t i) const { return d2 < worst() || (d2 == worst() && i < get(index_[k_ - 1])); }
    bool has(std::int32_t i) const {
        for (std::int64_t at = 0; at < k_; ++at)
            if (get(index_[at]) == i) return true;
        return false;
    }

    void offer(T d2, std::int32_t i) {
        if (!takes(d2, i) || has(i)) return;
        std::int64_t at = k_ - 1;
        while (at > 0 && (sqdist_[at - 1] > d2 || (sqdist_[at - 1] == d2 && index_[at - 1] > i))) {
            put(sqdist_[at], sqdist_[at - 1]);
            put(index_[at], index_[at - 1]);
            --at;
        }
        put(sqdist_[at], d2);
        put(index_[at], i);
    }

   private:
    template <class U>
    static U get(U& at) {
        return std::atomic_ref<U>(at).load(std::memory_order_relaxed);
    }
    template <class U>
    static void put(U& at, U value) {
        std::atomic_ref<U>(at).store(value, std::memory_order_relaxed);
    }

    T* sqdist_;
    std::int32_t* index_;
    std::int64_t k_;
};

// Squared distance of two dense rows from differences: no cancellation, and the same bits wherever it is computed.
// Infinity, early, where it is beyond `limit`.
template <class T>
T row_sqdist(const T* a, const T* b, std::int64_t d, T limit) {
    constexpr int W = kVectorBytes / sizeof(T), chains = 4;
    Vec<T, W> sums[chains] = {};
    std::int64_t i = 0;
    const auto total = [&] { return sum_of<T, W>((sums[0] + sums[1]) + (sums[2] + sums[3])); };
    const auto add = [&](int chain, std::int64_t at) {
        const Vec<T, W> diff = load<T, W>(a + at) - load<T, W>(b + at);
        sums[chain] += diff * diff;
    };
    for (; i + 2 * chains * W <= d; i += 2 * chains * W) {
        for (int c = 0; c < chains; ++c) add(c, i + c * W);
        for (int c = 0; c < chains; ++c) add(c, i + (chains + c) * W);
        if (total() > limit) return std::numeric_limits<T>::infinity();
    }
    for (; i + W <= d; i += W) add(0, i);
    T tail = 0;
    for (; i < d; ++i) tail += (a[i] - b[i]) * (a[i] - b[i]);
    return total() + tail;
}

}  // namespace lapmodes::LAPMODES_ISA
