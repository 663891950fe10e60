// The out-of-sample mapping, eq. (6) of the paper: for each new point the mean assignment of its neighbours plus the
// kernel at the modes, projected onto the simplex, while all of it is in the cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "gather.hpp"
#include "isa.hpp"
#include "kernel_values.hpp"
#include "row_layout.hpp"
#include "simplex.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T, class Layout>
class Mapper {
    using V = typename Layout::V;

   public:
    Mapper(const Layout& layout, const Mapping<T>& m, const Modes<T>& modes)
        : layout_(layout), m_(m), modes_(modes), kernel_block_(kernel_block_for(m.X)), edges_(m.cross.indptr[m.X.n]) {}

    // Z OUT: the rows [first, stop). v, mean OUT: scratch for one row in vectors, and for one row of numbers where the
    // assignments of the training points are sparse.
    void block(std::int64_t first, std::int64_t stop, V* v, T* mean, T* Z) const {
        kernel_block_(m_.X, modes_, first, stop, Z);
        for (std::int64_t n = first; n < stop; ++n)
            if (!map(n, v, mean, Z + n * layout_.k)) assign_to_nearest(n, Z);
    }

   private:
    // z IN: the kernel at the modes, OUT: the assignment. False where the factor of the kernel, gamma = 1 / (2 lam
    // sum_n w_n), is not finite.
    bool map(std::int64_t n, V* v, T* mean, T* z) const {
        const double total = scale_weights(n), factor = 0.5 / (m_.lam * (m_.degrees ? 1 : total));
        if (!(total > 0 && factor <= static_cast<double>(std::numeric_limits<T>::max()))) return false;
        average_neighbors(n, v, mean);
        const T gamma = static_cast<T>(factor);
        V overflow{};
        for (std::int64_t r = 0; r < layout_.size(); ++r) {
            const V b = gamma * layout_.load_row(z, r);
            overflow += b - b;  // zero unless infinite
            v[r] += b;
        }
        if (!(sum_of<T, Layout::W>(overflow) == 0)) return false;
        project<T>(layout_, v);
        for (std::int64_t r = 0; r < layout_.size(); ++r) layout_.store_row(z, r, v[r]);
        return true;
    }

    double weight(std::int64_t e) const {
        const double w = static_cast<double>(m_.cross.values[e]);
        return m_.sample_weight ? w * std::sqrt(static_cast<double>(m_.sample_weight[m_.cross.indices[e]])) : w;
    }

    // Writes the weight of each neighbour in the mean; returns the sum of the weights. They are divided by it before
    // anything is summed in T, where tiny weights would be lost.
    double scale_weights(std::int64_t n) const {
        const std::int64_t begin = m_.cross.indptr[n], end = m_.cross.indptr[n + 1];
        double total = 0;
        for (std::int64_t e = begin; e < end; ++e) total += weight(e);
        if (m_.degrees) {
            for (std::int64_t e = begin; e < end; ++e) {
                const double d = static_cast<double>(m_.degrees[m_.cross.indices[e]]);
                // The product of both under one root would vanish where weights are tiny.
                m_.scaled_weights[e] = static_cast<T>(weight(e) / (std::sqrt(total) * std::sqrt(d > 0 ? d : 1)));
            }
        } else {
            for (std::int64_t e = begin; e < end; ++e) m_.scaled_weights[e] = static_cast<T>(weight(e) / total);
        }
        return total;
    }

    // v OUT: the weighted mean of the neighbours' assignments.
    void average_neighbors(std::int64_t n, V* v, T* mean) const {
        const Csr<T> weights{m_.cross.indptr, m_.cross.indices, m_.scaled_weights};
        if (m_.Z) return gather<T>(layout_, weights, edges_, n, m_.Z, v);
        for (std::int64_t j = 0; j < layout_.k; ++j) mean[j] = 0;
        for (std::int64_t e = weights.indptr[n]; e < weights.indptr[n + 1]; ++e) {
            const std::int64_t row = weights.indices[e];
            for (std::int64_t f = m_.sparse_Z.indptr[row]; f < m_.sparse_Z.indptr[row + 1]; ++f)
                mean[m_.sparse_Z.indices[f]] += weights.values[e] * m_.sparse_Z.values[f];
        }
        for (std::int64_t r = 0; r < layout_.size(); ++r) v[r] = layout_.load_row(mean, r);
    }

    // Z OUT: row n gives all of the point to the nearest mode, the first one among equals.
    void assign_to_nearest(std::int64_t n, T* Z) const {
        Modes<T> distances = modes_;
        distances.squared = true;
        kernel_block_(m_.X, distances, n, n + 1, Z);
        T* z = Z + n * layout_.k;
        std::int64_t best = 0;
        for (std::int64_t j = 1; j < layout_.k; ++j) best = z[j] > z[best] ? j : best;
        for (std::int64_t j = 0; j < layout_.k; ++j) z[j] = j == best ? T(1) : T(0);
    }

    Layout layout_;
    Mapping<T> m_;
    Modes<T> modes_;
    void (*kernel_block_)(const Points<T>&, const Modes<T>&, std::int64_t, std::int64_t, T*);
    std::int64_t edges_;
};

// Z (n, k) OUT: the assignments of new points.
template <class T>
void map_points(const Mapping<T>& m, const Modes<T>& modes, T* Z, int threads) {
    with_row_layout<T>(modes.k, [&](const auto& layout) {
        using Layout = std::decay_t<decltype(layout)>;
        const Mapper<T, Layout> mapper(layout, m, modes);
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename Layout::V> v(layout.size());
            std::vector<T> mean(m.Z ? 0 : layout.k);
#pragma omp for schedule(dynamic)
            for (std::int64_t block = 0; block < block_count(m.X.n); ++block)
                mapper.block(block_begin(block), block_end(block, m.X.n), v.data(), mean.data(), Z);
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
