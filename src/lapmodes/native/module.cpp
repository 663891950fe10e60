// lapmodes._native: which instruction set and how many threads are used, and the module itself.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "compiler.hpp"
#include "kernels.hpp"
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
    m.attr("BLOCK_ROWS") = kBlockRows;
    m.attr("LANES_FLOAT32") = kLanes<float>;
    m.attr("LANES_FLOAT64") = kLanes<double>;
}

}  // namespace lapmodes
