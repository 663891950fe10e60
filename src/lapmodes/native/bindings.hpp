// What every file of bindings starts from: arrays of the caller, and errors that Python sees as ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "arrays.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Index = std::int64_t;

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

template <class T>
lapmodes::Points<T> dense_points(const In<T>& X) {
    require(X.ndim() == 2, "X must be (n, d)");
    return {X.data(), {}, nullptr, static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1))};
}

template <class T>
lapmodes::Points<T> sparse_points(const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& values,
                                  const In<T>& sqnorm, Index d) {
    const auto n = static_cast<Index>(sqnorm.size());
    require(static_cast<Index>(indptr.size()) == n + 1, "indptr must have n + 1 entries");
    require(indices.size() == values.size(), "indices and values must have the same size");
    return {nullptr, {indptr.data(), indices.data(), values.data()}, sqnorm.data(), n, d};
}

template <class T>
lapmodes::InverseWidth<T> width_of(const In<T>& h, Index n) {
    require(h.size() == 1 || static_cast<Index>(h.size()) == n, "h must have 1 or n entries");
    if (h.size() == 1) return {nullptr, h.data()[0]};
    return {h.data(), T(0)};
}

template <class T>
lapmodes::Modes<T> modes_of(const lapmodes::Points<T>& X, const In<T>& columns, const In<T>& sqnorm, const In<T>& h,
                            bool squared, const Out<T>& B) {
    require(columns.ndim() == 2 && B.ndim() == 2 && B.shape(1) > 0, "modes must be (d, padded), the answer (n, k)");
    const auto padded = static_cast<Index>(columns.shape(1)), k = static_cast<Index>(B.shape(1));
    require(static_cast<Index>(columns.shape(0)) == X.d && static_cast<Index>(B.shape(0)) == X.n,
            "X, the modes and the answer do not fit together");
    require(padded % lapmodes::kLanes<T> == 0 && padded >= k && static_cast<Index>(sqnorm.size()) == padded,
            "modes must be padded to a multiple of LANES");
    return {columns.data(), sqnorm.data(), k, padded, width_of(h, X.n), squared};
}
