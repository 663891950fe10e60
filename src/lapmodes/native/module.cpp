// lapmodes._native: which instruction set and how many threads are used, and the module itself.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "kernels.hpp"
#include "threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

namespace lapmodes {
namespace {

std::string best_isa() {
#ifdef LAPMODES_X86
    __builtin_cpu_init();
#ifdef LAPMODES_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
#endif
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}

std::string current_isa = best_isa();

void set_isa(const std::string& name) {
    const std::string best = best_isa();
    const int have = best == "avx512" ? 2 : best == "avx2" ? 1 : 0;
    const int want = name == "avx512" ? 2 : name == "avx2" ? 1 : name == "baseline" ? 0 : 3;
    if (want > have) throw std::invalid_argument("this processor or build has no '" + name + "' kernels");
    current_isa = name;
}

// In a forked child the threads of the OpenMP runtime are gone, but it does not know: such a child uses one thread.
bool forked = false;

int max_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

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
#ifdef LAPMODES_AVX512
    if (current_isa == "avx512") return avx512::kernels<T>();
#endif
#ifdef LAPMODES_X86
    if (current_isa == "avx2") return avx2::kernels<T>();
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
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif
    bind_graph(m);
    bind_start(m);
    bind_solve(m);
    bind_solve_sparse(m);
    m.def("isa", [] { return current_isa; }, "The instruction set in use.");
    m.def("set_isa", &set_isa, "name"_a, "Use another instruction set (for tests and benchmarks).");
    m.def("max_threads", &max_threads);
    m.def("triad", &triad, "a"_a.noconvert(), "b"_a.noconvert(), "c"_a.noconvert(), "factor"_a, "threads"_a,
          "a = b + factor c: the STREAM triad, which tells what the memory can do (for benchmarks).");
    m.attr("BLOCK_ROWS") = kBlockRows;
    m.attr("LANES_FLOAT32") = kLanes<float>;
    m.attr("LANES_FLOAT64") = kLanes<double>;
}

}  // namespace lapmodes
