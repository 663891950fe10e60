// The Z-step's inner loop for many clusters: rows of Z hold only what is not zero, and the step is the same as that
// of sweep.hpp over all k columns. An entry that no neighbour has and that is not among the largest of the linear
// term is left out where its bound proves that the projection makes it zero; elsewhere it is computed.
// All arithmetic is in double.
#pragma once

#include "sparse_term.hpp"

namespace lapmodes::LAPMODES_ISA {

// Rows with room of their own: row n has count[n] entries, from start[n] on, and room up to start[n + 1].
struct Slots {
    const std::int64_t* start;
    std::int32_t* count;
    std::int32_t* column;
    double* value;
};

template <class T>
struct SparseProblem {
    Csr<T> W;
    const T* diagonal;
    const Term<T>* term;
    std::int64_t n;
    double lam;
    double slack;  // columns that can lower a row's share of the objective by no more than this are not looked for
};

// What a thread needs for one row. All room is made once: at most k candidates.
template <class T, class Source>
class SparseSweeper {
    struct Candidate {
        std::int32_t k;
        bool known;               // whether b is the entry itself; else it is bounded
        double z, old, wz, w_old;  // of the current and the previous iterate, own and summed over the neighbours
        double b, v;
    };

   public:
    SparseSweeper(const SparseProblem<T>& p, const Slots& Z, const Slots& Z_old, double momentum)
        : p_(p), term_(*p.term), rows_(p.term->X), Z_(Z), old_(Z_old), momentum_(momentum), place_(p.term->k, -1) {
        list_.reserve(static_cast<std::size_t>(p.term->k));
    }

    // Energy and certificate of row n are added to sums (kStatistics). Returns whether all columns had to be looked at.
    bool tally(std::int64_t n, double* sums) {
        gather(n);
        widened_ = false;
        const double d = static_cast<double>(p_.diagonal[n]), bound = static_cast<double>(term_.bound[n]);
        double low = std::numeric_limits<double>::infinity();
        for (Candidate& c : list_)
            if (c.known) low = smaller(low, gradient(d, c));
        for (Candidate& c : list_) {  // a candidate without its entry has z = 0
            if (c.known || !(-2 * p_.lam * c.wz - bound < low)) continue;
            know(n, c);
            low = smaller(low, gradient(d, c));
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            if (place_[term_.column[n * term_.m + j]] >= 0) continue;
            low = smaller(low, -static_cast<double>(term_.value[n * term_.m + j]));
            break;
        }
        if (-bound < low - p_.slack) {
            widen(n);
            for (const Candidate& c : list_) low = smaller(low, gradient(d, c));
        } else {
            low = smaller(low, -bound);
        }
        for (const Candidate& c : list_) {
            if (c.z == 0) continue;
            const double spread = d * c.z - c.wz;
            sums[kSmoothness] += c.z * spread;
            sums[kFidelity] += c.z * c.b;
            sums[kGap] += c.z * (gradient(d, c) - low);
        }
        return widened_;
    }

    // The projected gradient step from the extrapolated point, after tally of the same row. count may end above the
    // row's room: then what did not fit is not written.
    bool step(std::int64_t n, double size, const Slots& next, double* sums) {
        const double d = static_cast<double>(p_.diagonal[n]), bound = static_cast<double>(term_.bound[n]);
        const double keep = 1 - 2 * p_.lam * d * size, pull = 2 * p_.lam * size;
        for (Candidate& c : list_) {
            c.v = keep * ahead(c.z, c.old) + pull * ahead(c.wz, c.w_old);
            if (c.known) c.v += size * c.b;
        }
        threshold();
        for (std::int64_t j = 0; j < term_.m; ++j) {
            const double b = static_cast<double>(term_.value[n * term_.m + j]);
            if (place_[term_.column[n * term_.m + j]] >= 0) continue;
            if (!above(size * b)) break;
            Candidate& c = candidate(term_.column[n * term_.m + j]);
            c.known = true;
            c.b = b;
            c.v = size * b;
            threshold();
        }
        for (Candidate& c : list_) {
            if (c.known || !above(c.v + size * bound)) continue;
            know(n, c);
            c.v += size * c.b;
            if (above(c.v)) threshold();
        }
        if (!widened_ && above(size * (bound - p_.slack))) {
            const std::size_t before = list_.size();
            widen(n);
            for (std::size_t i = before; i < list_.size(); ++i) list_[i].v = size * list_[i].b;
            for (std::size_t i = 0; i < before; ++i)
                if (late_[i]) list_[i].v += size * list_[i].b;
            threshold();
        }
        write(n, size, next, sums);
        return widened_;
    }

   private:
    static double smaller(double a, double b) { return b < a ? b : a; }
    double ahead(double now, double before) const { return now + momentum_ * (now - before); }
    double gradient(double d, const Candidate& c) const { return 2 * p_.lam * (d * c.z - c.wz) - c.b; }
    bool above(double v) const { return (v - top_) - theta_ > 0; }

    Candidate& candidate(std::int32_t k) {
        if (place_[k] < 0) {
            place_[k] = static_cast<std::int32_t>(list_.size());
            list_.push_back({k, false, 0, 0, 0, 0, 0, 0});
        }
        return list_[static_cast<std::size_t>(place_[k])];
    }

    void know(std::int64_t n, Candidate& c) {
        c.b = entry(term_, rows_, n, c.k);
        c.known = true;
    }

    // The candidates of row n: its own support now and before, and that of its neighbours.
    void gather(std::int64_t n) {
        for (const Candidate& c : list_) place_[c.k] = -1;
        list_.clear();
        for (std::int64_t i = Z_.start[n]; i < Z_.start[n] + Z_.count[n]; ++i) candidate(Z_.column[i]).z = Z_.value[i];
        const bool moving = momentum_ != 0;
        if (moving)
            for (std::int64_t i = old_.start[n]; i < old_.start[n] + old_.count[n]; ++i)
                candidate(old_.column[i]).old = old_.value[i];
        for (std::int64_t e = p_.W.indptr[n]; e < p_.W.indptr[n + 1]; ++e) {
            const std::int64_t other = p_.W.indices[e];
            const double w = static_cast<double>(p_.W.values[e]);
            for (std::int64_t i = Z_.start[other]; i < Z_.start[other] + Z_.count[other]; ++i)
                candidate(Z_.column[i]).wz += w * Z_.value[i];
            if (moving)
                for (std::int64_t i = old_.start[other]; i < old_.start[other] + old_.count[other]; ++i)
                    candidate(old_.column[i]).w_old += w * old_.value[i];
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            const std::int32_t at = place_[term_.column[n * term_.m + j]];
            if (at < 0) continue;
            list_[static_cast<std::size_t>(at)].b = static_cast<double>(term_.value[n * term_.m + j]);
            list_[static_cast<std::size_t>(at)].known = true;
        }
        for (Candidate& c : list_)
            if (!c.known && c.z > 0) know(n, c);
    }

    // Makes every column a candidate with its entry; late_ tells which of the old ones had none before.
    void widen(std::int64_t n) {
        late_.assign(list_.size(), false);
        for (std::size_t i = 0; i < late_.size(); ++i) {
            if (list_[i].known) continue;
            late_[i] = true;
            know(n, list_[i]);
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            if (place_[term_.column[n * term_.m + j]] >= 0) continue;
            Candidate& c = candidate(term_.column[n * term_.m + j]);
            c.b = static_cast<double>(term_.value[n * term_.m + j]);
            c.known = true;
        }
        for (std::int32_t k = 0; k < term_.k; ++k)
            if (place_[k] < 0) know(n, candidate(k));
        widened_ = true;
    }

    // Newton's method from the left on sum max(v - top - theta, 0) = 1 over the known candidates (simplex.hpp).
    void threshold() {
        top_ = -std::numeric_limits<double>::infinity();
        for (const Candidate& c : list_)
            if (c.known && c.v > top_) top_ = c.v;
        theta_ = -1;
        for (std::size_t round = 0; round < list_.size() + 2; ++round) {
            double sum = -1, count = 0;
            for (const Candidate& c : list_) {
                if (!c.known || !above(c.v)) continue;
                sum += (c.v - top_) - theta_;
                count += 1;
            }
            if (!(sum > 2 * std::numeric_limits<double>::epsilon())) break;
            theta_ += sum / count;
        }
    }

    void write(std::int64_t n, double size, const Slots& next, double* sums) {
        const std::int64_t room = next.start[n + 1] - next.start[n];
        std::int64_t count = 0;
        double uphill = 0;
        for (const Candidate& c : list_) {
            const double left = c.known && above(c.v) ? (c.v - top_) - theta_ : 0;
            uphill += (ahead(c.z, c.old) - left) * (left - c.z);
            if (left == 0) continue;
            if (count < room) {
                next.column[next.start[n] + count] = c.k;
                next.value[next.start[n] + count] = left;
            }
            ++count;
        }
        next.count[n] = static_cast<std::int32_t>(count);
        sums[kRestart] += uphill / size;
    }

    const SparseProblem<T>& p_;
    const Term<T>& term_;
    Source rows_;
    Slots Z_, old_;
    double momentum_, top_ = 0, theta_ = 0;
    bool widened_ = false;
    std::vector<std::int32_t> place_;  // (k): where a column is among the candidates, or -1
    std::vector<Candidate> list_;
    std::vector<bool> late_;
};

// One step of accelerated projected gradient from Z; next OUT. Without room for it (next.count null) only energy and
// certificate are summed. stats (blocks, kStatistics) OUT. Returns how many rows had to look at every column.
template <class T, class Source>
std::int64_t sparse_sweep_of(const SparseProblem<T>& p, const Slots& Z, const Slots& Z_old, const Slots& next,
                             const double* step, double momentum, double* stats, int threads) {
    const std::int64_t blocks = (p.n + kBlockRows - 1) / kBlockRows;
    std::int64_t wide = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wide)
    {
        SparseSweeper<T, Source> sweeper(p, Z, Z_old, momentum);
#pragma omp for schedule(dynamic, 4)
        for (std::int64_t block = 0; block < blocks; ++block) {
            double sums[kStatistics] = {};
            const std::int64_t stop = p.n < (block + 1) * kBlockRows ? p.n : (block + 1) * kBlockRows;
            for (std::int64_t n = block * kBlockRows; n < stop; ++n) {
                bool widened = sweeper.tally(n, sums);
                if (next.count) widened = sweeper.step(n, step[n], next, sums);
                wide += widened;
            }
            for (int i = 0; i < kStatistics; ++i) stats[block * kStatistics + i] = sums[i];
        }
    }
    return wide;
}

template <class T>
std::int64_t sparse_sweep(const SparseProblem<T>& p, const Slots& Z, const Slots& Z_old, const Slots& next,
                          const double* step, double momentum, double* stats, int threads) {
    auto run = p.term->X.dense ? sparse_sweep_of<T, DenseRows<T>> : sparse_sweep_of<T, SparseRows<T>>;
    return run(p, Z, Z_old, next, step, momentum, stats, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
