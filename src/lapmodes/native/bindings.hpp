// What every file of bindings starts from. A binding checks the shapes of the caller's arrays, releases the GIL and
// calls a kernel. Errors reach Python as ValueError, arrays of another type as TypeError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"

namespace lapmodes {

namespace nb = nanobind;
using namespace nb::literals;

// The bindings of each room, in the files of these names.
void bind_graph(nb::module_& m);
void bind_start(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_solve_sparse(nb::module_& m);

template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;  // OUT or IN/OUT
using Index = std::int64_t;
using Column = std::int32_t;

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

template <class A>
Index size_of(const A& array) {
    return static_cast<Index>(array.size());
}

template <class A>
Index length(const A& array, std::size_t axis) {
    return static_cast<Index>(array.shape(axis));
}

// Numbers of rows, columns or points must be in [0, limit).
inline void require_below(const std::int32_t* numbers, Index count, Index limit, const char* what) {
    std::uint32_t largest = 0;  // a negative number is a large one without its sign
    for (Index i = 0; i < count; ++i) {
        const auto number = static_cast<std::uint32_t>(numbers[i]);
        largest = number > largest ? number : largest;
    }
    require(count == 0 || static_cast<Index>(largest) < limit, what);
}

inline void require_nodes(const std::int32_t* nodes, Index count, Index n) {
    require_below(nodes, count, n, "edges must join points from 0 to n - 1");
}

// An array of a tuple, as it is: the tuple keeps it alive.
template <class A>
A array_of(const nb::tuple& arrays, std::size_t i) {
    A array;
    if (!nb::try_cast<A>(arrays[i], array, false)) throw nb::type_error("an array in a tuple has the wrong type");
    return array;
}

template <class T>
Csr<T> csr_of(const In<Index>& indptr, const In<Column>& indices, const In<T>& values, Index n) {
    require(size_of(indptr) == n + 1 && indices.size() == values.size() && size_of(indices) == indptr.data()[n],
            "indptr (n + 1), indices and values (indptr[n]) do not fit together");
    return {indptr.data(), indices.data(), values.data()};
}

// arrays: (indptr, indices, values) of n rows
template <class T>
Csr<T> csr_of(const nb::tuple& arrays, Index n) {
    require(arrays.size() == 3, "a CSR matrix must be (indptr, indices, values)");
    return csr_of(array_of<In<Index>>(arrays, 0), array_of<In<Column>>(arrays, 1), array_of<In<T>>(arrays, 2), n);
}

// arrays: (X,) or (indptr, indices, values, sqnorm, d)
template <class T>
Points<T> points_of(const nb::tuple& arrays) {
    require(arrays.size() == 1 || arrays.size() == 5, "points must be (X,) or (indptr, indices, values, sqnorm, d)");
    if (arrays.size() == 1) {
        const auto X = array_of<In<T>>(arrays, 0);
        require(X.ndim() == 2, "X must be (n, d)");
        return {X.data(), {}, nullptr, length(X, 0), length(X, 1)};
    }
    const auto indptr = array_of<In<Index>>(arrays, 0);
    const auto indices = array_of<In<Column>>(arrays, 1);
    const auto values = array_of<In<T>>(arrays, 2), sqnorm = array_of<In<T>>(arrays, 3);
    const Index n = size_of(sqnorm);
    require(size_of(indptr) == n + 1 && indices.size() == values.size() && indptr.data()[n] <= size_of(indices),
            "indptr (n + 1), indices and values (indptr[n]) do not fit together");
    return {nullptr, {indptr.data(), indices.data(), values.data()}, sqnorm.data(), n, nb::cast<Index>(arrays[4])};
}

template <class T>
InverseWidth<T> width_of(const In<T>& h, Index n) {
    require(h.size() == 1 || size_of(h) == n, "h must have 1 or n entries");
    if (h.size() == 1) return {nullptr, h.data()[0]};
    return {h.data(), T(0)};
}

template <class T>
const T* optional_of(const std::optional<In<T>>& array, Index n) {
    require(!array || size_of(*array) == n, "an optional array has the wrong size");
    return array ? array->data() : nullptr;
}

}  // namespace lapmodes
