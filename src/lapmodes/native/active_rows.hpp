// The rows that a sweep must compute.
#pragma once

#include <atomic>
#include <cstdint>

#include "arrays.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// If neither a row nor its neighbours changed in the last two sweeps, then the row's next iterate comes from the same
// numbers as its last one, for any momentum, and stays as it is. If they did not change since energy and certificate
// were last summed, then the row's part of these sums stays as well. All other rows are active.
//
// A row that changes announces it to itself and its neighbours: `changed_at` holds the sweep (modulo 256) in which this
// last happened to a row, `announced_at` the sweep in which the row itself last made an announcement. A row that
// changes in every sweep makes one in every third only, which is enough as rows stay active for as much longer. A row
// that is taken for active by mistake, through another thread's later entry or after 256 sweeps, gets the same numbers
// again.
class ActiveRows {
   public:
    template <class T>
    explicit ActiveRows(const Sweep<T>& s)
        : changed_at_(s.changed_at),
          announced_at_(s.announced_at),
          number_(static_cast<std::int32_t>(s.sweep_number)),
          now_(static_cast<std::uint8_t>(s.sweep_number)),
          window_(static_cast<std::uint8_t>((s.sweeps_since_stats > 2 ? s.sweeps_since_stats : 2) + kPause)),
          all_(s.sweeps_since_stats > kLongest) {}

    // rows OUT: the active ones among [first, stop), with room for one more than these. Returns their number.
    int choose(std::int64_t first, std::int64_t stop, std::int32_t* rows) const {
        int count = 0;
        for (std::int64_t n = first; n < stop; ++n) {
            rows[count] = static_cast<std::int32_t>(n);
            count += all_ | (age(changed_at_[n]) <= window_);
        }
        return count;
    }

    // Row n changed.
    template <class T>
    void announce(const Csr<T>& W, std::int64_t n) const {
        if (number_ - announced_at_[n] <= kPause) return;
        announced_at_[n] = number_;
        mark(n);
        for (std::int64_t e = W.indptr[n]; e < W.indptr[n + 1]; ++e) mark(W.indices[e]);
    }

   private:
    static constexpr std::int64_t kLongest = 250;  // sweeps that can be told apart modulo 256
    static constexpr int kPause = 2;               // sweeps between two announcements of a row

    std::uint8_t age(std::uint8_t& sweep) const {
        return static_cast<std::uint8_t>(now_ - std::atomic_ref(sweep).load(std::memory_order_relaxed));
    }
    // Reading first leaves the cache lines of other threads alone where all rows change.
    void mark(std::int64_t n) const {
        if (age(changed_at_[n]) != 0) std::atomic_ref(changed_at_[n]).store(now_, std::memory_order_relaxed);
    }

    std::uint8_t* changed_at_;
    std::int32_t *announced_at_, number_;
    std::uint8_t now_, window_;
    bool all_;
};

}  // namespace lapmodes::LAPMODES_ISA
