// exp(x) for x <= 0, written so that the compiler turns a loop over it into vector code.
#pragma once

#include <bit>
#include <cstdint>

#include "isa.hpp"

namespace lapmodes::LAPMODES_ISA {

template <class T>
struct ExpTraits;

template <>
struct ExpTraits<float> {
    using UInt = std::uint32_t;
    static constexpr float smallest = -87.0f;                      // below: zero
    static constexpr float shift = 12582912.0f;                    // 1.5 * 2^23: rounds to nearest
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static constexpr int bias = 127, mantissa = 23, degree = 7;
};

template <>
struct ExpTraits<double> {
    using UInt = std::uint64_t;
    static constexpr double smallest = -708.0;
    static constexpr double shift = 6755399441055744.0;            // 1.5 * 2^52
    static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
    static constexpr int bias = 1023, mantissa = 52, degree = 13;
};

// x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor polynomial, accurate to rounding.
template <class T>
inline T exp_nonpositive(T x) {
    using E = ExpTraits<T>;
    using UInt = typename E::UInt;
    const T safe = x > E::smallest ? x : E::smallest;
    const T shifted = safe * T(1.44269504088896340736) + E::shift;
    const T n = shifted - E::shift;
    const T r = (safe - n * E::ln2_high) - n * E::ln2_low;
    T p = 1;
    for (int i = E::degree; i > 0; --i) p = 1 + p * r * (T(1) / T(i));
    // The last bits of `shifted` are those of n: a conversion of doubles would keep AVX2 from using vectors.
    const UInt power = (std::bit_cast<UInt>(shifted) + E::bias) << E::mantissa;
    return x > E::smallest ? p * std::bit_cast<T>(power) : T(0);
}

}  // namespace lapmodes::LAPMODES_ISA
