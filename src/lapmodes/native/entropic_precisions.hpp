// The precisions for which Gaussian weights of neighbours have a given perplexity.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "exponential.hpp"
#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

// Entropy of p_i ~ exp(-beta d_i) and its derivative in log beta.
struct Entropy {
    double value, slope;
};

// d (padded) IN: squared distances minus the smallest one, and from m on numbers so large that they do not count.
inline Entropy entropy_at(const double* d, std::int64_t padded, double beta) {
    double total = 0, mean = 0, square = 0;
#pragma omp simd reduction(+ : total, mean, square)
    for (std::int64_t i = 0; i < padded; ++i) {
        const double e = exp_nonpositive(-beta * d[i]), weighted = e * d[i];
        total += e;
        mean += weighted;
        square += weighted * d[i];
    }
    mean /= total;
    square /= total;
    return {std::log(total) + beta * mean, -beta * beta * (square - mean * mean)};
}

// Newton's method in log beta (the entropy falls monotonically), inside a bracket that only shrinks
// (Vladymyrov & Carreira-Perpinan 2013). NaN where so many neighbours are equally near that no beta fits.
inline double entropic_precision(const double* d, std::int64_t m, std::int64_t padded, double target) {
    std::int64_t ties = 0;
    for (std::int64_t i = 0; i < m; ++i) ties += d[i] == 0;
    const double farthest = d[m - 1];
    if (!(farthest > 0) || std::log(static_cast<double>(ties)) >= target) return std::nan("");
    double low = -40 - std::log(farthest), high = 700 - std::log(farthest);  // log beta
    // The answer where squared distances grow evenly.
    double x = 1 + std::log(static_cast<double>(m)) - target - std::log(farthest);
    for (int round = 0; round < 200; ++round) {
        const Entropy at = entropy_at(d, padded, std::exp(x));
        const double excess = at.value - target;
        const double newton = x - excess / at.slope;
        // One more step leaves the square of that error.
        if (std::fabs(excess) < 1e-7) return std::exp(at.slope < 0 ? newton : x);
        (excess > 0 ? low : high) = x;
        const double next = newton > low && newton < high ? newton : (low + high) / 2;
        if (next == x) break;
        x = next;
    }
    return std::exp(x);
}

// The precision beta of each point for which the distribution p_i ~ exp(-beta d_i^2) over its neighbours has a given
// perplexity: entropic affinities (Hinton & Roweis 2003). distances (n, m) IN, nearest first; beta (n) OUT.
template <class T>
void entropic_precisions(const T* distances, std::int64_t n, std::int64_t m, double perplexity, double* beta,
                         int threads) {
    const double target = std::log(perplexity);
    const std::int64_t padded = (m + kLanes<double> - 1) / kLanes<double> * kLanes<double>;
#pragma omp parallel num_threads(threads)
    {
        std::vector<double> d(padded, std::sqrt(std::numeric_limits<double>::max()));
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < n; ++row) {
            const T* from = distances + row * m;
            const double base = static_cast<double>(from[0]);
            for (std::int64_t i = 0; i < m; ++i) {
                const double each = static_cast<double>(from[i]);
                d[i] = (each - base) * (each + base);
            }
            beta[row] = entropic_precision(d.data(), m, padded, target);
        }
    }
}

}  // namespace lapmodes::LAPMODES_ISA
