// The nearest neighbours among given candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arrays.hpp"
#include "isa.hpp"
#include "shortlist.hpp"

namespace lapmodes::LAPMODES_ISA {

// The candidates seen lately: most repetitions among the neighbours of neighbours of a point are found, and nothing is
// taken for one that is not.
class RecentCandidates {
   public:
    // Whether candidate i of point `of` was seen before; it is now.
    bool repeats(std::int64_t of, std::int32_t i) {
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

// Q (n, d), X (., d), candidates (n, m) IN: rows of X; lists OUT: the nearest candidates of each point of Q. With
// `same` Q is X and no point is its own neighbour. With `expand`, where Q must be X, candidates of candidates count as
// well.
template <class T>
void pick_neighbors(const T* Q, std::int64_t n, const T* X, std::int64_t d, const std::int32_t* candidates,
                    std::int64_t m, bool same, bool expand, const Shortlists<T>& lists, int threads) {
    const std::int64_t k = lists.k;
#pragma omp parallel num_threads(threads)
    {
        RecentCandidates recent;
#pragma omp for schedule(dynamic, 64)
        for (std::int64_t i = 0; i < n; ++i) {
            std::fill_n(lists.sqdist + i * k, k, std::numeric_limits<T>::infinity());
            std::fill_n(lists.index + i * k, k, std::numeric_limits<std::int32_t>::max());
            Shortlist<T> mine(lists, i);
            const auto offer = [&](std::int32_t j) {
                if ((same && j == i) || recent.repeats(i, j)) return;
                mine.offer(row_sqdist(Q + i * d, X + j * d, d, mine.worst()), j);
            };
            const std::int32_t* near = candidates + i * m;
            for (std::int64_t a = 0; a < m; ++a) offer(near[a]);
            for (std::int64_t a = 0; expand && a < m; ++a) {
                const std::int32_t* far = candidates + near[a] * m;
                for (std::int64_t b = 0; b < m; ++b) offer(far[b]);
            }
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
