// Points and widths from the caller's arrays, for the files of bindings.
#pragma once

#include "arrays.hpp"
#include "bindings.hpp"

namespace lapmodes {

template <class T>
Points<T> dense_points(const In<T>& X) {
    require(X.ndim() == 2, "X must be (n, d)");
    return {X.data(), {}, nullptr, static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1))};
}

template <class T>
Points<T> sparse_points(const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& values,
                        const In<T>& sqnorm, Index d) {
    const auto n = static_cast<Index>(sqnorm.size());
    require(static_cast<Index>(indptr.size()) == n + 1, "indptr must have n + 1 entries");
    require(indices.size() == values.size(), "indices and values must have the same size");
    return {nullptr, {indptr.data(), indices.data(), values.data()}, sqnorm.data(), n, d};
}

template <class T>
InverseWidth<T> width_of(const In<T>& h, Index n) {
    require(h.size() == 1 || static_cast<Index>(h.size()) == n, "h must have 1 or n entries");
    return h.size() == 1 ? InverseWidth<T>{nullptr, h.data()[0]} : InverseWidth<T>{h.data(), T(0)};
}

}  // namespace lapmodes
