// Distances of points to modes and weighted sums of points, for dense and sparse rows alike.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "isa.hpp"
#include "vectors.hpp"

namespace lapmodes::LAPMODES_ISA {

// Rows of a dense matrix. Distances are sums of squared differences: no cancellation.
template <class T>
class DenseRows {
   public:
    explicit DenseRows(const Points<T>& X) : x_(X.dense), d_(X.d) {}

    static constexpr std::int64_t kRows = 4;  // rows that sqdist_tile takes at once

    // out (Rows, kLanes) OUT: squared distances of rows n .. n + Rows to modes k0 .. k0 + kLanes
    template <int Rows>
    void sqdist_tile(std::int64_t n, const T* modes_t, std::int64_t padded, std::int64_t k0, const T*,
                     T* out) const {
        T acc[Rows][kLanes<T>] = {};
        const T* x = x_ + n * d_;
        for (std::int64_t i = 0; i < d_; ++i) {
            const T* c = modes_t + i * padded + k0;
            for (int r = 0; r < Rows; ++r) {
                const T xi = x[r * d_ + i];
#pragma omp simd
                for (std::int64_t l = 0; l < kLanes<T>; ++l) {
                    const T diff = xi - c[l];
                    acc[r][l] += diff * diff;
                }
            }
        }
        for (int r = 0; r < Rows; ++r)
            for (std::int64_t l = 0; l < kLanes<T>; ++l) out[r * kLanes<T> + l] = acc[r][l];
    }

    // The squared distance of row n to one mode.
    double sqdist(std::int64_t n, const T* mode, double) const {
        constexpr int W = kVectorBytes / sizeof(T);
        const T* x = x_ + n * d_;
        Vec<T, W> sums[4] = {};  // with a single one, each addition would wait for the one before
        std::int64_t i = 0;
        const auto add = [&](int chain) {
            const Vec<T, W> diff = load<T, W>(x + i) - load<T, W>(mode + i);
            sums[chain] += diff * diff;
            i += W;
        };
        while (i + 4 * W <= d_)
            for (int chain = 0; chain < 4; ++chain) add(chain);
        while (i + W <= d_) add(0);
        T tail = 0;
        for (; i < d_; ++i) tail += (x[i] - mode[i]) * (x[i] - mode[i]);
        return static_cast<double>(sum_of<T, W>((sums[0] + sums[1]) + (sums[2] + sums[3])) + tail);
    }

    // sums (d) IN/OUT: sum_i weight[i] row[who[i]] is added, four rows at a time, so that the sums are read and written
    // a quarter as often.
    void add_weighted_rows(const std::int32_t* who, const double* weight, std::int64_t count, double* sums) const {
        std::int64_t r = 0;
        for (; r + 4 <= count; r += 4) {
            const T *a = row(who[r]), *b = row(who[r + 1]), *c = row(who[r + 2]), *e = row(who[r + 3]);
            const double* w = weight + r;
#pragma omp simd
            for (std::int64_t i = 0; i < d_; ++i)
                sums[i] += (w[0] * static_cast<double>(a[i]) + w[1] * static_cast<double>(b[i])) +
                           (w[2] * static_cast<double>(c[i]) + w[3] * static_cast<double>(e[i]));
        }
        for (; r < count; ++r) {
            const T* x = row(who[r]);
#pragma omp simd
            for (std::int64_t i = 0; i < d_; ++i) sums[i] += weight[r] * static_cast<double>(x[i]);
        }
    }

   private:
    const T* row(std::int64_t n) const { return x_ + n * d_; }

    const T* x_;
    std::int64_t d_;
};

// Rows of a CSR matrix. Distances come from norms and inner products; `mode_sqnorm` is |c|^2.
template <class T>
class SparseRows {
   public:
    explicit SparseRows(const Points<T>& X) : x_(X.sparse), sqnorm_(X.sqnorm) {}

    static constexpr std::int64_t kRows = 1;

    template <int Rows>
    void sqdist_tile(std::int64_t n, const T* modes_t, std::int64_t padded, std::int64_t k0, const T* mode_sqnorm,
                     T* out) const {
        static_assert(Rows == 1);
        T dot[kLanes<T>] = {};
        for (std::int64_t e = x_.indptr[n]; e < x_.indptr[n + 1]; ++e) {
            const T* c = modes_t + static_cast<std::int64_t>(x_.indices[e]) * padded + k0;
            const T v = x_.values[e];
#pragma omp simd
            for (std::int64_t l = 0; l < kLanes<T>; ++l) dot[l] += v * c[l];
        }
        for (std::int64_t l = 0; l < kLanes<T>; ++l) {
            const T d2 = sqnorm_[n] + mode_sqnorm[k0 + l] - 2 * dot[l];
            out[l] = d2 > 0 ? d2 : T(0);
        }
    }

    double sqdist(std::int64_t n, const T* mode, double mode_sqnorm) const {
        double dot = 0;
        for (std::int64_t e = x_.indptr[n]; e < x_.indptr[n + 1]; ++e)
            dot += static_cast<double>(x_.values[e]) * static_cast<double>(mode[x_.indices[e]]);
        const double d2 = static_cast<double>(sqnorm_[n]) + mode_sqnorm - 2 * dot;
        return d2 > 0 ? d2 : 0;
    }

    void add_weighted_rows(const std::int32_t* who, const double* weight, std::int64_t count, double* sums) const {
        for (std::int64_t r = 0; r < count; ++r)
            for (std::int64_t e = x_.indptr[who[r]]; e < x_.indptr[who[r] + 1]; ++e)
                sums[x_.indices[e]] += weight[r] * static_cast<double>(x_.values[e]);
    }

   private:
    Csr<T> x_;
    const T* sqnorm_;
};

}  // namespace lapmodes::LAPMODES_ISA
