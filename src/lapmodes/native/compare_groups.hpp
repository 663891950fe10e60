// Rows of two groups compared all with all, and offered to each other's shortlists.
//
// Squared distances come from inner products about the centre of one group, in tiles that stay in registers; only
// pairs that may enter a list are measured again from differences, which alone decide.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "isa.hpp"
#include "shortlist.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T>
std::int64_t largest_group(const Groups<T>& groups) {
    std::int64_t most = 0;
    for (std::int64_t g = 0; g < groups.count; ++g) most = std::max(most, groups.size(g));
    return most;
}

// The rows of one group, about a centre, in panels of `width` rows: one coordinate of all of them after the other.
template <class T>
class Panels {
   public:
    Panels(const Groups<T>& groups, const Shortlists<T>& lists, std::int64_t width)
        : groups_(groups), lists_(lists), width_(width), d_(groups.d),
          slack_(4 * std::sqrt(T(d_)) * std::numeric_limits<T>::epsilon()),
          sqnorm_((largest_group(groups) + width - 1) / width * width), limit_(sqnorm_.size()),
          entries_(sqnorm_.size() * d_) {}

    bool is_group(std::int64_t i, const Panels& other, std::int64_t j) const {
        return groups_.numbers(i) == other.groups_.numbers(j);
    }
    std::int64_t size() const { return size_; }
    std::int32_t number(std::int64_t r) const { return numbers_[r]; }
    const T* row(std::int64_t r) const { return groups_.X + numbers_[r] * d_; }
    const T* panel(std::int64_t r) const { return entries_.data() + r * d_; }
    const T* sqnorm(std::int64_t r) const { return sqnorm_.data() + r; }
    const T* limit(std::int64_t r) const { return limit_.data() + r; }

    // center (d) OUT.
    void find_center(std::int64_t group, T* center) const {
        std::fill(center, center + d_, T(0));
        const std::int32_t* numbers = groups_.numbers(group);
        for (std::int64_t r = 0; r < groups_.size(group); ++r)
            for (std::int64_t t = 0; t < d_; ++t) center[t] += groups_.X[numbers[r] * d_ + t];
        for (std::int64_t t = 0; t < d_; ++t) center[t] /= T(groups_.size(group));
    }

    // Copies the rows of a group. Nothing is offered to lists that are closed, nor to any where the group's lists are
    // not `open`. The rows that fill up the last panel have no norm: they are near nothing.
    void load_group(std::int64_t group, const T* center, bool open) {
        numbers_ = groups_.numbers(group);
        size_ = groups_.size(group);
        for (std::int64_t first = 0; first < size_; first += width_) {
            fill_panel(first, center);
            for (std::int64_t r = first; r < first + width_; ++r) {
                limit_[r] = -1;
                if (r >= size_) sqnorm_[r] = std::numeric_limits<T>::quiet_NaN();
                else if (open && !lists_.closed[numbers_[r]]) set_limit(r);
            }
        }
    }

    bool takes(std::int64_t r) const { return limit_[r] >= 0; }
    // Beyond this no row can enter the list, whatever the rounding.
    void set_limit(std::int64_t r) { limit_[r] = Shortlist<T>(lists_, numbers_[r]).worst() + slack_ * sqnorm_[r]; }

   private:
    void fill_panel(std::int64_t first, const T* center) {
        constexpr std::int64_t at_once = 32;  // coordinates, whose cache lines are still there for the next row
        std::fill_n(sqnorm_.begin() + first, width_, T(0));
        for (std::int64_t start = 0; start < d_; start += at_once)
            for (std::int64_t r = first; r < first + width_; ++r) {
                T* to = entries_.data() + first * d_ + (r - first);
                const T* x = row(std::min(r, size_ - 1));
                T sum = 0;
                for (std::int64_t t = start; t < std::min(start + at_once, d_); ++t) {
                    const T value = x[t] - center[t];
                    to[t * width_] = value;
                    sum += value * value;
                }
                sqnorm_[r] += sum;
            }
    }

    Groups<T> groups_;
    Shortlists<T> lists_;
    std::int64_t width_, d_;
    T slack_;
    const std::int32_t* numbers_ = nullptr;
    std::int64_t size_ = 0;
    std::vector<T> sqnorm_, limit_, entries_;
};

// One thread at a time may change the list of a point; some points share a lock.
class Locks {
   public:
    template <class Work>
    void with(std::int32_t point, Work work) {
        std::atomic_flag& taken = taken_[point % kLocks];
        while (taken.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        work();
        taken.clear(std::memory_order_release);
    }

   private:
    static constexpr int kLocks = 4096;
    std::atomic_flag taken_[kLocks] = {};
};

// What one thread works with. All memory is allocated once, when it is made.
template <class T>
class Comparison {
   public:
    Comparison(const Groups<T>& queries, const Groups<T>& rows, const Shortlists<T>& lists, bool same, Locks& locks)
        : lists_(lists), same_(same), locks_(&locks), d_(queries.d),
          at_once_(std::max<std::int64_t>(1, kLeftBytes / (d_ * sizeof(T) * kRows)) * kRows), center_(d_),
          partial_(at_once_ * kCols), left_(queries, lists, kRows), right_(rows, lists, kCols) {}

    // Rows of group j are offered to the queries of group i; where both number the same points, each to the other.
    void compare(std::int64_t i, std::int64_t j) {
        mutual_ = same_ && !left_.is_group(i, right_, j);  // each pair of one group comes twice
        left_.find_center(i, center_.data());  // any origin is right; a near one keeps norms, and so rounding, small
        left_.load_group(i, center_.data(), true);
        right_.load_group(j, center_.data(), mutual_);
        for (std::int64_t first = 0; first < left_.size(); first += at_once_)
            for (std::int64_t c = 0; c < right_.size(); c += kCols)
                for (std::int64_t depth = 0; depth < d_; depth += kDepth)
                    for (std::int64_t r = first; r < std::min(first + at_once_, left_.size()); r += kRows)
                        tile(r, c, depth, partial_.data() + (r - first) * kCols);
    }

   private:
    static constexpr int W = kVectorBytes / sizeof(T), kRows = 6, kCols = 2 * W;
    static constexpr std::int64_t kLeftBytes = 1 << 18;  // of rows that stay in the second cache over all columns
    static constexpr std::int64_t kDepth = (1 << 14) / (kCols * sizeof(T));  // of columns that stay in the first one
    using V = Vec<T, W>;

    // kDepth coordinates of kRows x kCols pairs. partial IN/OUT: sums that are not complete.
    void tile(std::int64_t r, std::int64_t c, std::int64_t depth, T* partial) {
        V inner[kRows][2];
        for (int i = 0; i < kRows; ++i)
            for (int half = 0; half < 2; ++half)
                inner[i][half] = depth ? load<T, W>(partial + i * kCols + half * W) : V{};
        const std::int64_t end = std::min(depth + kDepth, d_);
        const T *left = left_.panel(r) + depth * kRows, *right = right_.panel(c) + depth * kCols;
        for (std::int64_t t = depth; t < end; ++t, left += kRows, right += kCols) {
            const V b0 = load<T, W>(right), b1 = load<T, W>(right + W);
            for (int i = 0; i < kRows; ++i) {
                inner[i][0] += splat<T, W>(left[i]) * b0;
                inner[i][1] += splat<T, W>(left[i]) * b1;
            }
        }
        if (end == d_ && !any_near(r, c, inner)) return;
        for (int i = 0; i < kRows; ++i)
            for (int half = 0; half < 2; ++half) store<T, W>(partial + i * kCols + half * W, inner[i][half]);
        if (end == d_) offer_tile(r, c, partial);
    }
    bool any_near(std::int64_t r, std::int64_t c, const V (&inner)[kRows][2]) const {
        V best = splat<T, W>(T(-1));
        for (int half = 0; half < 2; ++half) {
            const V limit = load<T, W>(right_.limit(c) + half * W), sqnorm = load<T, W>(right_.sqnorm(c) + half * W);
            for (int i = 0; i < kRows; ++i)
                best = larger<T, W>(margin(r + i, limit, sqnorm, inner[i][half]), best);  // NaN counts for nothing
        }
        return any_positive<T, W>(best);
    }
    // How far a row and columns are within the limits: negative where the pair can enter no list.
    V margin(std::int64_t r, V limit, V sqnorm, V inner) const {
        const V sqdist = (splat<T, W>(*left_.sqnorm(r)) + sqnorm) - T(2) * inner;
        return larger<T, W>(splat<T, W>(*left_.limit(r)), limit) - sqdist;
    }

    void offer_tile(std::int64_t r, std::int64_t c, const T* inner) {
        for (int i = 0; i < kRows; ++i)
            for (std::int64_t at = c; at < c + kCols; at += W, inner += W) {
                const V limit = load<T, W>(right_.limit(at)), sqnorm = load<T, W>(right_.sqnorm(at));
                const V margins = margin(r + i, limit, sqnorm, load<T, W>(inner));
                if (!any_positive<T, W>(larger<T, W>(margins, splat<T, W>(T(-1))))) continue;
                T each[W];
                store<T, W>(each, margins);
                for (int l = 0; l < W; ++l)
                    if (each[l] >= 0) offer(r + i, at + l);
            }
    }

    // Most pairs that come here are on the lists already, so that is asked before the distance is computed.
    void offer(std::int64_t r, std::int64_t c) {
        const std::int32_t row = left_.number(r), col = right_.number(c);
        if (same_ && row == col) return;
        Shortlist<T> mine(lists_, row), other(lists_, mutual_ ? col : row);
        const bool open = left_.takes(r) && mine.takes(0, col) && !mine.has(col);
        const bool open_too = right_.takes(c) && other.takes(0, row) && !other.has(row);
        if (!open && !open_too) return;
        const T d2 = row_sqdist(left_.row(r), right_.row(c), d_, std::max(mine.worst(), other.worst()));
        if (open) {
            if (mine.takes(d2, col)) locks_->with(row, [&] { mine.offer(d2, col); });
            left_.set_limit(r);
        }
        if (open_too) {
            if (other.takes(d2, row)) locks_->with(col, [&] { other.offer(d2, row); });
            right_.set_limit(c);
        }
    }

    Shortlists<T> lists_;
    bool same_, mutual_ = false;
    Locks* locks_;
    std::int64_t d_, at_once_;
    std::vector<T> center_, partial_;
    Panels<T> left_, right_;
};

// pairs (count, 2) IN: a group of queries and one of rows; lists IN/OUT. With `same` both sides number the same points,
// and no point is its own neighbour.
template <class T>
void compare_groups(const Groups<T>& queries, const Groups<T>& rows, const std::int32_t* pairs, std::int64_t count,
                    bool same, const Shortlists<T>& lists, int threads) {
    Locks locks;
    std::vector<Comparison<T>> workspaces(threads, Comparison<T>(queries, rows, lists, same, locks));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (std::int64_t p = 0; p < count; ++p) workspaces[thread_index()].compare(pairs[2 * p], pairs[2 * p + 1]);
}

}  // namespace lapmodes::LAPMODES_ISA
