// The Z-step's inner loop for many clusters: rows of Z hold only what is not zero, and the step is the same as that
// of sweep.hpp over all k columns. An entry that no neighbour has and that is not among the largest of the linear
// term is left out where its bound proves that the projection makes it zero; elsewhere it is computed.
// All arithmetic is in double.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "isa.hpp"
#include "points.hpp"
#include "sparse_term.hpp"

namespace lapmodes::LAPMODES_ISA {

// Sparse rows with spare room: row n has count[n] entries, from start[n] on, and room up to start[n + 1].
// Whether count, column and value are IN or OUT is said where they are used.
struct PaddedRows {
    const std::int64_t* start;
    std::int32_t* count;
    std::int32_t* column;
    double* value;
};

template <class T>
struct SparseProblem {
    Csr<T> W;
    const T* diagonal;
    const SparseTerm<T>* term;
    std::int64_t n;
    double lam;
    double slack;  // columns that can lower a row's part of the objective by no more than this are not looked for
};

// What a thread needs to compute one row at a time. All memory is allocated once, for at most k candidates.
template <class T, class Source>
class SparseSweeper {
    struct Candidate {
        std::int32_t k;
        bool known;                // whether b is the entry of the linear term; else only its bound is known
        double z, old, wz, w_old;  // of the current and the previous iterate, own and summed over the neighbours
        double b, v;               // the entry, and the gradient step
    };

   public:
    SparseSweeper(const SparseProblem<T>& p, const PaddedRows& Z, const PaddedRows& Z_old, double momentum)
        : p_(p), term_(*p.term), rows_(p.term->X), Z_(Z), old_(Z_old), momentum_(momentum), position_(p.term->k, -1) {
        candidates_.reserve(static_cast<std::size_t>(p.term->k));
        had_no_entry_.reserve(static_cast<std::size_t>(p.term->k));
    }

    // sums (kStatistics) IN/OUT: row n's part of energy and certificate is added. Returns whether every column had to
    // be looked at.
    bool add_statistics(std::int64_t n, double* sums) {
        gather(n);
        has_all_columns_ = false;
        const double d = static_cast<double>(p_.diagonal[n]), bound = static_cast<double>(term_.bound[n]);
        // The least entry of the gradient, or a bound below it: over candidates whose entry is known, over the others
        // where their bound does not rule them out, and over columns that are no candidates, the largest kept one
        // first.
        double low = std::numeric_limits<double>::infinity();
        for (Candidate& c : candidates_)
            if (c.known) low = smaller(low, gradient(d, c));
        for (Candidate& c : candidates_) {  // a candidate without its entry has z = 0
            if (c.known || !(-2 * p_.lam * c.wz - bound < low)) continue;
            set_entry(n, c);
            low = smaller(low, gradient(d, c));
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            if (position_[term_.column[n * term_.m + j]] >= 0) continue;
            low = smaller(low, -static_cast<double>(term_.value[n * term_.m + j]));
            break;
        }
        if (-bound < low - p_.slack) {
            add_all_columns(n);
            for (const Candidate& c : candidates_) low = smaller(low, gradient(d, c));
        } else {
            low = smaller(low, -bound);
        }
        for (const Candidate& c : candidates_) {
            if (c.z == 0) continue;
            const double Lz = d * c.z - c.wz;
            sums[kSmoothness] += c.z * Lz;
            sums[kFidelity] += c.z * c.b;
            sums[kGap] += c.z * (gradient(d, c) - low);
        }
        return has_all_columns_;
    }

    // The projected gradient step from the extrapolated point, after add_statistics of the same row. next OUT; its
    // count may end above the row's room: then what did not fit is not written. sums IN/OUT: the restart test is added.
    // Returns whether every column had to be looked at.
    bool step(std::int64_t n, double size, const PaddedRows& next, double* sums) {
        const double d = static_cast<double>(p_.diagonal[n]), bound = static_cast<double>(term_.bound[n]);
        const double own_factor = 1 - 2 * p_.lam * d * size, wy_factor = 2 * p_.lam * size;
        for (Candidate& c : candidates_) {
            c.v = own_factor * extrapolated(c.z, c.old) + wy_factor * extrapolated(c.wz, c.w_old);
            if (c.known) c.v += size * c.b;
        }
        find_threshold();
        // Columns beyond the candidates enter only if their entries, or the bounds on these, reach the threshold, which
        // rises with each that does.
        for (std::int64_t j = 0; j < term_.m; ++j) {
            const double b = static_cast<double>(term_.value[n * term_.m + j]);
            if (position_[term_.column[n * term_.m + j]] >= 0) continue;
            if (!above(size * b)) break;
            Candidate& c = candidate(term_.column[n * term_.m + j]);
            c.known = true;
            c.b = b;
            c.v = size * b;
            find_threshold();
        }
        for (Candidate& c : candidates_) {
            if (c.known || !above(c.v + size * bound)) continue;
            set_entry(n, c);
            c.v += size * c.b;
            if (above(c.v)) find_threshold();
        }
        if (!has_all_columns_ && above(size * (bound - p_.slack))) {
            const std::size_t before = candidates_.size();
            add_all_columns(n);
            for (std::size_t i = before; i < candidates_.size(); ++i) candidates_[i].v = size * candidates_[i].b;
            for (std::size_t i = 0; i < before; ++i)
                if (had_no_entry_[i]) candidates_[i].v += size * candidates_[i].b;
            find_threshold();
        }
        write_next(n, size, next, sums);
        return has_all_columns_;
    }

   private:
    static double smaller(double a, double b) { return b < a ? b : a; }
    double extrapolated(double now, double before) const { return now + momentum_ * (now - before); }
    double gradient(double d, const Candidate& c) const { return 2 * p_.lam * (d * c.z - c.wz) - c.b; }
    bool above(double v) const { return (v - top_) - theta_ > 0; }

    Candidate& candidate(std::int32_t k) {
        if (position_[k] < 0) {
            position_[k] = static_cast<std::int32_t>(candidates_.size());
            candidates_.push_back({k, false, 0, 0, 0, 0, 0, 0});
        }
        return candidates_[static_cast<std::size_t>(position_[k])];
    }

    void set_entry(std::int64_t n, Candidate& c) {
        c.b = entry(term_, rows_, n, c.k);
        c.known = true;
    }

    // The candidates of row n: its own support now and before, and that of its neighbours.
    void gather(std::int64_t n) {
        for (const Candidate& c : candidates_) position_[c.k] = -1;
        candidates_.clear();
        for (std::int64_t i = Z_.start[n]; i < Z_.start[n] + Z_.count[n]; ++i) candidate(Z_.column[i]).z = Z_.value[i];
        const bool extrapolates = momentum_ != 0;
        if (extrapolates)
            for (std::int64_t i = old_.start[n]; i < old_.start[n] + old_.count[n]; ++i)
                candidate(old_.column[i]).old = old_.value[i];
        for (std::int64_t e = p_.W.indptr[n]; e < p_.W.indptr[n + 1]; ++e) {
            const std::int64_t other = p_.W.indices[e];
            const double w = static_cast<double>(p_.W.values[e]);
            for (std::int64_t i = Z_.start[other]; i < Z_.start[other] + Z_.count[other]; ++i)
                candidate(Z_.column[i]).wz += w * Z_.value[i];
            if (extrapolates)
                for (std::int64_t i = old_.start[other]; i < old_.start[other] + old_.count[other]; ++i)
                    candidate(old_.column[i]).w_old += w * old_.value[i];
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            const std::int32_t at = position_[term_.column[n * term_.m + j]];
            if (at < 0) continue;
            candidates_[static_cast<std::size_t>(at)].b = static_cast<double>(term_.value[n * term_.m + j]);
            candidates_[static_cast<std::size_t>(at)].known = true;
        }
        for (Candidate& c : candidates_)
            if (!c.known && c.z > 0) set_entry(n, c);
    }

    // Makes every column a candidate with its entry; had_no_entry_ tells which of the old candidates had none before.
    void add_all_columns(std::int64_t n) {
        had_no_entry_.assign(candidates_.size(), false);
        for (std::size_t i = 0; i < had_no_entry_.size(); ++i) {
            if (candidates_[i].known) continue;
            had_no_entry_[i] = true;
            set_entry(n, candidates_[i]);
        }
        for (std::int64_t j = 0; j < term_.m; ++j) {
            if (position_[term_.column[n * term_.m + j]] >= 0) continue;
            Candidate& c = candidate(term_.column[n * term_.m + j]);
            c.b = static_cast<double>(term_.value[n * term_.m + j]);
            c.known = true;
        }
        for (std::int32_t k = 0; k < term_.k; ++k)
            if (position_[k] < 0) set_entry(n, candidate(k));
        has_all_columns_ = true;
    }

    // Newton's method from the left on sum max(v - top - theta, 0) = 1 over the known candidates (simplex.hpp).
    void find_threshold() {
        top_ = -std::numeric_limits<double>::infinity();
        for (const Candidate& c : candidates_)
            if (c.known && c.v > top_) top_ = c.v;
        theta_ = -1;
        for (std::size_t round = 0; round < candidates_.size() + 2; ++round) {
            double sum = -1, count = 0;
            for (const Candidate& c : candidates_) {
                if (!c.known || !above(c.v)) continue;
                sum += (c.v - top_) - theta_;
                count += 1;
            }
            if (!(sum > 2 * std::numeric_limits<double>::epsilon())) break;
            theta_ += sum / count;
        }
    }

    void write_next(std::int64_t n, double size, const PaddedRows& next, double* sums) {
        const std::int64_t room = next.start[n + 1] - next.start[n];
        std::int64_t count = 0;
        double uphill = 0;
        for (const Candidate& c : candidates_) {
            const double z_next = c.known && above(c.v) ? (c.v - top_) - theta_ : 0;
            uphill += (extrapolated(c.z, c.old) - z_next) * (z_next - c.z);
            if (z_next == 0) continue;
            if (count < room) {
                next.column[next.start[n] + count] = c.k;
                next.value[next.start[n] + count] = z_next;
            }
            ++count;
        }
        next.count[n] = static_cast<std::int32_t>(count);
        sums[kRestart] += uphill / size;
    }

    const SparseProblem<T>& p_;
    const SparseTerm<T>& term_;
    Source rows_;
    PaddedRows Z_, old_;
    double momentum_, top_ = 0, theta_ = 0;
    bool has_all_columns_ = false;
    std::vector<std::int32_t> position_;  // (k): of each column among the candidates, or -1
    std::vector<Candidate> candidates_;
    std::vector<bool> had_no_entry_;
};

// One step of accelerated projected gradient. Z, Z_old IN; next OUT, or with a null count, where only energy and
// certificate are summed. stats (blocks, kStatistics) OUT. Returns how many rows had to look at every column.
template <class T, class Source>
std::int64_t sparse_sweep_of(const SparseProblem<T>& p, const PaddedRows& Z, const PaddedRows& Z_old,
                             const PaddedRows& next, const double* step, double momentum, double* stats, int threads) {
    std::int64_t full_rows = 0;
#pragma omp parallel num_threads(threads) reduction(+ : full_rows)
    {
        SparseSweeper<T, Source> sweeper(p, Z, Z_old, momentum);
#pragma omp for schedule(dynamic, 4)
        for (std::int64_t block = 0; block < block_count(p.n); ++block) {
            double sums[kStatistics] = {};
            for (std::int64_t n = block_begin(block); n < block_end(block, p.n); ++n) {
                bool all_columns = sweeper.add_statistics(n, sums);
                if (next.count) all_columns = sweeper.step(n, step[n], next, sums);
                full_rows += all_columns;
            }
            for (int i = 0; i < kStatistics; ++i) stats[block * kStatistics + i] = sums[i];
        }
    }
    return full_rows;
}

template <class T>
std::int64_t sparse_sweep(const SparseProblem<T>& p, const PaddedRows& Z, const PaddedRows& Z_old,
                          const PaddedRows& next, const double* step, double momentum, double* stats, int threads) {
    auto run = p.term->X.dense ? sparse_sweep_of<T, DenseRows<T>> : sparse_sweep_of<T, SparseRows<T>>;
    return run(p, Z, Z_old, next, step, momentum, stats, threads);
}

}  // namespace lapmodes::LAPMODES_ISA
