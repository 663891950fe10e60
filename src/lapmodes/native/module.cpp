// lapmodes._native: checks shapes, releases the GIL and calls the kernels. Arrays are the caller's.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "kernels.hpp"
#include "masses.hpp"
#include "threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

void bind_cstep(nb::module_& m);    // cstep.cpp
void bind_mapping(nb::module_& m);  // mapping.cpp
void bind_sparse(nb::module_& m);   // sparse.cpp
void bind_starts(nb::module_& m);   // starts.cpp

using lapmodes::Groups;
using lapmodes::kBlockRows;
using lapmodes::kernels;
using lapmodes::kLanes;
using lapmodes::kShares;
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

}  // namespace

namespace lapmodes {

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

}  // namespace lapmodes

namespace {

// As many threads as the work keeps busy: waking one costs more than a few tens of microseconds of work,
// and thousands of short sweeps would spend their time waiting for each other.
// In a forked child the OpenMP runtime's threads are gone but not its memory of them: stay on one.
bool forked = false;

}  // namespace

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
    return {sqdist.data(), index.data(), static_cast<Index>(sqdist.shape(1)), nullptr};
}

template <class T>
void bind(nb::module_& m) {
    m.def("project_rows", [](const Out<T>& V, int threads) {
        require(V.ndim() == 2 && V.shape(1) > 0, "V must be (n, k)");
        threads = useful_threads(threads, static_cast<Index>(V.size()) * 8);
        nb::gil_scoped_release release;
        kernels<T>().project_rows(V.data(), V.shape(0), V.shape(1), threads);
    }, "V"_a.noconvert(), "threads"_a);

    m.def("sweep", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                      const In<T>& diagonal, const In<T>& B, double lam, const In<T>& masses, const In<T>& Z,
                      const Out<T>& Z_old, const Out<T>& WZ_old, const In<T>& step, double momentum,
                      const Out<std::uint8_t>& touched, const Out<std::int32_t>& told, Index number, Index since,
                      const Out<T>& shares, const Out<double>& stats, int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam, masses);
        require(Z.size() == B.size() && Z_old.size() == B.size() && WZ_old.size() == B.size(),
                "Z, Z_old and WZ_old must have the shape of B");
        require(static_cast<Index>(step.size()) == p.n && static_cast<Index>(touched.size()) == p.n &&
                    static_cast<Index>(told.size()) == p.n,
                "step, touched and told must have n entries");
        require(static_cast<Index>(shares.size()) == blocks_of(p.n) * kShares * kBlockRows,
                "shares must be (blocks, 3, BLOCK_ROWS)");
        require(static_cast<Index>(stats.size()) == blocks_of(p.n) * kStatistics, "stats must be (blocks, 4)");
        const Sweep<T> sweep{Z.data(), Z_old.data(), WZ_old.data(), step.data(), static_cast<T>(momentum),
                             touched.data(), told.data(), number, since, shares.data()};
        threads = useful_threads(threads, (static_cast<Index>(indices.size()) + 8 * p.n) * p.k);
        nb::gil_scoped_release release;
        kernels<T>().sweep(p, sweep, stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "masses"_a.noconvert(), "Z"_a.noconvert(), "Z_old"_a.noconvert(),
       "WZ_old"_a.noconvert(), "step"_a.noconvert(), "momentum"_a, "touched"_a.noconvert(), "told"_a.noconvert(),
       "number"_a, "since"_a, "shares"_a.noconvert(), "stats"_a.noconvert(), "threads"_a);

    m.def("certify", [](const In<Index>& indptr, const In<std::int32_t>& indices, const In<T>& weights,
                        const In<T>& diagonal, const In<T>& B, double lam, const In<T>& masses,
                        const In<T>& Z, const Out<double>& stats, int threads) {
        const Problem<T> p = problem_of(indptr, indices, weights, diagonal, B, lam, masses);
        require(Z.size() == B.size(), "Z must have the shape of B");
        require(static_cast<Index>(stats.size()) == blocks_of(p.n) * kStatistics, "stats must be (blocks, 4)");
        threads = useful_threads(threads, (static_cast<Index>(indices.size()) + 8 * p.n) * p.k);
        std::vector<double> scratch(static_cast<std::size_t>(threads) * p.k);
        nb::gil_scoped_release release;
        kernels<T>().certify(p, Z.data(), scratch.data(), stats.data(), threads);
    }, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(), "diagonal"_a.noconvert(),
       "B"_a.noconvert(), "lam"_a, "masses"_a.noconvert(), "Z"_a.noconvert(), "stats"_a.noconvert(), "threads"_a);

    m.def("spreads", [](const In<T>& B, const Out<double>& sums, int threads) {
        require(B.ndim() == 2 && B.shape(1) > 0, "B must be (n, k)");
        const auto n = static_cast<Index>(B.shape(0)), k = static_cast<Index>(B.shape(1));
        require(static_cast<Index>(sums.size()) == blocks_of(n), "sums must have an entry for each block");
        threads = useful_threads(threads, n * k);
        nb::gil_scoped_release release;
        kernels<T>().spreads(B.data(), n, k, sums.data(), threads);
    }, "B"_a.noconvert(), "sums"_a.noconvert(), "threads"_a);

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
                               const Out<std::int32_t>& index, const In<bool>& closed, int threads) {
        const Groups<T> queries = groups_of(Q, q_order, q_starts), rows = groups_of(X, order, starts);
        require(queries.d == rows.d, "Q and X must have the same columns");
        require(pairs.ndim() == 2 && pairs.shape(1) == 2, "pairs must be (count, 2)");
        Shortlists<T> lists = lists_of(sqdist, index, Q.shape(0));
        require(closed.size() == Q.shape(0), "closed must have an entry for each list");
        lists.closed = closed.data();
        const Index count = pairs.shape(0), mean_rows = rows.count ? X.shape(0) / rows.count : 0;
        threads = useful_threads(threads, count * mean_rows * mean_rows * rows.d);
        nb::gil_scoped_release release;
        kernels<T>().compare_groups(queries, rows, pairs.data(), count, same, lists, threads);
    }, "Q"_a.noconvert(), "q_order"_a.noconvert(), "q_starts"_a.noconvert(), "X"_a.noconvert(), "order"_a.noconvert(),
       "starts"_a.noconvert(), "pairs"_a.noconvert(), "same"_a, "sqdist"_a.noconvert(), "index"_a.noconvert(),
       "closed"_a.noconvert(), "threads"_a);

    m.def("pick_neighbors", [](const In<T>& Q, const In<T>& X, const In<std::int32_t>& candidates, bool further,
                               const Out<T>& sqdist, const Out<std::int32_t>& index, int threads) {
        require(Q.ndim() == 2 && X.ndim() == 2 && Q.shape(1) == X.shape(1), "Q and X must have the same columns");
        require(candidates.ndim() == 2 && candidates.shape(0) == Q.shape(0), "candidates must be (n, m)");
        const auto n = static_cast<Index>(Q.shape(0)), d = static_cast<Index>(Q.shape(1));
        const auto m = static_cast<Index>(candidates.shape(1));
        const bool same = Q.data() == X.data();
        require(same || !further, "candidates of candidates must be of the same points");
        for (std::size_t i = 0; i < candidates.size(); ++i)
            require(candidates.data()[i] >= 0 && candidates.data()[i] < static_cast<Index>(X.shape(0)),
                    "candidates must be numbers of rows of X");
        const Shortlists<T> lists = lists_of(sqdist, index, Q.shape(0));
        threads = useful_threads(threads, n * m * d);
        nb::gil_scoped_release release;
        kernels<T>().pick_neighbors(Q.data(), n, X.data(), d, candidates.data(), m, same, further, lists, threads);
    }, "Q"_a.noconvert(), "X"_a.noconvert(), "candidates"_a.noconvert(), "further"_a, "sqdist"_a.noconvert(),
       "index"_a.noconvert(), "threads"_a);
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
    bind_mapping(m);
    bind_sparse(m);
    bind_starts(m);
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
