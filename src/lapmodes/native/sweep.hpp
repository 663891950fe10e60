// The Z-step's inner loop: one pass over the graph that gathers neighbours, takes the gradient at
// the extrapolated point, projects, and sums the energy and the certificate of the current iterate.
#pragma once

#include <limits>

#include "arrays.hpp"
#include "awake.hpp"
#include "cuts.hpp"
#include "simplex.hpp"

namespace lapmodes::LAPMODES_ISA {

// Edges between the one being summed and the one whose row of Z is called for.
inline constexpr std::int64_t kAhead = 64;
inline constexpr std::int64_t kCacheLine = 64;
inline constexpr std::int64_t kRowsAhead = 3;

// Calls for the row of Z that is gathered kAhead edges later.
template <class T, class C>
LAPMODES_INLINE void call_for(const C& cut, const Csr<T>& W, std::int64_t edges, std::int64_t e, const T* Z) {
    const std::int64_t later = e + kAhead < edges ? e + kAhead : e;
    const char* row = reinterpret_cast<const char*>(Z + static_cast<std::int64_t>(W.indices[later]) * cut.k);
    const std::int64_t bytes = cut.k * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t at = 0; at < bytes - 1; at += kCacheLine) prefetch(row + at);
    prefetch(row + bytes - 1);
}

// wz[r] for r in [first, first + Count) = sum_m w_nm Z_m, kept in registers.
template <class T, int Count, bool Calls, class C>
inline void gather_some(const C& cut, const Csr<T>& W, std::int64_t edges, std::int64_t n, const T* Z,
                        std::int64_t first, typename C::V* wz) {
    typename C::V acc[Count] = {};
    const std::int64_t end = W.indptr[n + 1];
    for (std::int64_t e = W.indptr[n]; e < end; ++e) {
        if constexpr (Calls) call_for(cut, W, edges, e, Z);
        const T w = W.values[e];
        const T* z = Z + static_cast<std::int64_t>(W.indices[e]) * cut.k;
        for (int r = 0; r < Count; ++r) acc[r] += w * cut.load_row(z, first + r);
    }
    for (int r = 0; r < Count; ++r) wz[first + r] = acc[r];
}

template <class T, class C>
inline void gather(const C& cut, const Csr<T>& W, std::int64_t edges, std::int64_t n, const T* Z,
                   typename C::V* wz) {
    if constexpr (C::kFixed > 0) {
        gather_some<T, C::kFixed, true>(cut, W, edges, n, Z, 0, wz);
    } else {
        gather_some<T, 5, true>(cut, W, edges, n, Z, 0, wz);
        std::int64_t r = 5;
        for (; r + 8 <= cut.size(); r += 8) gather_some<T, 8, false>(cut, W, edges, n, Z, r, wz);
        for (; r + 3 <= cut.size(); r += 3) gather_some<T, 3, false>(cut, W, edges, n, Z, r, wz);
        for (; r < cut.size(); ++r) gather_some<T, 1, false>(cut, W, edges, n, Z, r, wz);
    }
}

// Takes W rows at a time, where W is the number of lanes, so that what is one number a row (a minimum, a threshold)
// is one vector for all of them. A row's numbers do not depend on the rows beside it.
template <class T, class C>
class Sweeper {
    using V = typename C::V;
    static constexpr int W = C::W;

   public:
    Sweeper(const C& cut, const Problem<T>& p, const Sweep<T>& s)
        : cut_(cut), p_(p), s_(s), awake_(s), edges_(p.W.indptr[p.n]) {}

    // Vectors that `block` needs as scratch.
    static std::int64_t room(const C& cut) { return 3 * W * cut.size(); }

    // One step for the rows [first, stop) of a block; writes its statistics.
    void block(std::int64_t first, std::int64_t stop, V* scratch, double* sums) const {
        std::int32_t list[kBlockRows + 1];
        const int count = awake_.choose(first, stop, p_.masses, list);
        V uphill{};
        for (int i = 0; i < count; i += W) rows(list + i, count - i < W ? count - i : W, scratch, uphill);
        const T* shares = s_.shares + first * kShares;
        for (int j = 0; j < kShares; ++j) sums[j] = s_.since ? sum_in_double(shares + j * kBlockRows) : 0;
        sums[kRestart] = static_cast<double>(sum_of<T, W>(uphill));
    }

   private:
    // One step for `count` <= W rows.
    void rows(const std::int32_t* rows, int count, V* scratch, V& uphill) const {
        V *wz = scratch, *y = wz + W * cut_.size(), *v = y + W * cut_.size();
        if constexpr (C::kFixed > 0) call_for_rows(rows[0] + kRowsAhead * W);
        for (int i = 0; i < count; ++i) gather<T>(cut_, p_.W, edges_, rows[i], s_.Z, wz + i * cut_.size());
        if (p_.masses)
            for (int i = 0; i < count; ++i)
                for (std::int64_t r = 0; r < cut_.size(); ++r)
                    wz[i * cut_.size() + r] -= p_.diagonal[rows[i]] * cut_.load_row(p_.masses, r);
        if (s_.since) certify(rows, count, wz);
        V top[W], theta;
        for (int i = count; i < W; ++i) top[i] = V{};
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = i * cut_.size();
            top[i] = extrapolate(rows[i], wz + at, y + at, v + at);
            if (C::kEntries > 0) hand_on(rows[i], 0, wz[at]);
        }
        if constexpr (C::kEntries > 0)
            theta = sorted_thresholds<T, W, C::kEntries>(v, top[0]);
        else
            theta = thresholds(rows, count, top, wz, v);
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = i * cut_.size();
            if (finish(rows[i], C::kEntries > 0 ? top[0][i] : T(0), theta[i], y + at, v + at, uphill))
                awake_.note(p_.W, rows[i]);
        }
    }

    // Calls for what W rows from n on will read in order.
    LAPMODES_INLINE void call_for_rows(std::int64_t n) const {
        if (n + W > p_.n) return;
        for (std::int64_t at = n * cut_.k; at < (n + W) * cut_.k; at += kCacheLine / sizeof(T)) {
            prefetch(p_.B + at);
            prefetch(s_.Z_old + at);
            prefetch(s_.WZ_old + at);
        }
    }

    V gradient(T d, V z, V wz, V b) const { return 2 * p_.lam * (d * z - wz) - b; }

    // Notes the rows' shares of the energy and of the certificate at Z: gap_n = sum_k z_k (g_k - min g), whose sum over
    // n bounds E(Z) - min E.
    void certify(const std::int32_t* rows, int count, const V* wz) const {
        V smooth[W], linear[W], low[W];
        for (int i = 0; i < W; ++i) smooth[i] = linear[i] = low[i] = V{};
        for (int i = 0; i < count; ++i) low[i] = tally(rows[i], wz + i * cut_.size(), smooth[i], linear[i]);
        const V smoothness = sums_of<T, W>(smooth), fidelity = sums_of<T, W>(linear);
        const V lowest = smallest_of_rows<T, W>(low);
        for (int i = 0; i < count; ++i) low[i] = gap(rows[i], wz + i * cut_.size(), lowest[i]);
        const V gaps = sums_of<T, W>(low);
        const std::int64_t first = rows[0] - rows[0] % kBlockRows;
        for (int i = 0; i < count; ++i) {
            T* share = s_.shares + first * kShares + (rows[i] - first);
            share[kSmoothness * kBlockRows] = smoothness[i];
            share[kFidelity * kBlockRows] = fidelity[i];
            share[kGap * kBlockRows] = gaps[i];
        }
    }

    static double sum_in_double(const T* shares) {
        double sums[8] = {};
        for (std::int64_t n = 0; n < kBlockRows; n += 8)
            for (int l = 0; l < 8; ++l) sums[l] += static_cast<double>(shares[n + l]);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    // Row n's share of the energy; returns the least entries of the gradient at z.
    V tally(std::int64_t n, const V* wz, V& smoothness, V& fidelity) const {
        const T *z = s_.Z + n * cut_.k, *b = p_.B + n * cut_.k, d = p_.diagonal[n], most = std::numeric_limits<T>::infinity();
        V smooth{}, linear{}, low = splat<T, W>(most);
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V zr = cut_.load_row(z, r), br = cut_.load_row(b, r);
            smooth += cut_.counted(r, zr * (d * zr - wz[r]));
            linear += cut_.counted(r, zr * br);
            low = smaller<T, W>(low, cut_.filled(gradient(d, zr, wz[r], br), most));
        }
        smoothness = smooth;
        fidelity = linear;
        return low;
    }

    V gap(std::int64_t n, const V* wz, T lowest) const {
        const T *z = s_.Z + n * cut_.k, *b = p_.B + n * cut_.k, d = p_.diagonal[n];
        V sum{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V zr = cut_.load_row(z, r);
            sum += cut_.counted(r, zr * (gradient(d, zr, wz[r], cut_.load_row(b, r)) - lowest));
        }
        return sum;
    }

    // y = z + momentum (z - z_old) and v, the gradient step from y; returns v's largest entries.
    V extrapolate(std::int64_t n, const V* wz, V* y, V* v) const {
        const T *z = s_.Z + n * cut_.k, *b = p_.B + n * cut_.k;
        const T *z_old = s_.Z_old + n * cut_.k, *wz_old = s_.WZ_old + n * cut_.k;
        const T d = p_.diagonal[n], s = s_.step[n], keep = 1 - 2 * p_.lam * d * s, pull = 2 * p_.lam * s;
        V top{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V zr = cut_.load_row(z, r);
            y[r] = zr + s_.momentum * (zr - cut_.load_row(z_old, r));
            const V wy = wz[r] + s_.momentum * (wz[r] - cut_.load_row(wz_old, r));
            v[r] = cut_.filled(keep * y[r] + pull * wy + s * cut_.load_row(b, r), -std::numeric_limits<T>::infinity());
            top = r == 0 ? v[0] : larger<T, W>(top, v[r]);
        }
        return top;
    }

    void hand_on(std::int64_t n, std::int64_t r, V wz) const { cut_.store_row(s_.WZ_old + n * cut_.k, r, wz); }

    // `threshold` for several rows at once, from the support of z; subtracts the largest entry from each v, hands wz on.
    V thresholds(const std::int32_t* rows, int count, const V* extreme, const V* wz, V* v) const {
        V sum[W], many[W];
        for (int i = count; i < W; ++i) sum[i] = many[i] = V{};
        const V top = largest_of_rows<T, W>(extreme), one = splat<T, W>(T(1)), rounding = splat<T, W>(kRounding<T>);
        for (int i = 0; i < count; ++i)
            lower_and_guess(rows[i], top[i], wz + i * cut_.size(), v + i * cut_.size(), sum[i], many[i]);
        V theta = larger<T, W>((sums_of<T, W>(sum) - one) / sums_of<T, W>(many), V{} - one);
        for (std::int64_t round = 0; round < cut_.k + 2; ++round) {
            for (int i = 0; i < count; ++i) {
                V total{}, size{};
                for (std::int64_t r = 0; r < cut_.size(); ++r) {
                    const V above = cut_.counted(r, v[i * cut_.size() + r] - theta[i]);
                    total += where_positive<T, W>(above, above);
                    size += where_positive<T, W>(above, one);
                }
                sum[i] = total;
                many[i] = size;
            }
            const V excess = sums_of<T, W>(sum) - one, wrong = where_positive<T, W>(excess - rounding, one);
            if (!(largest_of<T, W>(wrong) > 0)) break;
            theta += where_positive<T, W>(wrong, excess / sums_of<T, W>(many));
        }
        return theta;
    }

    // Subtracts the largest entry from v. (sum - 1) / many, over the support of z, is where the search for the
    // threshold may begin, and the threshold itself if z has the support of the next iterate.
    void lower_and_guess(std::int64_t n, T top, const V* wz, V* v, V& sum, V& many) const {
        const T* z = s_.Z + n * cut_.k;
        V total{}, size{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            hand_on(n, r, wz[r]);
            v[r] = v[r] - top;
            const V zr = cut_.counted(r, cut_.load_row(z, r));
            total += where_positive<T, W>(zr, v[r]);
            size += where_positive<T, W>(zr, splat<T, W>(T(1)));
        }
        sum = total;
        many = size;
    }

    // The next iterate and its share of the restart test; returns whether it is another than z.
    bool finish(std::int64_t n, T top, T theta, const V* y, const V* v, V& uphill) const {
        const T *z = s_.Z + n * cut_.k, scale = 1 / s_.step[n];
        T* z_old = s_.Z_old + n * cut_.k;
        V moved{}, turn{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V above = (C::kEntries > 0 ? v[r] - top : v[r]) - theta, next = where_positive<T, W>(above, above);
            const V change = next - cut_.load_row(z, r);
            turn += cut_.counted(r, (y[r] - next) * change);
            moved = larger<T, W>(moved, larger<T, W>(change, V{} - change));
            cut_.store_row(z_old, r, next);
        }
        uphill += scale * turn;
        return any_above_zero<T, W>(moved);
    }

    C cut_;
    Problem<T> p_;
    Sweep<T> s_;
    Awake awake_;
    std::int64_t edges_;
};

template <class T>
void sweep(const Problem<T>& p, const Sweep<T>& s, double* stats, int threads) {
    const std::int64_t blocks = (p.n + kBlockRows - 1) / kBlockRows;
    with_cut<T>(p.k, [&](const auto& cut) {
        using C = std::decay_t<decltype(cut)>;
        const Sweeper<T, C> sweeper(cut, p, s);
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename C::V> scratch(sweeper.room(cut));
#pragma omp for schedule(dynamic, 4)
            for (std::int64_t block = 0; block < blocks; ++block) {
                const std::int64_t first = block * kBlockRows, end = first + kBlockRows;
                sweeper.block(first, p.n < end ? p.n : end, scratch.data(), stats + block * kStatistics);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
