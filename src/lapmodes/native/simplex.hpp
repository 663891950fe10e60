// Euclidean projection onto the probability simplex (Duchi et al. 2008; Wang & Carreira-Perpinan 2013).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "isa.hpp"
#include "row_layout.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// A row that sums to 1 up to this is on the simplex.
template <class T>
inline constexpr T kRounding = 2 * std::numeric_limits<T>::epsilon();

// v IN/OUT: the largest entry of a row is subtracted, which makes the projection safe for any finite row.
template <class T, class Layout>
inline void subtract_largest(const Layout& layout, typename Layout::V* v) {
    typename Layout::V top = v[0];
    for (std::int64_t r = 1; r < layout.size(); ++r) top = larger<T, Layout::W>(top, v[r]);
    top = splat<T, Layout::W>(largest_of<T, Layout::W>(top));
    for (std::int64_t r = 0; r < layout.size(); ++r) v[r] = v[r] - top;
}

// Newton's method from the left on sum_k max(v_k - theta, 0) = 1, for rows with largest entry 0. The function is
// convex and piecewise linear, so theta rises to the exact root in at most K steps. For any set S of entries
// (sum_S v - 1) / |S| lies left of the root: with the right support as S, the first step only confirms it.
template <class T, class Layout>
inline T threshold(const Layout& layout, const typename Layout::V* v, T theta) {
    using V = typename Layout::V;
    const V one = splat<T, Layout::W>(T(1));
    for (std::int64_t round = 0; round < layout.k + 2; ++round) {
        V sum{}, count{};
        for (std::int64_t r = 0; r < layout.size(); ++r) {
            const V above = layout.without_repeats(r, v[r] - theta);
            sum += where_positive<T, Layout::W>(above, above);
            count += where_positive<T, Layout::W>(above, one);
        }
        const T excess = sum_of<T, Layout::W>(sum) - 1;
        if (!(excess > kRounding<T>)) break;
        theta += excess / sum_of<T, Layout::W>(count);
    }
    return theta;
}

// Batcher's odd-even merge sort of K numbers, as pairs of places whose entries are put in order.
template <int K>
struct SortingNetwork {
    int first[K * K / 2 + 1] = {}, second[K * K / 2 + 1] = {}, size = 0;
    constexpr SortingNetwork() {
        for (int p = 1; p < K; p *= 2)
            for (int q = p; q > 0; q /= 2)
                for (int j = q % p; j + q < K; j += 2 * q)
                    for (int i = j; i < j + q && i + q < K; ++i)
                        if (i / (2 * p) == (i + q) / (2 * p)) {
                            first[size] = i;
                            second[size++] = i + q;
                        }
    }
};

// column (K) IN/OUT: each lane is sorted on its own, largest first.
template <class T, int W, int K, int... I>
LAPMODES_INLINE void sort_lanes([[maybe_unused]] Vec<T, W>* column, std::integer_sequence<int, I...>) {
    static constexpr SortingNetwork<K> network;
    [[maybe_unused]] const auto order = [](Vec<T, W>& a, Vec<T, W>& b) {
        const Vec<T, W> top = larger<T, W>(a, b);
        b = smaller<T, W>(a, b);
        a = top;
    };
    (order(column[network.first[I]], column[network.second[I]]), ...);
}

// v (W) IN: rows of K entries each. Returns their thresholds, relative to the rows' largest entries, which `top`
// receives, by sorting: theta is the largest (sum_S v - 1) / |S| over all sets S, and the largest entries attain it.
template <class T, int W, int K>
LAPMODES_INLINE Vec<T, W> sorted_thresholds(const Vec<T, W>* v, Vec<T, W>& top) {
    Vec<T, W> column[W];
    for (int i = 0; i < W; ++i) column[i] = v[i];
    transpose<T, W>(column);
    sort_lanes<T, W, K>(column, std::make_integer_sequence<int, SortingNetwork<K>().size>{});
    top = column[0];
    Vec<T, W> sum = splat<T, W>(T(-1)), theta = sum;
    for (int j = 1; j < K; ++j) {
        sum += column[j] - top;
        theta = larger<T, W>(theta, T(1) / T(j + 1) * sum);
    }
    return theta;
}

// v IN/OUT: max(v - theta, 0).
template <class T, class Layout>
inline void subtract_threshold(const Layout& layout, T theta, typename Layout::V* v) {
    for (std::int64_t r = 0; r < layout.size(); ++r) {
        const typename Layout::V above = v[r] - theta;
        v[r] = where_positive<T, Layout::W>(above, above);
    }
}

// v IN/OUT: the vectors of one row, replaced by its projection.
template <class T, class Layout>
inline void project(const Layout& layout, typename Layout::V* v) {
    const T lowest = -std::numeric_limits<T>::infinity();
    for (std::int64_t r = 0; r < layout.size(); ++r) v[r] = layout.with_padding(v[r], lowest);
    subtract_largest<T>(layout, v);
    subtract_threshold<T>(layout, threshold<T>(layout, v, T(-1)), v);
}

// V (n, k) IN/OUT: each row is replaced by its projection.
template <class T>
void project_rows(T* V, std::int64_t n, std::int64_t k, int threads) {
    with_row_layout<T>(k, [&](const auto& layout) {
        using Layout = std::decay_t<decltype(layout)>;
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename Layout::V> v(layout.size());
#pragma omp for schedule(static)
            for (std::int64_t row = 0; row < n; ++row) {
                for (std::int64_t r = 0; r < layout.size(); ++r) v[r] = layout.load_row(V + row * k, r);
                project<T>(layout, v.data());
                for (std::int64_t r = 0; r < layout.size(); ++r) layout.store_row(V + row * k, r, v[r]);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
