// Nearest neighbours from blocks of inner products, and their repair by neighbours of neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// The k best so far of one point, nearest first; among equal distances the lower index first, so that
// the result does not depend on the order in which candidates come.
template <class T>
class Shortlist {
   public:
    Shortlist(T* sqdist, std::int32_t* index, std::int64_t k) : sqdist_(sqdist), index_(index), k_(k) {}

    T worst() const { return sqdist_[k_ - 1]; }

    void offer(T d2, std::int32_t i) {
        if (d2 > worst() || (d2 == worst() && i >= index_[k_ - 1]) || has(i)) return;
        std::int64_t at = k_ - 1;
        while (at > 0 && (sqdist_[at - 1] > d2 || (sqdist_[at - 1] == d2 && index_[at - 1] > i))) {
            sqdist_[at] = sqdist_[at - 1];
            index_[at] = index_[at - 1];
            --at;
        }
        sqdist_[at] = d2;
        index_[at] = i;
    }

   private:
    bool has(std::int32_t i) const { return std::find(index_, index_ + k_, i) != index_ + k_; }

    T* sqdist_;
    std::int32_t* index_;
    std::int64_t k_;
};

// One block of pairs: inner (p, q) IN holds the inner products of points rows[i] and cols[j].
// sqdist, index (., k) IN/OUT are the shortlists of the rows, and of the columns too where `mutual` is set.
// col_worst (q) OUT is scratch. A point is not offered to itself.
template <class T>
void offer_block(const PairBlock<T>& block, T* sqdist, std::int32_t* index, std::int64_t k, T* col_worst) {
    constexpr std::int64_t width = kLanes<T>;
    const auto list = [&](std::int32_t i) { return Shortlist<T>(sqdist + i * k, index + i * k, k); };
    for (std::int64_t j = 0; j < block.q; ++j) col_worst[j] = block.mutual ? list(block.cols[j]).worst() : T(-1);
    for (std::int64_t i = 0; i < block.p; ++i) {
        const std::int32_t row = block.rows[i];
        Shortlist<T> mine = list(row);
        const T* inner = block.inner + i * block.q;
        const T own = block.row_sqnorm[i];
        for (std::int64_t j0 = 0; j0 < block.q; j0 += width) {
            const std::int64_t end = std::min(width, block.q - j0);
            const T limit = mine.worst();
            int hits = 0;
#pragma omp simd reduction(| : hits)
            for (std::int64_t l = 0; l < end; ++l) {
                const T d2 = own + block.col_sqnorm[j0 + l] - 2 * inner[j0 + l];
                hits |= (d2 <= limit) | (d2 <= col_worst[j0 + l]);
            }
            if (!hits) continue;
            for (std::int64_t j = j0; j < j0 + end; ++j) {
                const std::int32_t col = block.cols[j];
                const T d2 = std::max(T(0), own + block.col_sqnorm[j] - 2 * inner[j]);
                if (row == col && block.same) continue;
                mine.offer(d2, col);
                if (d2 <= col_worst[j]) {
                    Shortlist<T> other = list(col);
                    other.offer(d2, row);
                    col_worst[j] = other.worst();
                }
            }
        }
    }
}

// Squared distance of two dense rows: no cancellation.
template <class T>
T row_sqdist(const T* a, const T* b, std::int64_t d) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < d; ++i) {
        const T diff = a[i] - b[i];
        sum += diff * diff;
    }
    return sum;
}

// The shortlists (n, k) of points X improved by the neighbours of their neighbours, with distances measured anew.
// index IN; new_sqdist, new_index OUT.
template <class T>
void refine_neighbors(const T* X, std::int64_t n, std::int64_t d, std::int64_t k, const std::int32_t* index,
                      T* new_sqdist, std::int32_t* new_index, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
    for (std::int64_t i = 0; i < n; ++i) {
        T* sqdist = new_sqdist + i * k;
        std::int32_t* mine = new_index + i * k;
        std::fill(sqdist, sqdist + k, std::numeric_limits<T>::infinity());
        std::fill(mine, mine + k, std::numeric_limits<std::int32_t>::max());
        Shortlist<T> list(sqdist, mine, k);
        const T* x = X + i * d;
        const std::int32_t* near = index + i * k;
        for (std::int64_t a = 0; a < k; ++a) list.offer(row_sqdist(x, X + std::int64_t(near[a]) * d, d), near[a]);
        for (std::int64_t a = 0; a < k; ++a) {
            const std::int32_t* far = index + std::int64_t(near[a]) * k;
            for (std::int64_t b = 0; b < k; ++b)
                if (far[b] != i && std::find(near, near + k, far[b]) == near + k)
                    list.offer(row_sqdist(x, X + std::int64_t(far[b]) * d, d), far[b]);
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
