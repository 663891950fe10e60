// lapmodes._native: checks shapes, releases the GIL and calls the kernels. Arrays are the caller's.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "entropic.hpp"
#include "kernels.hpp"
#include "masses.hpp"
#include "threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

void bind_cstep(nb::module_& m);   // cstep.cpp
void bind_starts(nb::module_& m);  // starts.cpp
void bind_sparse(nb::module_& m);  // sparse.cpp

using lapmodes::Csr;
using lapmodes::Groups;
using lapmodes::kBlockRows;
using lapmodes::kernels_in_use;
using lapmodes::kLanes;
using lapmodes::kStatistics;
using lapmodes::Problem;
using lapmodes::Shortlists;
using lapmodes::Sweep;

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

// As many threads as the work keeps busy: waking one costs more than a few tens of microseconds of work,
// and thousands of short sweeps would spend their time waiting for each other.
// In a forked child the OpenMP runtime's threads are gone but not its memory of them: stay on one.
bool forked = false;

}  // namespace

namespace lapmodes {

template <class T>
const Kernels<T>& kernels_in_use() {
#ifdef LAPMODES_AVX512
    if (current_isa == "avx512") return avx512::kernels<T>();
#endif
#ifdef LAPMODES_X86
    if (current_isa == "avx2") return avx2::kernels<T>();
#endif
    return baseline::kernels<T>();
}

template const Kernels<float>& kernels_in_use<float>();
template const Kernels<double>& kernels_in_use<double>();

}  // namespace lapmodes

int useful_threads(int threads, Index operations) {
    if (forked) return 1;
    const Index busy = operations / 200'000;
    return static_cast<int>(busy < 1 ? 1 : busy < threads ? busy : threads);
}

namespace {

Index blocks_of(Index n) { return (n + kBlockRows - 1) / kBlockRows; }

// The arrays of a CSR graph with its diagonal and the linear term: W, diagonal, B, lam.
template <class T>
Problem<T> problem_of(const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                      const In<T>& diagonal, const In<T>& B, double lam, const In<T>& masses) {
    require(B.ndim() == 2 && B.shape(1) > 0, "B must be (n, k)");
    const auto n = static_cast<Index>(B.shape(0));
    require(static_cast<Index>(indptr.size()) == n + 1, "indptr must have n + 1 entries");
    require(static_cast<Index>(diagonal.size()) == n, "diagonal must have n entries");
    require(indices.size() == weights.size() && static_cast<Index>(indices.size()) == indptr.data()[n],
            "indices and weights must have indptr[n] entries");
    require(masses.size() == 0 || masses.size() == B.shape(1), "masses must have no or k entries");
    return {{indptr.data(), indices.data(), weights.data()}, diagonal.data(), B.data(), n,
            static_cast<Index>(B.shape(1)), static_cast<T>(lam), masses.size() ? masses.data() : nullptr};
}

template <class T>
Groups<T> groups_of(const In<T>& X, const In<std::int32_t>& order, const In<Index>& starts) {
    require(X.ndim() == 2, "X must be (n, d)");
    require(starts.size() > 0 && starts.data()[starts.size() - 1] == static_cast<Index>(order.size()),
            "starts must end with the number of rows in order");
    return {X.data(), order.data(), starts.data(), static_cast<Index>(starts.size()) - 1, static_cast<Index>(X.shape(1))};
}

template <class T>
Shortlists<T> lists_of(const Out<T>& sqdist, const Out<std::int32_t>& index, std::size_t n) {
    require(sqdist.ndim() == 2 && sqdist.shape(0) == n && sqdist.shape(1) > 0 && sqdist.size() == index.size(),
            "sqdist and index must be (n, k)");
    return {sqdist.data(), index.data(), static_cast<Index>(sqdist.shape(1))};
}

template <class T>
void bind(nb::module_& m) {
    m.def("project_rows", [](const Out<T>& V, int threads) {
        require(V.ndim() == 2 && V.shape(1) > 0, "V must be (n, k)");
        threads = useful_threads(threads, static_cast<Index>(V.size()) * 8);
        nb::gil_scoped_release release;
        kernels_in_use<T>().project_rows(V.data(), V.shape(0), V.shape(1), threads);
    }, "V"_a.noconvert(), "threads"_a);

    m.def("sweep", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                      const In<T>& diagonal, const In<T>& B, double lam, const In<T>& masses, const In<T>& Z,
                      const Out<T>& Z_old, const Out<T>& WZ_old, const In<T>& step, double momentum,
                      const Out<std::uint8_t>& changed, Index number, bool certifies, const Out<double>& stats,
                      int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam, masses);
        require(Z.size() == B.size() && Z_old.size() == B.size() && WZ_old.size() == B.size(),
                "Z, Z_old and WZ_old must have the shape of B");
        require(static_cast<Index>(step.size()) == p.n && static_cast<Index>(changed.size()) == p.n,
                "step and changed must have n entries");
        require(static_cast<Index>(stats.size()) == blocks_of(p.n) * kStatistics, "stats must be (blocks, 4)");
        const Sweep<T> sweep{Z.data(), Z_old.data(), WZ_old.data(), step.data(), static_cast<T>(momentum),
                             changed.data(), number, certifies};
        threads = useful_threads(threads, (static_cast<Index>(indices.size()) + 8 * p.n) * p.k);
        nb::gil_scoped_release release;
        kernels_in_use<T>().sweep(p, sweep, stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "masses"_a.noconvert(), "Z"_a.noconvert(), "Z_old"_a.noconvert(),
       "WZ_old"_a.noconvert(), "step"_a.noconvert(), "momentum"_a, "changed"_a.noconvert(), "number"_a, "certifies"_a,
       "stats"_a.noconvert(), "threads"_a);

    m.def("certify", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                        const In<T>& diagonal, const In<T>& B, double lam, const In<T>& masses,
                        const In<T>& Z, const Out<double>& stats, int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam, masses);
        require(Z.size() == B.size(), "Z must have the shape of B");
        require(static_cast<Index>(stats.size()) == blocks_of(p.n) * kStatistics, "stats must be (blocks, 4)");
        threads = useful_threads(threads, (static_cast<Index>(indices.size()) + 8 * p.n) * p.k);
        std::vector<double> scratch(static_cast<std::size_t>(threads) * p.k);
        nb::gil_scoped_release release;
        kernels_in_use<T>().certify(p, Z.data(), scratch.data(), stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "masses"_a.noconvert(), "Z"_a.noconvert(), "stats"_a.noconvert(), "threads"_a);

    m.def("masses", [](const In<T>& degrees, const In<T>& Z, const Out<double>& sums, int threads) {
        require(Z.ndim() == 2 && degrees.size() == Z.shape(0), "Z must be (n, k), with a degree for each row");
        const auto n = static_cast<Index>(Z.shape(0)), k = static_cast<Index>(Z.shape(1));
        require(static_cast<Index>(sums.size()) == blocks_of(n) * k, "sums must be (blocks, k)");
        threads = useful_threads(threads, n * k);
        nb::gil_scoped_release release;
        lapmodes::masses(degrees.data(), Z.data(), n, k, sums.data(), threads);
    }, "degrees"_a.noconvert(), "Z"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);

    m.def("compare_groups", [](const In<T>& Q, const In<std::int32_t>& q_order, const In<Index>& q_starts,
                               const In<T>& X, const In<std::int32_t>& order, const In<Index>& starts,
                               const In<std::int32_t>& pairs, bool same, const Out<T>& sqdist,
                               const Out<std::int32_t>& index, int threads) {
        const Groups<T> queries = groups_of(Q, q_order, q_starts), rows = groups_of(X, order, starts);
        require(queries.d == rows.d, "Q and X must have the same columns");
        require(pairs.ndim() == 2 && pairs.shape(1) == 2, "pairs must be (count, 2)");
        const Shortlists<T> lists = lists_of(sqdist, index, Q.shape(0));
        const Index count = pairs.shape(0), mean_rows = rows.count ? X.shape(0) / rows.count : 0;
        threads = useful_threads(threads, count * mean_rows * mean_rows * rows.d);
        nb::gil_scoped_release release;
        kernels_in_use<T>().compare_groups(queries, rows, pairs.data(), count, same, lists, threads);
    }, "Q"_a.noconvert(), "q_order"_a.noconvert(), "q_starts"_a.noconvert(), "X"_a.noconvert(), "order"_a.noconvert(),
       "starts"_a.noconvert(), "pairs"_a.noconvert(), "same"_a, "sqdist"_a.noconvert(), "index"_a.noconvert(),
       "threads"_a);

    m.def("refine_neighbors", [](const In<T>& X, const In<std::int32_t>& index, const Out<T>& new_sqdist,
                                 const Out<std::int32_t>& new_index, int threads) {
        require(X.ndim() == 2 && index.ndim() == 2 && index.shape(0) == X.shape(0), "index must be (n, k)");
        const Shortlists<T> lists = lists_of(new_sqdist, new_index, X.shape(0));
        require(new_index.size() == index.size(), "outputs must be (n, k)");
        const auto n = static_cast<Index>(X.shape(0)), d = static_cast<Index>(X.shape(1));
        threads = useful_threads(threads, n * lists.k * d);
        nb::gil_scoped_release release;
        kernels_in_use<T>().refine_neighbors(X.data(), n, d, index.data(), lists, threads);
    }, "X"_a.noconvert(), "index"_a.noconvert(), "new_sqdist"_a.noconvert(), "new_index"_a.noconvert(),
       "threads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The hot loops of lapmodes. Every array is allocated by the caller.";
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif
    bind<float>(m);
    bind<double>(m);
    bind_cstep(m);
    bind_starts(m);
    bind_sparse(m);
    m.def("entropic_precisions", [](const In<double>& d2, double perplexity, const Out<double>& beta, int threads) {
        require(d2.ndim() == 2 && d2.shape(1) > 0 && beta.size() == d2.shape(0), "d2 must be (n, m) and beta (n,)");
        threads = useful_threads(threads, static_cast<Index>(d2.size()) * 100);
        nb::gil_scoped_release release;
        lapmodes::entropic_precisions(d2.data(), d2.shape(0), d2.shape(1), perplexity, beta.data(), threads);
    }, "d2"_a.noconvert(), "perplexity"_a, "beta"_a.noconvert(), "threads"_a);
    m.def("triad", [](const Out<double>& a, const In<double>& b, const In<double>& c, double factor, int threads) {
        require(a.size() == b.size() && a.size() == c.size(), "a, b and c must have the same size");
        nb::gil_scoped_release release;
        double* to = a.data();
        const double *left = b.data(), *right = c.data();
        const auto n = static_cast<Index>(a.size());
#pragma omp parallel for schedule(static) num_threads(threads)
        for (Index i = 0; i < n; ++i) to[i] = left[i] + factor * right[i];
    }, "a"_a.noconvert(), "b"_a.noconvert(), "c"_a.noconvert(), "factor"_a, "threads"_a,
       "a = b + factor c: the STREAM triad, which tells what the memory can do (for benchmarks).");
    m.def("isa", [] { return current_isa; }, "The instruction set in use.");
    m.def("set_isa", &set_isa, "name"_a, "Use another instruction set (for tests and benchmarks).");
    m.def("max_threads", [] {
#ifdef _OPENMP
        return omp_get_max_threads();
#else
        return 1;
#endif
    });
    m.attr("BLOCK_ROWS") = kBlockRows;
    m.attr("LANES_FLOAT32") = kLanes<float>;
    m.attr("LANES_FLOAT64") = kLanes<double>;
}
