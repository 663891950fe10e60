// The Z-step's inner loop: one pass over the graph that gathers neighbours, takes the gradient at
// the extrapolated point, projects, and sums the energy and the certificate of the current iterate.
#pragma once

#include "arrays.hpp"
#include "simplex.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// Edges between the one being summed and the one whose row of Z is called for.
inline constexpr std::int64_t kAhead = 64;
inline constexpr std::int64_t kCacheLine = 64;

// wz[r] for r in [first, first + Count) = sum_m w_nm Z_m, kept in registers.
template <class T, int Count, class C>
inline void gather_some(const C& cut, const Csr<T>& W, std::int64_t n, const T* Z, std::int64_t first,
                        typename C::V* wz) {
    typename C::V acc[Count] = {};
    const std::int64_t end = W.indptr[n + 1];
    for (std::int64_t e = W.indptr[n]; e < end; ++e) {
        const T w = W.values[e];
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * cut.k;
        for (int r = 0; r < Count; ++r) acc[r] += w * load<T, C::W>(z + cut.at(first + r));
    }
    for (int r = 0; r < Count; ++r) wz[first + r] = acc[r];
}

template <class T, class C>
inline void gather(const C& cut, const Csr<T>& W, std::int64_t n, const T* Z, typename C::V* wz) {
    if constexpr (C::kFixed > 0) {
        gather_some<T, C::kFixed>(cut, W, n, Z, 0, wz);
    } else {
        std::int64_t r = 0;
        for (; r + 8 <= cut.size(); r += 8) gather_some<T, 8>(cut, W, n, Z, r, wz);
        for (; r + 3 <= cut.size(); r += 3) gather_some<T, 3>(cut, W, n, Z, r, wz);
        for (; r < cut.size(); ++r) gather_some<T, 1>(cut, W, n, Z, r, wz);
    }
}

// Calls for the rows that the gathers of some rows on will read.
template <class T>
inline void call_for(const Csr<T>& W, std::int64_t n, std::int64_t edges, const T* Z, std::int64_t k) {
    std::int64_t stop = W.indptr[n + 1] + kAhead;
    stop = stop < edges ? stop : edges;
    for (std::int64_t e = W.indptr[n] + kAhead; e < stop; ++e) {
        const char* row = reinterpret_cast<const char*>(Z + static_cast<std::int64_t>(W.indices[e]) * k);
        for (std::int64_t byte = 0; byte < k * static_cast<std::int64_t>(sizeof(T)); byte += kCacheLine)
            prefetch(row + byte);
    }
}

// What a thread needs for one row: three rows of vectors, in registers where their number is fixed.
template <class T, class C>
class Sweeper {
    using V = typename C::V;
    static constexpr int W = C::W;

   public:
    Sweeper(const C& cut, const Problem<T>& p, const T* Z, T* Z_old, T* WZ_old, const T* step, T momentum)
        : cut_(cut), p_(p), Z_(Z), Z_old_(Z_old), WZ_old_(WZ_old), step_(step), momentum_(momentum) {}

    // wz, y, v: room for a row each. sums (kStatistics, W): added to.
    void row(std::int64_t n, V* wz, V* y, V* v, double* sums) const {
        const T* z = Z_ + n * cut_.k;
        gather<T>(cut_, p_.W, n, Z_, wz);
        if (p_.masses)
            for (std::int64_t r = 0; r < cut_.size(); ++r)
                wz[r] = wz[r] - p_.diagonal[n] * load<T, W>(p_.masses + cut_.at(r));
        const T lowest = tally(n, z, wz, sums);
        const T top = extrapolate(n, z, wz, lowest, y, v, sums);
        const T theta = threshold<T>(cut_, v, lower_and_guess(z, WZ_old_ + n * cut_.k, top, wz, v));
        const T scale = 1 / step_[n];
        T* z_old = Z_old_ + n * cut_.k;
        V uphill{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V above = v[r] - theta, next = where_positive<T, W>(above, above);
            uphill += cut_.counted(r, (y[r] - next) * (next - load<T, W>(z + cut_.at(r))));
            store<T, W>(z_old + cut_.at(r), next);
        }
        add_as_double<T, W>(scale * uphill, sums + kRestart * W);
    }

   private:
    V gradient(T d, V z, V wz, V b) const { return 2 * p_.lam * (d * z - wz) - b; }

    // Adds row n's share of the energy; returns the least entry of the gradient at z.
    T tally(std::int64_t n, const T* z, const V* wz, double* sums) const {
        const T *b = p_.B + n * cut_.k, d = p_.diagonal[n];
        V smooth{}, fidelity{}, low = gradient(d, load<T, W>(z), wz[0], load<T, W>(b));
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V zr = load<T, W>(z + cut_.at(r)), br = load<T, W>(b + cut_.at(r));
            smooth += cut_.counted(r, zr * (d * zr - wz[r]));
            fidelity += cut_.counted(r, zr * br);
            low = smaller<T, W>(low, gradient(d, zr, wz[r], br));
        }
        add_as_double<T, W>(smooth, sums + kSmoothness * W);
        add_as_double<T, W>(fidelity, sums + kFidelity * W);
        return smallest_of<T, W>(low);
    }

    // y = z + momentum (z - z_old) and v, the gradient step from y; returns v's largest entry. On the way adds row
    // n's share of the certificate: gap_n = sum_k z_k (g_k - min g), whose sum over n bounds E(Z) - min E.
    T extrapolate(std::int64_t n, const T* z, const V* wz, T lowest, V* y, V* v, double* sums) const {
        const T *b = p_.B + n * cut_.k, *z_old = Z_old_ + n * cut_.k, *wz_old = WZ_old_ + n * cut_.k;
        const T d = p_.diagonal[n], s = step_[n], keep = 1 - 2 * p_.lam * d * s, pull = 2 * p_.lam * s;
        V gap{}, top{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const std::int64_t at = cut_.at(r);
            const V zr = load<T, W>(z + at), br = load<T, W>(b + at);
            gap += cut_.counted(r, zr * (gradient(d, zr, wz[r], br) - lowest));
            y[r] = zr + momentum_ * (zr - load<T, W>(z_old + at));
            const V wy = wz[r] + momentum_ * (wz[r] - load<T, W>(wz_old + at));
            v[r] = keep * y[r] + pull * wy + s * br;
            top = r == 0 ? v[0] : larger<T, W>(top, v[r]);
        }
        add_as_double<T, W>(gap, sums + kGap * W);
        return largest_of<T, W>(top);
    }

    // Subtracts the largest entry from v and hands wz on. Returns where the search for the threshold may begin,
    // which is the threshold itself if z has the support of the next iterate.
    T lower_and_guess(const T* z, T* wz_old, T top, const V* wz, V* v) const {
        V sum{}, count{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            store<T, W>(wz_old + cut_.at(r), wz[r]);
            v[r] = v[r] - top;
            const V zr = cut_.counted(r, load<T, W>(z + cut_.at(r)));
            sum += where_positive<T, W>(zr, v[r]);
            count += where_positive<T, W>(zr, splat<T, W>(T(1)));
        }
        const T guess = (sum_of<T, W>(sum) - 1) / sum_of<T, W>(count);
        return guess > -1 ? guess : T(-1);
    }

    C cut_;
    Problem<T> p_;
    const T* Z_;
    T *Z_old_, *WZ_old_;
    const T* step_;
    T momentum_;
};

template <class T>
void sweep(const Problem<T>& p, const T* Z, T* Z_old, T* WZ_old, const T* step, T momentum, double* stats,
           int threads) {
    const std::int64_t blocks = (p.n + kBlockRows - 1) / kBlockRows, edges = p.W.indptr[p.n];
    with_cut<T>(p.k, [&](const auto& cut) {
        using C = std::decay_t<decltype(cut)>;
        using V = typename C::V;
        const Sweeper<T, C> sweeper(cut, p, Z, Z_old, WZ_old, step, momentum);
#pragma omp parallel num_threads(threads)
        {
            V fixed[C::kFixed > 0 ? 3 * C::kFixed : 1];
            std::vector<V> room(C::kFixed > 0 ? 0 : 3 * cut.size());
            V* wz = C::kFixed > 0 ? fixed : room.data();
#pragma omp for schedule(dynamic, 4)
            for (std::int64_t block = 0; block < blocks; ++block) {
                double sums[kStatistics * C::W] = {};
                const std::int64_t stop = p.n < (block + 1) * kBlockRows ? p.n : (block + 1) * kBlockRows;
                for (std::int64_t n = block * kBlockRows; n < stop; ++n) {
                    call_for(p.W, n, edges, Z, p.k);
                    sweeper.row(n, wz, wz + cut.size(), wz + 2 * cut.size(), sums);
                }
                for (int i = 0; i < kStatistics; ++i) {
                    double total = 0;
                    for (int l = 0; l < C::W; ++l) total += sums[i * C::W + l];
                    stats[block * kStatistics + i] = total;
                }
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
