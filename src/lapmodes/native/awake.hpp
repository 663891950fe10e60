// Which rows a sweep must compute.
#pragma once

#include <atomic>

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// If neither a row nor its neighbours changed in the last two sweeps, then the row's next iterate comes from the same
// numbers as its last one, for any momentum, and stays as it is; and if they did not change since the last certificate,
// then the row's share in it stays as well. (Masses of clusters change with every row: then all are computed.)
//
// A row that changes tells itself and its neighbours: `touched` holds the sweep (modulo 256) in which a row was told
// last, `told` the one in which it told others. It does so every third sweep only, as those who are told stay awake for
// longer. A wrong guess, by another thread's later entry or after 256 sweeps, computes the same numbers again.
class Awake {
   public:
    template <class T>
    explicit Awake(const Sweep<T>& s)
        : touched_(s.touched),
          told_(s.told),
          number_(static_cast<std::int32_t>(s.number)),
          now_(static_cast<std::uint8_t>(s.number)),
          window_(static_cast<std::uint8_t>((s.since > 2 ? s.since : 2) + kSilence)),
          all_(s.since > kLongest) {}

    // Writes the rows among [first, stop) that must be computed to `list`; returns their number.
    int choose(std::int64_t first, std::int64_t stop, bool all, std::int32_t* list) const {
        int count = 0;
        all = all || all_;
        for (std::int64_t n = first; n < stop; ++n) {
            list[count] = static_cast<std::int32_t>(n);
            count += all | (age(touched_[n]) <= window_);
        }
        return count;
    }

    // Row n changed. Reading first leaves the cache lines of other threads alone where all rows change.
    template <class T>
    void note(const Csr<T>& W, std::int64_t n) const {
        if (number_ - told_[n] <= kSilence) return;
        told_[n] = number_;
        touch(n);
        for (std::int64_t e = W.indptr[n]; e < W.indptr[n + 1]; ++e) touch(W.indices[e]);
    }

   private:
    static constexpr std::int64_t kLongest = 250;
    static constexpr int kSilence = 2;

    std::uint8_t age(std::uint8_t& sweep) const {
        return static_cast<std::uint8_t>(now_ - std::atomic_ref(sweep).load(std::memory_order_relaxed));
    }
    void touch(std::int64_t n) const {
        if (age(touched_[n]) != 0) std::atomic_ref(touched_[n]).store(now_, std::memory_order_relaxed);
    }

    std::uint8_t* touched_;
    std::int32_t *told_, number_;
    std::uint8_t now_, window_;
    bool all_;
};

}  // namespace lapmodes::LAPMODES_ISA
