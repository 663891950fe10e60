// lapmodes._native: which instruction set and how many threads are used, pictures of points, and the module itself.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "compiler.hpp"
#include "kernels.hpp"
#include "raster.hpp"
#include "threads.hpp"

namespace lapmodes {
namespace {

constexpr std::array<const char*, 3> kNames = {"baseline", "avx2", "avx512"};

int best_level() {
#ifdef LAPMODES_AVX512
    return processor_level();
#else
    return std::min(processor_level(), 1);
#endif
}

std::atomic<int> current_level = best_level();

void set_isa(const std::string& name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    const int level = static_cast<int>(found - kNames.begin());
    if (level > best_level()) throw std::invalid_argument("this processor or build has no '" + name + "' kernels");
    current_level = level;
}

// In a forked child the threads of the OpenMP runtime are gone, but it does not know: such a child uses one thread.
std::atomic<bool> forked = false;

// a (n) OUT: b + factor c.
void triad(const Out<double>& a, const In<double>& b, const In<double>& c, double factor, int threads) {
    require(a.size() == b.size() && a.size() == c.size(), "a, b and c must have the same size");
    nb::gil_scoped_release release;
    double* sum = a.data();
    const double *left = b.data(), *right = c.data();
    const Index n = size_of(a);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (Index i = 0; i < n; ++i) sum[i] = left[i] + factor * right[i];
}

void require_pixels(const nb::ndarray<>& sums) {
    require(sums.ndim() == 3 && sums.shape(2) == kParts, "sums must be (height, width, 4)");
}

// xy (n, 2), codes (n), palette (65536, 4), ranges of points (r, 2): IN. sums (height, width, 4) IN/OUT.
Index add_pixels(const In<float>& xy, const In<std::uint16_t>& codes, const In<std::uint32_t>& palette,
                 const In<Index>& ranges, double left, double top, double across, double down, int dot,
                 const Out<std::uint32_t>& sums) {
    require(xy.ndim() == 2 && xy.shape(1) == 2 && codes.size() == xy.shape(0), "xy must be (n, 2) and codes (n)");
    require(palette.ndim() == 2 && palette.shape(1) == kParts && palette.shape(0) == 65536,
            "palette must be (65536, 4)");
    require(ranges.ndim() == 2 && ranges.shape(1) == 2, "ranges must be (r, 2)");
    require_pixels(nb::ndarray<>(sums));
    require(dot >= 1, "dot must be at least 1");
    const Index* range = ranges.data();
    for (Index i = 0; i < size_of(ranges); i += 2)
        require(0 <= range[i] && range[i] <= range[i + 1] && range[i + 1] <= length(xy, 0),
                "ranges must be of rows of xy");
    const Window window{static_cast<float>(left), static_cast<float>(top), static_cast<float>(across),
                        static_cast<float>(down), length(sums, 1),         length(sums, 0),
                        dot};
    nb::gil_scoped_release release;
    Index seen = 0;
    for (Index i = 0; i < size_of(ranges); i += 2)
        seen += add_points(xy.data(), codes.data(), palette.data(), range[i], range[i + 1], window, sums.data());
    return seen;
}

// sums (height, width, 4) IN; half (height / 2, width / 2, 4) OUT.
void halve_pixels(const In<std::uint32_t>& sums, const Out<std::uint32_t>& half) {
    require_pixels(nb::ndarray<>(sums));
    require(half.ndim() == 3 && half.shape(0) == sums.shape(0) / 2 && half.shape(1) == sums.shape(1) / 2 &&
                half.shape(2) == kParts,
            "half must be (height / 2, width / 2, 4)");
    nb::gil_scoped_release release;
    halve(sums.data(), length(sums, 0), length(sums, 1), half.data());
}

// sums (height, width, 4) IN; picture (lines, columns, 4) OUT: the part from (line, column) on.
void shade_pixels(const In<std::uint32_t>& sums, Index line, Index column, float faintest,
                  const Out<std::uint8_t>& picture) {
    require_pixels(nb::ndarray<>(sums));
    require(picture.ndim() == 3 && picture.shape(2) == kParts, "picture must be (lines, columns, 4)");
    const Index lines = length(picture, 0), columns = length(picture, 1), width = length(sums, 1);
    require(0 <= line && line + lines <= length(sums, 0) && 0 <= column && column + columns <= width,
            "the picture must lie inside of sums");
    nb::gil_scoped_release release;
    shade(sums.data() + kParts * (line * width + column), width, lines, columns, faintest, picture.data());
}

}  // namespace

template <class T>
const Kernels<T>& kernels() {
    [[maybe_unused]] const int level = current_level.load(std::memory_order_relaxed);
#ifdef LAPMODES_AVX512
    if (level == 2) return avx512::kernels<T>();
#endif
#ifdef LAPMODES_X86
    if (level == 1) return avx2::kernels<T>();
#endif
    return baseline::kernels<T>();
}

template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

// To wake a thread costs as much as some tens of microseconds of work, and thousands of short sweeps would spend their
// time waiting for each other.
int useful_threads(int threads, Index operations) {
    if (forked) return 1;
    const Index busy = operations / 200'000;
    return static_cast<int>(busy < 1 ? 1 : busy < threads ? busy : threads);
}

NB_MODULE(_native, m) {
    m.doc() = "The hot loops of lapmodes. Every array is allocated by the caller.";
    in_forked_children([] { forked = true; });
    bind_graph(m);
    bind_start(m);
    bind_solve(m);
    bind_solve_sparse(m);
    m.def("isa", [] { return std::string(kNames[current_level]); }, "The instruction set in use.");
    m.def("set_isa", &set_isa, "name"_a, "Use another instruction set (for tests and benchmarks).");
    m.def("max_threads", &openmp_threads);
    m.def("triad", &triad, "a"_a.noconvert(), "b"_a.noconvert(), "c"_a.noconvert(), "factor"_a, "threads"_a,
          "a = b + factor c: the STREAM triad, which tells what the memory can do (for benchmarks).");
    m.def("add_pixels", &add_pixels, "xy"_a.noconvert(), "codes"_a.noconvert(), "palette"_a.noconvert(),
          "ranges"_a.noconvert(), "left"_a, "top"_a, "across"_a, "down"_a, "dot"_a, "sums"_a.noconvert(),
          "Count points into pixels with their colours; returns how many are in the window.");
    m.def("halve_pixels", &halve_pixels, "sums"_a.noconvert(), "half"_a.noconvert());
    m.def("shade_pixels", &shade_pixels, "sums"_a.noconvert(), "line"_a, "column"_a, "faintest"_a,
          "picture"_a.noconvert());
    m.attr("BLOCK_ROWS") = kBlockRows;
    m.attr("LANES_FLOAT32") = kLanes<float>;
    m.attr("LANES_FLOAT64") = kLanes<double>;
}

}  // namespace lapmodes
