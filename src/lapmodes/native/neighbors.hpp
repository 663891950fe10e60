// Shortlists of nearest neighbours, picked among candidates.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "arrays.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// The k best so far of one point, nearest first; among equal distances the lower index first, so that
// the result does not depend on the order in which candidates come. Any thread may look, one at a time may offer.
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

// The numbers seen lately: most repetitions among the neighbours of neighbours of a point are caught, and none wrongly.
class Seen {
   public:
    bool again(std::int64_t of, std::int32_t i) {
        const std::int64_t mark = ((of + 1) << 32) | i;  // never 0
        std::int64_t& slot = slots_[i & (kSlots - 1)];
        const bool known = slot == mark;
        slot = mark;
        return known;
    }

   private:
    static constexpr int kSlots = 512;
    std::int64_t slots_[kSlots] = {};
};

// The nearest of the candidates (n, m) of each point of Q among X, lists OUT; with `same` none is its own neighbour.
// With `further`, which takes Q to be X, the candidates of candidates are candidates, too.
template <class T>
void pick_neighbors(const T* Q, std::int64_t n, const T* X, std::int64_t d, const std::int32_t* candidates,
                    std::int64_t m, bool same, bool further, const Shortlists<T>& lists, int threads) {
    const std::int64_t k = lists.k;
#pragma omp parallel num_threads(threads)
    {
        Seen seen;
#pragma omp for schedule(dynamic, 64)
        for (std::int64_t i = 0; i < n; ++i) {
            std::fill_n(lists.sqdist + i * k, k, std::numeric_limits<T>::infinity());
            std::fill_n(lists.index + i * k, k, std::numeric_limits<std::int32_t>::max());
            Shortlist<T> mine(lists, i);
            const auto offer = [&](std::int32_t j) {
                if ((same && j == i) || seen.again(i, j)) return;
                mine.offer(row_sqdist(Q + i * d, X + j * d, d, mine.worst()), j);
            };
            const std::int32_t* near = candidates + i * m;
            for (std::int64_t a = 0; a < m; ++a) offer(near[a]);
            for (std::int64_t a = 0; further && a < m; ++a) {
                const std::int32_t* far = candidates + near[a] * m;
                for (std::int64_t b = 0; b < m; ++b) offer(far[b]);
            }
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
