// The out-of-sample mapping, eq. (6) of the paper: for each new point the mean assignment of its neighbours plus the
// kernel at the modes, projected onto the simplex, while all of it is in the cache.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "modes.hpp"
#include "simplex.hpp"
#include "sweep.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T, class C>
class Mapper {
    using V = typename C::V;

   public:
    Mapper(const C& cut, const Mapping<T>& m, const Modes<T>& modes)
        : cut_(cut), m_(m), modes_(modes), fill_(kernel_block_for(m.X)), edges_(m.cross.indptr[m.X.n]) {}

    // Rows [first, stop) of Z. v has room for a row in vectors, mean for a row where assignments are sparse.
    void block(std::int64_t first, std::int64_t stop, V* v, T* mean, T* Z) const {
        fill_(m_.X, modes_, first, stop, Z);
        for (std::int64_t n = first; n < stop; ++n)
            if (!map(n, v, mean, Z + n * cut_.k)) to_nearest(n, Z);
    }

   private:
    // z IN: the kernel at the modes, OUT: the assignment. False where no finite pull against the neighbours exists.
    bool map(std::int64_t n, V* v, T* mean, T* z) const {
        const double total = weigh(n), pull = 0.5 / (m_.lam * (m_.degrees ? 1 : total));
        if (!(total > 0 && pull <= static_cast<double>(std::numeric_limits<T>::max()))) return false;
        average(n, v, mean);
        const T gamma = static_cast<T>(pull);
        V odd{};
        for (std::int64_t r = 0; r < cut_.size(); ++r) {
            const V b = gamma * cut_.load_row(z, r);
            odd += b - b;  // zero unless infinite
            v[r] += b;
            if (m_.masses) v[r] -= cut_.load_row(m_.masses, r);
        }
        if (!(sum_of<T, C::W>(odd) == 0)) return false;
        project<T>(cut_, v);
        for (std::int64_t r = 0; r < cut_.size(); ++r) cut_.store_row(z, r, v[r]);
        return true;
    }

    double weight(std::int64_t e) const {
        const double w = static_cast<double>(m_.cross.values[e]);
        return m_.sample_weight ? w * std::sqrt(static_cast<double>(m_.sample_weight[m_.cross.indices[e]])) : w;
    }

    // Writes what each neighbour counts in the mean; returns the sum of the weights. Shares are formed before anything
    // is summed in T, where faint weights would be lost.
    double weigh(std::int64_t n) const {
        const std::int64_t begin = m_.cross.indptr[n], end = m_.cross.indptr[n + 1];
        double total = 0;
        for (std::int64_t e = begin; e < end; ++e) total += weight(e);
        if (m_.degrees) {
            for (std::int64_t e = begin; e < end; ++e) {
                const double d = static_cast<double>(m_.degrees[m_.cross.indices[e]]);
                m_.share[e] = static_cast<T>(weight(e) / std::sqrt(total * (d > 0 ? d : 1)));
            }
        } else {
            for (std::int64_t e = begin; e < end; ++e) m_.share[e] = static_cast<T>(weight(e) / total);
        }
        return total;
    }

    void average(std::int64_t n, V* v, T* mean) const {
        const Csr<T> shares{m_.cross.indptr, m_.cross.indices, m_.share};
        if (m_.Z) return gather<T>(cut_, shares, edges_, n, m_.Z, v);
        for (std::int64_t j = 0; j < cut_.k; ++j) mean[j] = 0;
        for (std::int64_t e = shares.indptr[n]; e < shares.indptr[n + 1]; ++e) {
            const std::int64_t row = shares.indices[e];
            for (std::int64_t f = m_.sparse_Z.indptr[row]; f < m_.sparse_Z.indptr[row + 1]; ++f)
                mean[m_.sparse_Z.indices[f]] += shares.values[e] * m_.sparse_Z.values[f];
        }
        for (std::int64_t r = 0; r < cut_.size(); ++r) v[r] = cut_.load_row(mean, r);
    }

    // All of the point to the nearest mode, the first one among equals.
    void to_nearest(std::int64_t n, T* Z) const {
        Modes<T> distances = modes_;
        distances.squared = true;
        fill_(m_.X, distances, n, n + 1, Z);
        T* z = Z + n * cut_.k;
        std::int64_t best = 0;
        for (std::int64_t j = 1; j < cut_.k; ++j) best = z[j] > z[best] ? j : best;
        for (std::int64_t j = 0; j < cut_.k; ++j) z[j] = j == best ? T(1) : T(0);
    }

    C cut_;
    Mapping<T> m_;
    Modes<T> modes_;
    void (*fill_)(const Points<T>&, const Modes<T>&, std::int64_t, std::int64_t, T*);
    std::int64_t edges_;
};

template <class T>
void map_points(const Mapping<T>& m, const Modes<T>& modes, T* Z, int threads) {
    const std::int64_t blocks = (m.X.n + kBlockRows - 1) / kBlockRows;
    with_cut<T>(modes.k, [&](const auto& cut) {
        using C = std::decay_t<decltype(cut)>;
        const Mapper<T, C> mapper(cut, m, modes);
#pragma omp parallel num_threads(threads)
        {
            std::vector<typename C::V> v(cut.size());
            std::vector<T> mean(m.Z ? 0 : cut.k);
#pragma omp for schedule(dynamic)
            for (std::int64_t block = 0; block < blocks; ++block) {
                const std::int64_t first = block * kBlockRows, end = first + kBlockRows;
                mapper.block(first, m.X.n < end ? m.X.n : end, v.data(), mean.data(), Z);
            }
        }
    });
}

}  // namespace lapmodes::LAPMODES_ISA
