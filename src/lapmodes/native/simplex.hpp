// Euclidean projection onto the probability simplex (Duchi et al. 2008; Wang & Carreira-Perpinan 2013).
#pragma once

#include <limits>
#include <vector>

#include "arrays.hpp"
#include "cuts.hpp"

namespace lapmodes::LAPMODES_ISA {

// A row that sums to 1 up to this is on the simplex.
template <class T>
inline constexpr T kRounding = 2 * std::numeric_limits<T>::epsilon();

// Subtracts the largest entry of a row, which makes the projection safe for any finite row.
template <class T, class C>
inline void lower_to_zero(const C& cut, typename C::V* v) {
    typename C::V top = v[0];
    for (std::int64_t r = 1; r < cut.size(); ++r) top = larger<T, C::W>(top, v[r]);
    top = splat<T, C::W>(largest_of<T, C::W>(top));
    for (std::int64_t r = 0; r < cut.size(); ++r) v[r] = v[r] - top;
}

// Newton's method from the left on sum_k max(v_k - theta, 0) = 1, for rows with largest entry 0. The function is
// convex and piecewise linear, so theta rises to the exact root in at most K steps. For any set S of entries
// (sum_S v - 1) / |S| lies left of the root: with the right support as S, the first step only confirms it.
template <class T, class C>
inline T threshold(const C& cut, const typename C::V* v, T theta) {
    using V = typename C::V;
    const V one = splat<T, C::W>(T(1));
    for (std::int64_t round = 0; round < cut.k + 2; ++round) {
        V sum{}, count{};
        for (std::int64_t r = 0; r < cut.size(); ++r) {
            const V above = cut.counted(r, v[r] - theta);
            sum += where_positive<T, C::W>(above, above);
            count += where_positive<T, C::W>(above, one);
        }
        const T excess = sum_of<T, C::W>(sum) - 1;
        if (!(excess > kRounding<T>)) break;
        theta += excess / sum_of<T, C::W>(count);
    }
    return theta;
}

// Batcher's odd-even merge sort of K numbers, as pairs of places whose entries are put in order.
template <int K>
struct Network {
    int first[K * K / 2 + 1] = {}, second[K * K / 2 + 1] = {}, size = 0;
    constexpr Network() {
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

template <class T, int W, int K, int... I>
LAPMODES_INLINE void sort_lanes(Vec<T, W>* column, std::integer_sequence<int, I...>) {
    static constexpr Network<K> net;
    const auto order = [](Vec<T, W>& a, Vec<T, W>& b) {
        const Vec<T, W> top = larger<T, W>(a, b);
        b = smaller<T, W>(a, b);
        a = top;
    };
    (order(column[net.first[I]], column[net.second[I]]), ...);
}

// The thresholds of W rows of K entries each, by sorting: theta is the largest (sum_S v - 1) / |S| over all sets S, and
// the largest entries attain it. Relative to the rows' largest entries, which `top` receives.
template <class T, int W, int K>
LAPMODES_INLINE Vec<T, W> sorted_thresholds(const Vec<T, W>* v, Vec<T, W>& top) {
    Vec<T, W> column[W];
    for (int i = 0; i < W; ++i) column[i] = v[i];
    transpose<T, W>(column);
    sort_lanes<T, W, K>(column, std::make_integer_sequence<int, Network<K>().size>{});
    top = column[0];
    Vec<T, W> sum = splat<T, W>(T(-1)), theta = sum;
    for (int j = 1; j < K; ++j) {
        sum += column[j] - top;
        theta = larger<T, W>(theta, T(1) / T(j + 1) * sum);
    }
    return theta;
}

template <class T, class C>
inline void cut_below(const C& cut, T theta, typename C::V* v) {
    for (std::int64_t r = 0; r < cut.size(); ++r) {
        const typename C::V above = v[r] - theta;
        v[r] = where_positive<T, C::W>(above, above);
    }
}

// v IN/OUT: the vectors of one row.
template <class T, class C>
inline void project(const C& cut, typename C::V* v) {
    for (std::int64_t r = 0; r < cut.size(); ++r) v[r] = cut.filled(v[r], -std::numeric_limits<T>::infinity());
    lower_to_zero<T>(cut, v);
    cut_below<T>(cut, threshold<T>(cut, v, T(-1)), v);
}

template <class T>
void project_rows(T* V, std::int64_t n, std::int64_t k, int threads) {
    with_cut<T>(k, [&](const auto& cut) {
        using C = std::decay_t<decltype(cut)>;
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename C::V> v(cut.size());
#pragma omp for schedule(static)
            for (std::int64_t row = 0; row < n; ++row) {
                for (std::int64_t r = 0; r < cut.size(); ++r) v[r] = cut.load_row(V + row * k, r);
                project<T>(cut, v.data());
                for (std::int64_t r = 0; r < cut.size(); ++r) cut.store_row(V + row * k, r, v[r]);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
