// Entropic affinities: the precision beta of each point for which the distribution
// p_m ~ exp(-beta d_m^2) over its neighbours has a given perplexity (Hinton & Roweis 2003).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace lapmodes {

// Entropy and its derivative in log beta; distances are relative to the smallest one.
struct Entropy {
    double value, slope;
};

inline Entropy entropy_at(const double* d2, std::int64_t m, double nearest, double beta) {
    double total = 0, mean = 0, square = 0;
    for (std::int64_t i = 0; i < m; ++i) {
        const double d = d2[i] - nearest, e = std::exp(-beta * d);
        total += e;
        mean += e * d;
        square += e * d * d;
    }
    mean /= total;
    square /= total;
    return {std::log(total) + beta * mean, -beta * beta * (square - mean * mean)};
}

// Newton's method in log beta (the entropy falls monotonically), inside a bracket that only shrinks
// (Vladymyrov & Carreira-Perpinan 2013). NaN where so many neighbours are equally near that no beta fits.
inline double entropic_precision(const double* d2, std::int64_t m, double target) {
    double nearest = d2[0], farthest = d2[0];
    for (std::int64_t i = 1; i < m; ++i) {
        nearest = std::fmin(nearest, d2[i]);
        farthest = std::fmax(farthest, d2[i]);
    }
    std::int64_t ties = 0;
    for (std::int64_t i = 0; i < m; ++i) ties += d2[i] == nearest;
    const double spread = farthest - nearest;
    if (!(spread > 0) || std::log(static_cast<double>(ties)) >= target) return std::nan("");
    double low = -40 - std::log(spread), high = 700 - std::log(spread);  // log beta
    double x = -std::log(spread);
    for (int round = 0; round < 200; ++round) {
        const Entropy at = entropy_at(d2, m, nearest, std::exp(x));
        const double excess = at.value - target;
        if (std::fabs(excess) < 1e-12) break;
        (excess > 0 ? low : high) = x;
        const double newton = x - excess / at.slope;
        const double next = newton > low && newton < high ? newton : (low + high) / 2;
        if (next == x) break;
        x = next;
    }
    return std::exp(x);
}

// d2 (n, m) IN: squared distances; beta (n) OUT.
inline void entropic_precisions(const double* d2, std::int64_t n, std::int64_t m, double perplexity, double* beta,
                                int threads) {
    const double target = std::log(perplexity);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t row = 0; row < n; ++row) beta[row] = entropic_precision(d2 + row * m, m, target);
}

}  // namespace lapmodes
