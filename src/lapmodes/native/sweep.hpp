// The Z-step's inner loop: one pass over the graph that gathers neighbours, takes the gradient at the extrapolated
// point, projects, and sums the energy and the certificate of the current iterate.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "active_rows.hpp"
#include "arrays.hpp"
#include "gather.hpp"
#include "isa.hpp"
#include "row_layout.hpp"
#include "simplex.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// Groups of rows between the one being computed and the one whose entries are prefetched.
inline constexpr std::int64_t kGroupsAhead = 3;

// Takes W rows at a time, where W is the number of lanes, so that what is one number for each row (a minimum, a
// threshold) is one vector for all of them. A row's numbers do not depend on the rows beside it.
template <class T, class Layout>
class Sweeper {
    using V = typename Layout::V;
    static constexpr int W = Layout::W;

   public:
    Sweeper(const Layout& layout, const Problem<T>& p, const Sweep<T>& s)
        : layout_(layout), p_(p), s_(s), active_(s), edges_(p.W.indptr[p.n]) {}

    // The number of vectors that `block` needs as scratch.
    static std::int64_t scratch_size(const Layout& layout) { return 3 * W * layout.size(); }

    // One step for the active rows of [first, stop), a block. scratch (scratch_size) OUT, sums (kStatistics) OUT.
    void block(std::int64_t first, std::int64_t stop, V* scratch, double* sums) const {
        std::int32_t list[kBlockRows + 1];
        const int count = active_.choose(first, stop, list);
        V uphill{};
        for (int i = 0; i < count; i += W) step_rows(list + i, count - i < W ? count - i : W, scratch, uphill);
        const T* stats = s_.row_stats + first * kRowStatistics;
        for (int j = 0; j < kRowStatistics; ++j)
            sums[j] = s_.sweeps_since_stats ? sum_in_double(stats + j * kBlockRows) : 0;
        sums[kRestart] = static_cast<double>(sum_of<T, W>(uphill));
    }

   private:
    // One step for `count` <= W rows. uphill IN/OUT: what they add to the restart test. Inlined into `block`, it took a
    // tenth longer with AVX2 for doubles in rows of many vectors.
    LAPMODES_NOINLINE void step_rows(const std::int32_t* rows, int count, V* scratch, V& uphill) const {
        V *wz = scratch, *y = wz + W * layout_.size(), *v = y + W * layout_.size();
        if constexpr (Layout::kVectors > 0) prefetch_rows(rows[0] + kGroupsAhead * W);
        for (int i = 0; i < count; ++i) gather<T>(layout_, p_.W, edges_, rows[i], s_.Z, wz + i * layout_.size());
        if (s_.sweeps_since_stats) write_row_stats(rows, count, wz);
        V top[W], theta;
        for (int i = count; i < W; ++i) top[i] = V{};
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = i * layout_.size();
            top[i] = extrapolate(rows[i], wz + at, y + at, v + at);
            if (Layout::kEntries > 0) store_wz(rows[i], 0, wz[at]);
        }
        if constexpr (Layout::kEntries > 0)
            theta = sorted_thresholds<T, W, Layout::kEntries>(v, top[0]);
        else
            theta = thresholds(rows, count, top, wz, v);
        for (int i = 0; i < count; ++i) {
            const std::int64_t at = i * layout_.size();
            if (write_next(rows[i], Layout::kEntries > 0 ? top[0][i] : T(0), theta[i], y + at, v + at, uphill))
                active_.announce(p_.W, rows[i]);
        }
    }

    // Prefetches what the W rows from n on read in order.
    LAPMODES_INLINE void prefetch_rows(std::int64_t n) const {
        if (n + W > p_.n) return;
        for (std::int64_t at = n * layout_.k; at < (n + W) * layout_.k; at += kCacheLine / sizeof(T)) {
            prefetch(p_.B + at);
            prefetch(s_.Z_old + at);
            prefetch(s_.WZ_old + at);
        }
    }

    V gradient(T d, V z, V wz, V b) const { return 2 * p_.lam * (d * z - wz) - b; }

    // Writes the rows' parts of the energy and of the certificate at Z: gap_n = sum_k z_k (g_k - min g), whose sum over
    // n bounds E(Z) - min E.
    void write_row_stats(const std::int32_t* rows, int count, const V* wz) const {
        V smooth[W], linear[W], low[W];
        for (int i = 0; i < W; ++i) smooth[i] = linear[i] = low[i] = V{};
        for (int i = 0; i < count; ++i) low[i] = energy(rows[i], wz + i * layout_.size(), smooth[i], linear[i]);
        const V smoothness = sums_of<T, W>(smooth), fidelity = sums_of<T, W>(linear);
        const V lowest = smallest_of_rows<T, W>(low);
        for (int i = 0; i < count; ++i) low[i] = gap(rows[i], wz + i * layout_.size(), lowest[i]);
        const V gaps = sums_of<T, W>(low);
        const std::int64_t first = rows[0] - rows[0] % kBlockRows;
        for (int i = 0; i < count; ++i) {
            T* stats = s_.row_stats + first * kRowStatistics + (rows[i] - first);
            stats[kSmoothness * kBlockRows] = smoothness[i];
            stats[kFidelity * kBlockRows] = fidelity[i];
            stats[kGap * kBlockRows] = gaps[i];
        }
    }

    // The sum over a block, in an order that the compiler can do with vectors.
    static double sum_in_double(const T* stats) {
        double sums[8] = {};
        for (std::int64_t n = 0; n < kBlockRows; n += 8)
            for (int l = 0; l < 8; ++l) sums[l] += static_cast<double>(stats[n + l]);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    // smoothness, fidelity OUT: row n's part of the energy, lane by lane. Returns the least entries of its gradient.
    V energy(std::int64_t n, const V* wz, V& smoothness, V& fidelity) const {
        const T *z = s_.Z + n * layout_.k, *b = p_.B + n * layout_.k, d = p_.diagonal[n];
        const T infinity = std::numeric_limits<T>::infinity();
        V smooth{}, linear{}, low = splat<T, W>(infinity);
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            const V zr = layout_.load_row(z, r), br = layout_.load_row(b, r);
            smooth += layout_.without_repeats(r, zr * (d * zr - wz[r]));
            linear += layout_.without_repeats(r, zr * br);
            low = smaller<T, W>(low, layout_.with_padding(gradient(d, zr, wz[r], br), infinity));
        }
        smoothness = smooth;
        fidelity = linear;
        return low;
    }

    // Row n's part of the certificate, lane by lane.
    V gap(std::int64_t n, const V* wz, T lowest) const {
        const T *z = s_.Z + n * layout_.k, *b = p_.B + n * layout_.k, d = p_.diagonal[n];
        V sum{};
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            const V zr = layout_.load_row(z, r);
            sum += layout_.without_repeats(r, zr * (gradient(d, zr, wz[r], layout_.load_row(b, r)) - lowest));
        }
        return sum;
    }

    // y, v OUT: z + momentum (z - z_old), and the gradient step from there. Returns the largest entry of v in each
    // lane.
    V extrapolate(std::int64_t n, const V* wz, V* y, V* v) const {
        const T *z = s_.Z + n * layout_.k, *b = p_.B + n * layout_.k;
        const T *z_old = s_.Z_old + n * layout_.k, *wz_old = s_.WZ_old + n * layout_.k;
        const T d = p_.diagonal[n], s = s_.step[n], own_factor = 1 - 2 * p_.lam * d * s, wy_factor = 2 * p_.lam * s;
        V top{};
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            const V zr = layout_.load_row(z, r);
            y[r] = zr + s_.momentum * (zr - layout_.load_row(z_old, r));
            const V wy = wz[r] + s_.momentum * (wz[r] - layout_.load_row(wz_old, r));
            const V moved = own_factor * y[r] + wy_factor * wy + s * layout_.load_row(b, r);
            v[r] = layout_.with_padding(moved, -std::numeric_limits<T>::infinity());
            top = r == 0 ? v[0] : larger<T, W>(top, v[r]);
        }
        return top;
    }

    // W Z is kept for the next sweep, which extrapolates it. What was there before has been read by then.
    void store_wz(std::int64_t n, std::int64_t r, V wz) const { layout_.store_row(s_.WZ_old + n * layout_.k, r, wz); }

    // `threshold` of simplex.hpp for several rows at once, from the support of z. v IN/OUT: the largest entry of each
    // row is subtracted. Stores wz on the way.
    V thresholds(const std::int32_t* rows, int count, const V* lane_tops, const V* wz, V* v) const {
        V sum[W], size[W];
        for (int i = count; i < W; ++i) sum[i] = size[i] = V{};
        const V top = largest_of_rows<T, W>(lane_tops), one = splat<T, W>(T(1)), rounding = splat<T, W>(kRounding<T>);
        for (int i = 0; i < count; ++i)
            subtract_and_guess(rows[i], top[i], wz + i * layout_.size(), v + i * layout_.size(), sum[i], size[i]);
        V theta = larger<T, W>((sums_of<T, W>(sum) - one) / sums_of<T, W>(size), V{} - one);
        for (std::int64_t round = 0; round < layout_.k + 2; ++round) {
            for (int i = 0; i < count; ++i) {
                V excess_sum{}, support{};
                for (std::int64_t r = 0; r < layout_.size(); ++r) {
                    const V above = layout_.without_repeats(r, v[i * layout_.size() + r] - theta[i]);
                    excess_sum += where_positive<T, W>(above, above);
                    support += where_positive<T, W>(above, one);
                }
                sum[i] = excess_sum;
                size[i] = support;
            }
            const V excess = sums_of<T, W>(sum) - one, wrong = where_positive<T, W>(excess - rounding, one);
            if (!(largest_of<T, W>(wrong) > 0)) break;
            theta += where_positive<T, W>(wrong, excess / sums_of<T, W>(size));
        }
        return theta;
    }

    // v IN/OUT: its largest entry, `top`, is subtracted. sum, size OUT: of the support of z, lane by lane. The search
    // for the threshold may begin at (sum - 1) / size, which is the answer if the next iterate has the support of z.
    void subtract_and_guess(std::int64_t n, T top, const V* wz, V* v, V& sum, V& size) const {
        const T* z = s_.Z + n * layout_.k;
        V total{}, support{};
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            store_wz(n, r, wz[r]);
            v[r] = v[r] - top;
            const V zr = layout_.without_repeats(r, layout_.load_row(z, r));
            total += where_positive<T, W>(zr, v[r]);
            support += where_positive<T, W>(zr, splat<T, W>(T(1)));
        }
        sum = total;
        size = support;
    }

    // Writes the next iterate. uphill IN/OUT: row n's part of the restart test is added. Returns whether z changed.
    bool write_next(std::int64_t n, T top, T theta, const V* y, const V* v, V& uphill) const {
        const T *z = s_.Z + n * layout_.k, scale = 1 / s_.step[n];
        T* z_old = s_.Z_old + n * layout_.k;
        V moved{}, against{};
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            const V above = (Layout::kEntries > 0 ? v[r] - top : v[r]) - theta;
            const V next = where_positive<T, W>(above, above);
            const V change = next - layout_.load_row(z, r);
            against += layout_.without_repeats(r, (y[r] - next) * change);
            moved = larger<T, W>(moved, larger<T, W>(change, V{} - change));
            layout_.store_row(z_old, r, next);
        }
        uphill += scale * against;
        return any_above_zero<T, W>(moved);
    }

    Layout layout_;
    Problem<T> p_;
    Sweep<T> s_;
    ActiveRows active_;
    std::int64_t edges_;
};

// s IN/OUT as arrays.hpp says. stats (blocks, kStatistics) OUT: energy and certificate at Z where they are wanted, else
// 0, and the restart test.
template <class T>
void sweep(const Problem<T>& p, const Sweep<T>& s, double* stats, int threads) {
    with_row_layout<T>(p.k, [&](const auto& layout) {
        using Layout = std::decay_t<decltype(layout)>;
        const Sweeper<T, Layout> sweeper(layout, p, s);
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename Layout::V> scratch(sweeper.scratch_size(layout));
#pragma omp for schedule(dynamic, 4)
            for (std::int64_t block = 0; block < block_count(p.n); ++block)
                sweeper.block(block_begin(block), block_end(block, p.n), scratch.data(), stats + block * kStatistics);
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
