// The linear term b_nk of the assignment problem without its (n, k) matrix: the largest entries of each row are
// kept, with a bound on all others; what is not kept is computed where it is asked for.
#pragma once

#include <cstdint>

#include "arrays.hpp"
#include "exponential.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// weight is null where each point counts 1, prior.indptr where there is no prior.
template <class T>
struct SparseTerm {
    Points<T> X;
    const T* modes;              // (k, d)
    const T* mode_sqnorm;        // (k), read for sparse points only
    InverseWidth<T> h;
    bool squared;
    const T* weight;             // (n)
    Csr<T> prior;                // (n, k), its weight included: added to the kernel
    const std::int32_t* column;  // (n, m): where the largest entries are, largest first
    const T* value;              // (n, m)
    const T* bound;              // (n): no other entry of the row is larger
    std::int64_t k;
    std::int64_t m;
};

// The entry b_nk.
template <class T, class Source>
inline double entry(const SparseTerm<T>& term, const Source& rows, std::int64_t n, std::int32_t k) {
    const T d2 = static_cast<T>(rows.sqdist(n, term.modes + k * term.X.d, term.mode_sqnorm[k]));
    T b = term.squared ? -d2 : exp_nonpositive(-term.h(n) * d2);
    if (term.weight) b *= term.weight[n];
    if (term.prior.indptr)
        for (std::int64_t e = term.prior.indptr[n]; e < term.prior.indptr[n + 1]; ++e)
            if (term.prior.indices[e] == k) b += term.prior.values[e];
    return static_cast<double>(b);
}

}  // namespace lapmodes::LAPMODES_ISA
