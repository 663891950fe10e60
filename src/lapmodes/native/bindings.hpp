// What every file of bindings starts from: arrays of the caller, and errors that Python sees as ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

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
