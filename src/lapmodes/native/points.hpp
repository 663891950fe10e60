// What the C-step and the kernel need of a point, for dense and sparse rows alike.
#pragma once

#include "arrays.hpp"

namespace lapmodes::LAPMODES_ISA {

// Rows of a dense matrix. Distances are sums of squared differences: no cancellation.
template <class T>
class DenseRows {
   public:
    explicit DenseRows(const Points<T>& X) : x_(X.dense), d_(X.d) {}

    static constexpr std::int64_t kRows = 4;  // rows that sqdist_tile takes at once

    // out (Rows, kLanes): squared distances of rows n .. n + Rows to modes k0 .. k0 + kLanes
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

    double sqdist(std::int64_t n, const T* mode, double) const {
        const T* x = x_ + n * d_;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < d_; ++i) {
            const T diff = x[i] - mode[i];
            sum += diff * diff;
        }
        return static_cast<double>(sum);
    }

    void add_to(std::int64_t n, double weight, double* sums) const {
        const T* x = x_ + n * d_;
#pragma omp simd
        for (std::int64_t i = 0; i < d_; ++i) sums[i] += weight * static_cast<double>(x[i]);
    }

   private:
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

    void add_to(std::int64_t n, double weight, double* sums) const {
        for (std::int64_t e = x_.indptr[n]; e < x_.indptr[n + 1]; ++e)
            sums[x_.indices[e]] += weight * static_cast<double>(x_.values[e]);
    }

   private:
    Csr<T> x_;
    const T* sqnorm_;
};

}  // namespace lapmodes::LAPMODES_ISA
